"""The examples in LWS's module: imported without errors, and their engines get the same arguments.

The containers of a leader and of its workers run in a real shell, with stand-ins for Ray and the engines that
print their arguments: before the import, and after it and admission.
"""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
import yaml

from fusioninfer.lint import offline
from fusioninfer.lint.documents import Document
from importer.launches import settings
from importer.table import import_all
from intent import Object
from intent.annotations import EXCLUSIVE_TOPOLOGY
from intent.command_line.command import read_command
from intent.image import read_image
from intent.settings import Settings
from tests.builders import kubelet

KINDS: Final = frozenset({"LeaderWorkerSet", "DisaggregatedSet"})
STARTED: Final = {"vllm/GPU", "vllm/TPU", "sglang", "tensorrt-llm"}
"""The examples that start a program for which there is a stand-in; the launch of the last one is kept."""
LOST: Final = {f"metadata.annotations[{EXCLUSIVE_TOPOLOGY}]"}
"""What a gang excludes."""
STAND_IN: Final = """#!/bin/sh
[ "$1" = -c ] && exit 0
printf '%s\\0' "${0##*/}" "$@" >> "$STARTED"
"""
QUIET: Final = "#!/bin/sh\nexit 0\n"
ADDED: Final = frozenset({"distributed-executor-backend"})
"""What launchers add, beside what they added before the import too."""


@pytest.fixture(scope="module")
def examples(source_of: Callable[[str], Path]) -> dict[str, list[Object]]:
    """The objects of each file that has a LeaderWorkerSet or a DisaggregatedSet."""
    folder = source_of("lws")
    files = sorted((*folder.glob("docs/examples/**/*.yaml"), *folder.glob("config/samples/*.yaml")))
    read = {str(file.relative_to(folder)): list(yaml.safe_load_all(file.read_text())) for file in files}
    return {name: objects for name, objects in read.items() if any(is_ours(one) for one in objects)}


def is_ours(obj: Object | None) -> bool:
    return obj is not None and obj.get("kind") in KINDS


def expanded(objects: list[Object]) -> offline.Composition:
    return offline.compose([Document("file", at, one) for at, one in enumerate(objects)], Settings())


def test_all_examples_are_imported_and_have_no_errors(examples: dict[str, list[Object]]) -> None:
    assert len(examples) >= 16
    for name, objects in examples.items():
        made = import_all(objects)
        composed = expanded(list(made.objects))

        assert not made.problems, name
        assert [str(one.error) for one in composed.found if one.error.severity == "error"] == [], name
        assert {line.path for line in made.lost} <= LOST, name


def test_engines_start_with_arguments_that_mean_the_same(
    examples: dict[str, list[Object]], tmp_path: Path
) -> None:
    compared = set()
    for name, objects in examples.items():
        given = next(one for one in objects if is_ours(one))
        if given["kind"] == "LeaderWorkerSet" and (before := started(given, tmp_path)):
            (made,) = [one for one in expanded(list(import_all([given]).objects)).objects if is_ours(one)]
            after = started(made, tmp_path)
            compared.add(name.removeprefix("docs/examples/").removesuffix("/lws.yaml"))

            for role, arguments in before.items():
                expect_same(arguments, after[role], role)
    assert compared == STARTED


def expect_same(before: list[str], after: list[str], role: str) -> None:
    """Compare the engine of a pod: what was set is set; more only by the launcher, or as for the leader."""
    old, new = (settings(read_command(tuple(words), (), read_image(""))) for words in (before, after))
    assert old["the model"] == new["the model"]
    address = old.pop("dist-init-addr", None)
    assert (address is None) == (new.pop("dist-init-addr", None) is None)
    for one in (old, new):
        one.pop("the program")
    assert {key: new.get(key) for key in old} == old
    more = new.keys() - old.keys() - ADDED
    assert not more if role == "leader" else more <= {"host", "port"}


def started(obj: Object, folder: Path) -> dict[str, list[str]]:
    """Return the arguments of the engine on the leader and on the first worker, where one starts."""
    group = obj["spec"]["leaderWorkerTemplate"]
    templates = {
        "leader": group.get("leaderTemplate", group["workerTemplate"]),
        "worker": group["workerTemplate"],
    }
    size = group.get("size", 1)
    found = {
        role: run(template["spec"]["containers"][0], str(index), size, folder)
        for index, (role, template) in enumerate(templates.items())
    }
    return {role: arguments for role, arguments in found.items() if arguments}


def run(container: Object, index: str, size: int, folder: Path) -> list[str]:
    programs = folder / "bin"
    programs.mkdir(exist_ok=True)
    for name, text in (("python3", STAND_IN), ("vllm", STAND_IN), ("ray", QUIET), ("bash", QUIET)):
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    output = folder / "started"
    output.write_text("")
    own = {"LWS_LEADER_ADDRESS": "lws-0.lws", "LWS_GROUP_SIZE": str(size), "LWS_WORKER_INDEX": index}
    words = kubelet.words(container, own)
    if not words or words[0] not in {"sh", "/bin/sh", "python3", "vllm"}:
        return []
    env = {**own, "PATH": f"{programs}:{os.environ['PATH']}", "STARTED": str(output)}
    subprocess.run(words, env=env, check=False, capture_output=True, timeout=30)
    return output.read_text().split("\0")[:-1]
