"""KServe's own controller, beside the import: both make objects of the same meaning of KServe's samples.

The controller runs on an API server. Its objects are compared with the imported service after admission and
the objects of our controller, fact by fact (`kserve/meaning.py`). A difference needs a row in
`kserve/differences.py`. KSERVE_INPUTS says how many samples and fixtures are compared, or `all`: then each
row has to occur. KSERVE_SEED chooses them.
"""

import copy
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from fusioninfer.lint.documents import Document
from fusioninfer.lint.offline import compose
from importer.table import import_all
from intent import Object
from intent.image import read_image
from intent.settings import Settings
from intent.shapes import listed, text
from tests.cluster.conftest import obtained
from tests.cluster.kserve.differences import DIFFERENCES, REFUSED, UNMADE, needed, unexplained
from tests.cluster.kserve.inputs import Input, fixtures, samples
from tests.cluster.kserve.meaning import Facts, facts
from tests.cluster.testbed.api import ApiError
from tests.cluster.testbed.build import build
from tests.cluster.testbed.control_plane import running
from tests.cluster.testbed.kserve import conditions, config_maps, made_of, presets, start_kserve
from tests.cluster.testbed.modules import MODULES, ORACLE_MODULES
from tests.tiers import WHOLE, count

# --- the script of KServe's presets -------------------------------------------------------------------
# bash runs it with a stand-in for vLLM that tells its arguments.

UNKNOWN: Final = "0.22.1"
"""The version that the engine of an image without a known one says."""
LEADER: Final = "127.0.0.1"
STAND_IN: Final = """#!/bin/bash
if [ "$1" = --version ]; then echo "$VERSION"; exit; fi
printf '%s\\0' "$@" > "$ARGUMENTS"
"""


def add_stand_in(folder: Path) -> Path:
    """Put the stand-in into a folder, and return the folder."""
    (folder / "vllm").write_text(STAND_IN)
    (folder / "vllm").chmod(0o755)
    return folder


def is_script(container: Object) -> bool:
    """Return whether a container's command is the script of a preset."""
    command = listed(container.get("command"))
    return command[:1] == ["/bin/bash"] and 'eval "exec vllm' in command[2]


def arguments(container: Object, stand_in: Path) -> list[str]:
    """Run a container's script, and return the arguments that the engine got."""
    command = _words(container)
    version = ".".join(map(str, read_image(text(container.get("image"))).version)) or UNKNOWN
    said = stand_in / "arguments"
    said.unlink(missing_ok=True)
    variables = {
        one["name"]: one["value"] for one in listed(container.get("env")) if isinstance(one.get("value"), str)
    }
    environment = {
        **variables,
        "KSERVE_INFER_ROCE": "false",
        "LWS_LEADER_ADDRESS": LEADER,
        "LWS_WORKER_INDEX": "1",
        "PATH": f"{stand_in}:{os.environ['PATH']}",
        "VERSION": version,
        "ARGUMENTS": str(said),
    }
    subprocess.run(
        [shutil.which("bash") or command[0], *command[1:]], env=environment, check=True, capture_output=True
    )
    return said.read_text().split("\0")[:-1]


def engine_arguments(container: Object, stand_in: Path) -> list[str]:
    """Return the arguments of `vllm serve`, or the whole command if another program is started."""
    words = _words(container)
    if is_script(container) or words[:2] == ["/bin/sh", "-c"]:
        return arguments(container, stand_in)
    return words[1:] if words[:2] == ["vllm", "serve"] else words


def _words(container: Object) -> list[str]:
    """Return command and arguments as the kubelet gives them."""
    words = [*listed(container.get("command")), *listed(container.get("args"))]
    return [text(one).replace("$(LWS_LEADER_ADDRESS)", LEADER) for one in words]


# --- what an imported service becomes -----------------------------------------------------------------


class Composed(NamedTuple):
    """The objects of an imported service, and the messages of what prevents them."""

    objects: tuple[Object, ...]
    errors: tuple[str, ...]


