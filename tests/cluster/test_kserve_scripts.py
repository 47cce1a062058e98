"""KServe's presets, run by bash: the arguments that its engine gets are those of the imported service.

The presets, samples and fixtures are read from KServe's module. `vllm` is a stand-in that prints its version
and its arguments. Each difference needs a row in `DIFFERENCES`.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from importer.kserve.account import Account
from importer.kserve.translate import configs_of, whole
from importer.leaves import plain, tagged
from importer.table import import_all
from intent import Object
from intent.inferenceservice.members import leader_worker_sets
from intent.inferenceservice.read import read
from intent.settings import Settings
from intent.shapes import listed, mapping
from tests.cluster.kserve.inputs import Input, documents, fixtures, samples
from tests.cluster.kserve.meaning import flags
from tests.cluster.kserve.scripts import add_stand_in, arguments, engine_arguments, is_script
from webhook.expand import expanded

PRESETS: Final = "config/llmisvcconfig"
LEAST: Final = 10
"""Pods that are compared at least: else nothing would be."""
Flags = Mapping[str, tuple[str, ...]]


class Difference(NamedTuple):
    """Flags that differ, and why."""

    flags: tuple[str, ...]
    holds: Callable[[Flags, Flags], bool]
    reason: str


def _ours(*names: str) -> Callable[[Flags, Flags], bool]:
    return lambda _, ours: all(name in ours for name in names)


DIFFERENCES: Final = (
    Difference(
        ("--disable-uvicorn-access-log", "--disable-access-log-for-endpoints", "--shutdown-timeout"),
        lambda _, ours: not ours.keys() & {"--disable-access-log-for-endpoints", "--shutdown-timeout"},
        "the script asks the engine for its version; a file has the tag of the image, which may tell none",
    ),
    Difference(
        ("--data-parallel-start-rank",),
        lambda theirs, ours: (
            theirs["--data-parallel-start-rank"] == ("0",) and "--data-parallel-start-rank" not in ours
        ),
        "the ranks of the leader begin at 0 without the flag",
    ),
    Difference(
        ("--port",),
        lambda theirs, ours: theirs["--port"] == ("8001",) and ours["--port"] in {("8200",), ("8000",)},
        "the sidecar is FusionInfer's, and so is the port of the engine behind it; workers serve none",
    ),
    Difference(
        ("--lora-modules", "--enable-lora", "--max-lora-rank", "--max-loras", "--max-cpu-loras"),
        _ours("--enable-lora", "--lora-modules"),
        "KServe adds adapters in its controller, not in the script; `spec.lora` adds them here",
    ),
    Difference(
        ("--otlp-traces-endpoint", "--collect-detailed-traces"),
        _ours("--otlp-traces-endpoint", "--collect-detailed-traces"),
        "KServe adds them to the container in its controller, after the script is chosen",
    ),
)


@pytest.fixture(scope="module")
def source(source_of: Callable[[str], Path]) -> Path:
    return source_of("kserve")


@pytest.fixture(scope="module")
def presets(source: Path) -> list[Object]:
    return [
        one
        for file in sorted((source / PRESETS).glob("config-*.yaml"))
        for one in documents(file.read_text())
    ]


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return add_stand_in(tmp_path_factory.mktemp("stand-in"))


def merged(objects: list[Object]) -> Object:
    """Return the spec of the first object, a service, with its bases, as KServe has it."""
    trees = {number: tagged(number, one) for number, one in enumerate(objects)}
    service, _ = whole(objects[0], trees[0], configs_of(trees), Account())
    return mapping(plain(service.spec))


def pods(found: Input, presets: list[Object]) -> Iterator[tuple[str, Object, Object]]:
    """Yield each container that is started by a script, and the container of the expanded import."""
    objects = [*found.objects, *presets]
    made = import_all(objects)
    if made.problems:
        return
    intent, _ = read(made.objects[0])
    assert intent is not None
    spec, split = merged(objects), len(intent.roles) > 1
    for role, lws in zip(intent.roles, leader_worker_sets(intent), strict=True):
        workload = mapping(spec["prefill"]) if split and role.name == "prefill" else spec
        groups = expanded(lws, Settings())["spec"]["leaderWorkerTemplate"]
        leader = groups.get("leaderTemplate") or groups["workerTemplate"]
        for template, pod in ((leader, "template"), (groups["workerTemplate"], "worker")):
            theirs = main(workload.get(pod))
            if theirs and is_script(theirs) and (pod == "template" or groups.get("size", 1) > 1):
                yield f"{role.name} {pod}", theirs, main(template["spec"]) or {}


def main(pod: Any) -> Object | None:
    containers = listed(mapping(pod).get("containers"))
    return next((one for one in containers if one["name"] == "main"), None)


def differences(theirs: list[str], ours: list[str]) -> dict[str, tuple[object, object]]:
    one, other = flags(theirs), flags(ours)
    return {
        name: (one.get(name), other.get(name))
        for name in one.keys() | other.keys()
        if one.get(name) != other.get(name)
    }


def unexplained(theirs: list[str], ours: list[str]) -> dict[str, tuple[object, object]]:
    """Return what differs without a row that says why."""
    one, other = flags(theirs), flags(ours)
    explained = {name for row in DIFFERENCES for name in row.flags if row.flags and _holds(row, one, other)}
    return {name: pair for name, pair in differences(theirs, ours).items() if name not in explained}


def _holds(row: Difference, theirs: Flags, ours: Flags) -> bool:
    return bool(set(row.flags) & (theirs.keys() | ours.keys())) and row.holds(theirs, ours)


def compared(
    found: list[Input], presets: list[Object], stand_in: Path
) -> Iterator[tuple[str, list[str], list[str]]]:
    for one in found:
        for pod, theirs, ours in pods(one, presets):
            launch = engine_arguments(ours, stand_in)
            assert launch[0] == "serve"
            yield f"{one.name}: {pod}", arguments(theirs, stand_in), launch


@pytest.fixture(scope="module")
def rows(source: Path, presets: list[Object], stand_in: Path) -> dict[str, tuple[list[str], list[str]]]:
    """The arguments by the script and ours, by pod of a sample or a fixture."""
    found: dict[str, tuple[list[str], list[str]]] = {}
    for inputs in (samples(source), fixtures(source)):
        some = list(compared(inputs, presets, stand_in))
        assert len(some) >= LEAST
        found |= {name: (theirs, ours) for name, theirs, ours in some}
    return found


def test_arguments_are_those_of_the_script(rows: dict[str, tuple[list[str], list[str]]]) -> None:
    assert {name: found for name, pair in rows.items() if (found := unexplained(*pair))} == {}


def test_every_difference_occurs(rows: dict[str, tuple[list[str], list[str]]]) -> None:
    pairs = [(flags(theirs), flags(ours)) for theirs, ours in rows.values() if differences(theirs, ours)]

    assert [row.reason for row in DIFFERENCES if not any(_holds(row, *pair) for pair in pairs)] == []
