"""Another model on the real API server: its defaults in what was injected for the first go too."""

from typing import Final

import pytest

from intent import Object
from intent.model import VOLUME
from tests.builders.lws import PREFIX, container, lws, template
from tests.cluster.testbed.api import amend, create, get, path
from tests.cluster.testbed.cluster import Cluster
from webhook.expand import expanded

FIRST: Final = ("s3://bucket/m", "oci://registry.example.com/models/m:v1", "hf://org/M:v1")
"""A download, a volume of an image, and an engine that downloads by itself."""
SECOND: Final = "pvc://claim/a/b"
LEADER_AND_WORKER: Final = 2
SIZES: Final = ["--tensor-parallel-size", "8", "--pipeline-parallel-size", "2"]


def modeled(model: str) -> Object:
    """Return a group of two pods whose engine is told its model by annotations alone."""
    return lws(LEADER_AND_WORKER, template(container(args=SIZES)), model=model)


def parts(pod: Object) -> Object:
    """Return what a pod spec has of the model, without the mode of a Secret, which is a default."""
    engine = pod["containers"][0]
    volumes = [one for one in pod["volumes"] if one["name"].startswith(VOLUME)]
    for one in volumes:
        one.get("secret", {}).pop("defaultMode", None)
    return {
        "volumes": volumes,
        "mounts": [one for one in engine["volumeMounts"] if one["name"] == VOLUME],
        "env": [one for one in engine["env"] if one["name"].startswith("HF_")],
        "init": [one["args"] for one in pod["initContainers"] if one["name"] == "storage-initializer"],
        "args": engine["args"],
    }


def worker(whole: Object) -> Object:
    """Return the pod spec of the workers."""
    found: Object = whole["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]
    return found


@pytest.mark.parametrize("first", FIRST)
def test_another_model_leaves_nothing_of_the_first(fusioninfer: Cluster, namespace: str, first: str) -> None:
    where = path("leaderworkersets", namespace)
    create(fusioninfer.api, where, modeled(model=first))

    key = f"/metadata/annotations/{PREFIX.replace('/', '~1')}model"
    changed = [{"op": "replace", "path": key, "value": SECOND}]
    amend(fusioninfer.api, f"{where}/x", changed)

    stored = get(fusioninfer.api, f"{where}/x")
    assert parts(worker(stored)) == parts(worker(expanded(modeled(model=SECOND))))
