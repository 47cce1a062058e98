"""LeaderWorkerSets as people write them, written with kubectl; and twins that nobody annotated."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import yaml

from intent import Object
from intent.annotations import EXPANSION, PREFIX
from tests.cluster.testbed.api import get, path
from tests.cluster.testbed.cluster import Cluster, KubectlError, kubectl
from tests.cluster.testbed.ours import ROOT

EXAMPLES: Final = ROOT / "docs" / "examples"
WHOLE: Final = ROOT / "tests" / "cluster" / "admission" / "whole.yaml"
LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"

Words = tuple[str, ...]
"""What stands between `kubectl` and the file."""
CLIENT_SIDE: Final = ("apply",)
SERVER_SIDE: Final = ("apply", "--server-side")


def read(file: Path) -> Object:
    """Read the one object of a file."""
    found: Object = yaml.safe_load(file.read_text())
    return found


def named(lws: Object, name: str, **annotations: str) -> Object:
    """Return it under another name, with more annotations of ours: `refresh=` is fusioninfer.io/refresh."""
    more = {PREFIX + key.replace("_", "-"): value for key, value in annotations.items()}
    metadata = lws["metadata"]
    return {
        **lws,
        "metadata": {**metadata, "name": name, "annotations": {**metadata.get("annotations", {}), **more}},
    }


def unannotated(lws: Object) -> Object:
    """Return it without our annotations."""
    annotations = lws["metadata"].get("annotations", {})
    others = {key: value for key, value in annotations.items() if not key.startswith(PREFIX)}
    return {**lws, "metadata": {**lws["metadata"], "annotations": others}}


def put(cluster: Cluster, namespace: str, words: Words, lws: Object) -> Any:
    """Have kubectl write it, again where LWS wrote the status in between; return it as kubectl shows it."""
    command = (*words, "--namespace", namespace, "--output=json", "--filename=-")
    for _ in range(4):
        try:
            return json.loads(kubectl(cluster, *command, stdin=json.dumps(lws)))
        except KubectlError as error:
            if "the object has been modified" not in str(error):
                raise
    return json.loads(kubectl(cluster, *command, stdin=json.dumps(lws)))


def engines(lws: Object) -> list[Object]:
    """Return the containers called vllm: the leader's, then the workers'."""
    group = lws["spec"]["leaderWorkerTemplate"]
    fields = [field for field in ("leaderTemplate", "workerTemplate") if field in group]
    containers = [container for field in fields for container in group[field]["spec"]["containers"]]
    return [container for container in containers if container["name"] == "vllm"]


def stored(cluster: Cluster, namespace: str, name: str) -> Object:
    """Read what is stored of what its author can write: spec, labels and annotations, not kubectl's note."""
    lws = get(cluster.api, path("leaderworkersets", namespace, name))
    return written_part(lws)


def written_part(lws: Object) -> Object:
    """Return spec, labels and annotations, without kubectl's note and our record."""
    metadata = lws["metadata"]
    annotations = metadata.get("annotations", {})
    return {
        "spec": lws["spec"],
        "labels": metadata.get("labels", {}),
        "annotations": {key: annotations[key] for key in annotations if key not in (LAST_APPLIED, EXPANSION)},
    }


def expanded_offline(*files: Path | str, stdin: str = "") -> list[Object]:
    """Have our command print files as admission leaves them; `-` is what is given as stdin."""
    names = [word for file in files for word in ("-f", str(file))]
    command = [sys.executable, "-m", "fusioninfer", "expand", "--admission-only", "-o", "json", *names]
    done = subprocess.run(command, cwd=ROOT, input=stdin, capture_output=True, text=True, check=True)
    return listed(done.stdout)


def composed_offline(namespace: str, *files: Path) -> list[Object]:
    """Have our command print all that files become in a namespace, with what the controller makes."""
    words = [f"--filename={file}" for file in files]
    command = [sys.executable, "-m", "fusioninfer", "expand", "--output=json", f"--namespace={namespace}"]
    done = subprocess.run([*command, *words], cwd=ROOT, capture_output=True, text=True, check=True)
    return listed(done.stdout)


def listed(text: str) -> list[Object]:
    """Read one object, a List, or objects one after the other, as kubectl prints them."""
    found: list[Object] = []
    rest = text.strip()
    while rest:
        value, end = json.JSONDecoder().raw_decode(rest)
        found.extend(value["items"] if value["kind"] == "List" else [value])
        rest = rest[end:].strip()
    return found
