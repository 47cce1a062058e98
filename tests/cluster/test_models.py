"""The model of an annotation on the real API server, and in the pods that LWS makes."""

from typing import Any, Final

import pytest

from intent import Object
from intent.model import VOLUME
from tests.builders.lws import PREFIX, container, lws, template
from tests.cluster.testbed.api import amend, create, get, path
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.groups import pods, wait_pods
from webhook.expand import expanded

MODELS: Final[dict[str, dict[str, str]]] = {
    "hf": {"model": "hf://org/M:v1", "model_secret": "keys", "model_cache": "5Gi"},
    "claim": {"model": "hf://org/M", "model_cache": "pvc://claim/hub"},
    "download": {"model": "hf://org/M", "model_secret": "keys", "model_cache": "download"},
    "pvc": {"model": "pvc://claim/a/b"},
    "pvc-hf": {"model": "pvc+hf://claim/hub/org/M"},
    "oci": {"model": "oci://registry.example.com/models/m:v1"},
    "s3": {"model": "s3://bucket/m", "model_secret": "keys"},
    "gs": {"model": "gs://bucket/m", "model_secret": "keys"},
    "https": {"model": "https://example.com/m.tar.gz", "model_secret": "keys"},
}
LEADER_AND_WORKER: Final = 2
SIZES: Final = ["--tensor-parallel-size", "8", "--pipeline-parallel-size", "2"]


def modeled(**notes: Any) -> Object:
    """Return a group of two pods whose engine is told its model by annotations alone."""
    return lws(LEADER_AND_WORKER, template(container(args=SIZES)), **notes)


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


@pytest.mark.parametrize("notes", MODELS.values(), ids=MODELS)
def test_leader_and_worker_get_the_model(fusioninfer: Cluster, namespace: str, notes: dict[str, Any]) -> None:
    file = modeled(**notes)
    wanted = parts(worker(expanded(file)))

    stored = create(fusioninfer.api, path("leaderworkersets", namespace), file)
    assert parts(worker(stored)) == wanted

    wait_pods(fusioninfer, namespace, LEADER_AND_WORKER)
    made = [parts(pod["spec"]) for pod in pods(fusioninfer, namespace)]
    assert [one | {"args": wanted["args"], "env": wanted["env"]} for one in made] == [wanted] * len(made)


@pytest.mark.parametrize("first", ["s3", "oci", "hf"])
def test_another_model_leaves_nothing_of_the_first(fusioninfer: Cluster, namespace: str, first: str) -> None:
    where = path("leaderworkersets", namespace)
    create(fusioninfer.api, where, modeled(model=MODELS[first]["model"]))

    key = f"/metadata/annotations/{PREFIX.replace('/', '~1')}model"
    changed = [{"op": "replace", "path": key, "value": MODELS["pvc"]["model"]}]
    amend(fusioninfer.api, f"{where}/x", changed)

    stored = get(fusioninfer.api, f"{where}/x")
    assert parts(worker(stored)) == parts(worker(expanded(modeled(**MODELS["pvc"]))))
