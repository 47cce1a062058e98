"""KServe's presets, run by bash: the arguments that its engine gets are those of the imported service.

The presets, samples and fixtures are read from KServe's module. `vllm` is a stand-in that prints its version
and its arguments. A difference has its reason in `kserve/differences.py`, or in `LATER`.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

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
from tests.cluster.kserve.differences import unexplained
from tests.cluster.kserve.inputs import Input, documents, fixtures, samples
from tests.cluster.kserve.meaning import Facts, flags
from tests.cluster.kserve.scripts import add_stand_in, arguments, engine_arguments, is_script
from webhook.expand import expanded

PRESETS: Final = "config/llmisvcconfig"
LEAST: Final = 10
"""Pods that are compared at least: else nothing would be."""
LATER: Final = re.compile(
    "argument --(enable-lora|lora-modules|max-lora-rank|max-loras|max-cpu-loras|otlp-traces-endpoint"
    "|collect-detailed-traces)"
)
"""What KServe's controller adds after the script is chosen; `test_kserve.py` compares that."""


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
    wrong = {name: found for name, pair in rows.items() if (found := differing(*map(named, pair)))}

    assert wrong == {}


def named(arguments: list[str]) -> dict[str, tuple[str, ...]]:
    """Return arguments as facts."""
    return {f"argument {flag}": value for flag, value in flags(arguments).items()}


def differing(theirs: Facts, ours: Facts) -> dict[str, tuple[Any, Any]]:
    """Return what differs without a reason."""
    found = unexplained(theirs, ours)
    return {name: pair for name, pair in found.items() if pair[0] is not None or not LATER.fullmatch(name)}
