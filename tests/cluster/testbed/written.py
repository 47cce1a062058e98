"""LeaderWorkerSets as people write them, written with kubectl; and twins that nobody annotated."""

import json
from pathlib import Path
from typing import Any, Final

import yaml

from intent import Object
from intent.annotations import EXPANSION, PREFIX
from tests.cluster.testbed.api import get, path
from tests.cluster.testbed.cluster import Cluster, kubectl
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
    """Have kubectl write it; return it as kubectl then shows it."""
    text = json.dumps(lws)
    return json.loads(
        kubectl(cluster, *words, "--namespace", namespace, "--output=json", "--filename=-", stdin=text)
    )


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
