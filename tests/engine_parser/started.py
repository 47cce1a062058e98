"""The words with which a container starts its engine: it runs, with programs that note their arguments."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from intent import Object
from intent.image import facts, read_image
from tests.builders import kubelet

NOTE: Final = """printf '%s\\0' "$@" > "$RECORD\""""
PROGRAMS: Final = {
    "ray": 'test "$1" = symmetric-run || exit 0; while test "$1" != --; do shift; done; shift; exec "$@"',
    **dict.fromkeys(("getent", "sleep"), "exit 0"),
}
LWS: Final = {"LWS_LEADER_ADDRESS": "x-0.x.default", "LWS_GROUP_SIZE": "2", "LWS_WORKER_INDEX": "1"}
ENTRYPOINTS: Final = {
    "vllm serve": ("vllm", "serve"),
    "api_server": ("python3", "-m", "vllm.entrypoints.openai.api_server"),
    **dict.fromkeys(("", "none"), ("none",)),
}
FIELDS: Final = ("leaderTemplate", "workerTemplate")
POD: Final = "10.0.0.1"


def write_programs(folder: Path, engine: str) -> None:
    """Write the programs that stand in for those of an image of an engine."""
    module = f'case "$2" in {engine}.*) shift 2; set -- module "$@"; {NOTE};; esac'
    for name, script in {**PROGRAMS, engine: NOTE, "python3": module}.items():
        program = folder / name
        program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        program.chmod(0o755)


def containers(lws: Object) -> Iterator[tuple[str, Object]]:
    """Yield the containers of leader and workers, each with the field of its template and its name."""
    group = lws["spec"]["leaderWorkerTemplate"]
    for field in FIELDS:
        template = group.get(field) or group["workerTemplate"]
        for one in template.get("spec", {}).get("containers", ()):
            yield f"{field}/{one['name']}", one


def pods(lws: Object) -> Iterator[tuple[int, Object, dict[str, str]]]:
    """Yield the containers of each pod of a group, with the pod's index and the variables that LWS adds."""
    size = lws["spec"]["leaderWorkerTemplate"].get("size", 1)
    each = dict[str, list[Object]]({field: [] for field in FIELDS})
    for name, one in containers(lws):
        each[name.partition("/")[0]].append(one)
    for index in range(size):
        known = LWS | {"LWS_GROUP_SIZE": str(size), "LWS_WORKER_INDEX": str(index)}
        yield from ((index, one, known) for one in each[FIELDS[index > 0]])


def arguments(container: Object, programs: Path, lws: dict[str, str] = LWS) -> list[str] | None:
    """Return the words behind the engine; None if the container does not start it, or with other programs."""
    environment = lws | kubelet.environment(
        container | {"env": [one for one in container.get("env", ()) if _is_known(one)]},
        {"status.podIP": POD},
    )
    words = kubelet.words(container, environment)
    if not container.get("command"):
        words = [*ENTRYPOINTS[facts(read_image(container.get("image", ""))).entrypoint], *words]
    record = programs / "record"
    record.unlink(missing_ok=True)
    variables = environment | {"PATH": str(programs), "RECORD": str(record)}
    if not any((Path(folder) / words[0]).exists() for folder in (programs, os.sep)):
        return None
    subprocess.run(words, env=variables, check=False, capture_output=True, timeout=20, cwd=programs)
    return record.read_text().split("\0")[:-1] if record.exists() else None


def _is_known(variable: Object) -> bool:
    field = variable.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath", "")
    return "value" in variable or field == "status.podIP"
