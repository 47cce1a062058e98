"""Builders of LeaderWorkerSets for tests."""

import copy
from typing import Any

import jsonpatch

from intent import Object
from webhook.expand import expand

PREFIX = "fusioninfer.io/"
WORKER = "spec.leaderWorkerTemplate.workerTemplate"


def container(name: str = "vllm", **fields: Any) -> Object:
    """Return an engine container with a plain command."""
    plain: Object = {
        "name": name,
        "image": "vllm/vllm-openai:v0.17.1",
        "command": ["vllm", "serve"],
        "args": ["org/M", "--tensor-parallel-size", "8", "--pipeline-parallel-size", "2"],
        "resources": {"requests": {"cpu": "8", "memory": "64Gi"}, "limits": {"nvidia.com/gpu": "8"}},
    }
    return {key: value for key, value in (plain | fields).items() if value is not None}


def template(*containers: Object, **spec: Any) -> Object:
    """Return a pod template."""
    return {"spec": {"containers": list(containers or (container(),)), **spec}}


def lws(
    size: int = 2, worker: Object | None = None, leader: Object | None = None, **annotations: str
) -> Object:
    """Return a LeaderWorkerSet of the service svc; `component_type=` is fusioninfer.io/component-type."""
    group: Object = {"size": size, "workerTemplate": worker or template()}
    if leader:
        group["leaderTemplate"] = leader
    named = {
        PREFIX + key.replace("_", "-"): value for key, value in ({"service": "svc"} | annotations).items()
    }
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "x", "annotations": named},
        "spec": {"replicas": 1, "leaderWorkerTemplate": group},
    }


def pod_specs(live: Object) -> list[Object]:
    """Return the pod specs of an object: the leader's, if it has its own, and the workers'."""
    group = live["spec"]["leaderWorkerTemplate"]
    return [group[field]["spec"] for field in ("leaderTemplate", "workerTemplate") if field in group]


def pod_spec(live: Object, field: str = "workerTemplate") -> Any:
    """Return the pod spec of one template."""
    return live["spec"]["leaderWorkerTemplate"][field]["spec"]


def engine_of(live: Object, field: str = "workerTemplate") -> Any:
    """Return the first container of one template."""
    return pod_spec(live, field)["containers"][0]


def engines_of(live: Object) -> list[Object]:
    """Return the first container of each template: the leader's, if it has its own, and the workers'."""
    return [spec["containers"][0] for spec in pod_specs(live)]


def put(live: Object, old: Object | None = None, *rules: Any, **more: Any) -> Object:
    """Expand an object and apply the patch, as an API server does; `rules` and `more` are for `expand`."""
    applied: Object = jsonpatch.apply_patch(live, expand(live, old, *rules, **more))
    return applied


def changed(value: Object, path: str, to: Any) -> Object:
    """Return a copy with one field set: `spec.leaderWorkerTemplate.size`; None removes it."""
    whole = copy.deepcopy(value)
    *above, last = path.replace("fusioninfer.io/", "fusioninfer~io/").split(".")
    below = whole
    for key in above:
        below = below[int(key)] if isinstance(below, list) else below.setdefault(key.replace("~", "."), {})
    if to is None:
        del below[last.replace("~", ".")]
    else:
        below[last.replace("~", ".")] = to
    return whole


def paused(stored: Object) -> Object:
    """Return a copy that is paused: an update that is checked, and changes no input of admission."""
    return changed(stored, f"metadata.annotations.{PREFIX}paused", "true")