def composed(objects: Sequence[Object]) -> Composed:
    """Import a service with its bases, and return what a cluster would have."""
    made = import_all(objects)
    found = compose([Document("import", at, one) for at, one in enumerate(made.objects, 1)], Settings())
    problems = map(str, made.problems.values())
    errors = (str(one.error) for one in found.found if one.error.severity == "error")
    return Composed(found.objects, (*problems, *errors))


INPUTS: Final = count("KSERVE_INPUTS")
SEED: Final = os.environ.get("KSERVE_SEED", "1")


class Compared(NamedTuple):
    """What KServe's controller made of an input, and what it says of it."""

    found: Input
    """Its objects have their namespace."""
    made: list[Object] | ApiError
    messages: str


@pytest.fixture(scope="module")
def source(source_of: Callable[[str], Path]) -> Path:
    return source_of("kserve")


@pytest.fixture(scope="module")
def chosen(source: Path) -> dict[str, Input]:
    """The inputs, by the namespaces where they are created."""
    every = [*samples(source), *fixtures(source)]
    if not WHOLE:
        every = random.Random(SEED).sample(every, INPUTS)  # noqa: S311 - no secret
    return {f"kserve-{at}": _in(f"kserve-{at}", one) for at, one in enumerate(every)}


def _in(namespace: str, found: Input) -> Input:
    objects = copy.deepcopy(found.objects)
    for one in objects:
        one["metadata"]["namespace"] = namespace
    return Input(found.name, objects)


@pytest.fixture(scope="module")
def known(request: pytest.FixtureRequest, chosen: dict[str, Input]) -> Iterator[dict[str, Any]]:
    """What KServe's controller makes of each input, and its presets."""
    built = obtained(request.config, lambda: build(sys.stderr, (*MODULES, *ORACLE_MODULES)))
    with running(built, control=()) as there:
        start_kserve(there)
        made = made_of(there, {namespace: one.objects for namespace, one in chosen.items()})
        compared = [Compared(one, made[name], conditions(there, name)) for name, one in chosen.items()]
        yield {"inputs": compared, "presets": presets(there)}


@pytest.fixture(scope="module")
def pairs(known: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Facts, Facts]]:
    """The facts of KServe and ours, by the name of the input."""
    arguments = partial(engine_arguments, stand_in=add_stand_in(tmp_path_factory.mktemp("stand-in")))
    found: dict[str, tuple[Facts, Facts]] = {}
    for one in known["inputs"]:
        if not one.made or isinstance(one.made, ApiError):
            continue
        given = [*one.found.objects, *known["presets"]]
        given += config_maps(given[0]["metadata"]["namespace"], one.found.objects)
        ours = composed(given)
        assert ours.errors == (), one.found.name
        found[one.found.name] = facts(one.made, arguments), facts(ours.objects, arguments)
    return found


def test_an_imported_service_means_what_kserve_makes_of_it(pairs: dict[str, tuple[Facts, Facts]]) -> None:
    assert pairs
    assert {name: found for name, pair in pairs.items() if (found := unexplained(*pair))} == {}


def test_kserve_makes_objects_of_all_inputs_but_those_that_are_known(known: dict[str, Any]) -> None:
    refused = {one.found.name: str(one.made) for one in known["inputs"] if isinstance(one.made, ApiError)}
    unmade = {one.found.name: one.messages for one in known["inputs"] if not one.made}

    assert [name for name, said in refused.items() if REFUSED.get(name, "?") not in said] == []
    assert [name for name, said in unmade.items() if UNMADE.get(name, "?") not in said] == []


@pytest.mark.skipif(not WHOLE, reason="only all inputs together need every row")
def test_every_difference_occurs(known: dict[str, Any], pairs: dict[str, tuple[Facts, Facts]]) -> None:
    rows = {name for pair in pairs.values() for name in needed(*pair)}
    names = {one.found.name for one in known["inputs"]}

    assert [row.names for row in DIFFERENCES if row.names not in rows] == []
    assert (REFUSED.keys() | UNMADE.keys()) - names == set()
    sys.stdout.write(f"summary: {len(pairs)} services of KServe compared, {len(rows)} kinds of differences\n")
