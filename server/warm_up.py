"""Reviews that run through most of the code before the webhook is ready, so that no real one finds it cold.

The first of a namespace would take several times as long, and might count as expensive on a slow machine.
They are answered in this process and read nothing from an API server.
"""

import gc
from collections.abc import Callable, Mapping
from typing import Final

import orjson

from intent import Object
from intent.inferenceservice import v1alpha1
from intent.inferencetemplate import v1alpha1 as template
from intent.template import Templates
from webhook import templated
from webhook.request import VERSION
from webhook.review import AdmissionAnswer

Reviews = Mapping[str, Callable[[bytes], AdmissionAnswer]]
"""The functions that answer a body: by path, and by step of a request that names templates."""

_ENGINE: Final[Object] = {
    "name": "engine",
    "image": "registry.example/vllm-openai:v0.17.1",
    "command": ["vllm", "serve"],
    "args": ["org/model", "--tensor-parallel-size", "16", "--unknown", "--kv-transfer-config", "{}"],
    "resources": {"limits": {"nvidia.com/gpu": "8"}},
    "readinessProbe": {"httpGet": {"path": "/health", "port": 8000}},
}
_PODS: Final = {"spec": {"containers": [_ENGINE]}}
_GROUP: Final = {"multinode": {"nodeCount": 2}, "template": _PODS}
_NAME: Final = "warm-up"
_TEMPLATE: Final[Object] = {
    "apiVersion": v1alpha1.API_VERSION,
    "kind": template.KIND,
    "metadata": {"name": _NAME},
    "spec": {
        "pods": [
            {
                "template": {"spec": {"containers": [{**_ENGINE, "workingDir": "/$(service.name)"}]}},
                "remove": [f"containers/{_NAME}/env/NAME"],
            }
        ]
    },
}
_INFERENCE_SERVICE: Final[Object] = {
    "apiVersion": v1alpha1.API_VERSION,
    "kind": v1alpha1.KIND,
    "metadata": {"name": _NAME},
    "spec": {
        "roles": [
            {"name": "prefill", "componentType": "prefiller", **_GROUP},
            {"name": "decode", "componentType": "decoder", **_GROUP},
            {"name": "router", "componentType": "router", "strategy": "pd-disaggregation"},
        ]
    },
}


def _leaderworkerset(workers: Object, **notes: str) -> Object:
    known = {"service": _NAME, "component-type": "decoder", "strategy": "pd-disaggregation"}
    named = {f"fusioninfer.io/{key.replace('_', '-')}": value for key, value in (known | notes).items()}
    return {
        "metadata": {"name": _NAME, "annotations": named},
        "spec": {"leaderWorkerTemplate": {"size": 2, "workerTemplate": workers}},
    }


def _review(obj: Object) -> bytes:
    request = {"uid": _NAME, "operation": "CREATE", "object": obj}
    return orjson.dumps({"apiVersion": VERSION, "kind": "AdmissionReview", "request": request})


_READ: Final[Templates] = {_NAME: _TEMPLATE}
_WRITTEN_OUT: Final = _review(_leaderworkerset(_PODS))
_TEMPLATED: Final = _review(_leaderworkerset({}, base_refs=_NAME))
_BODIES: Final[Mapping[str, tuple[bytes, ...]]] = {
    "/mutate": (_WRITTEN_OUT,),
    "/validate": (_WRITTEN_OUT, _review(_INFERENCE_SERVICE), _review(_TEMPLATE)),
    templated.ASKED: (_TEMPLATED,),
    templated.ANSWERED: (templated.packed(_TEMPLATED, _READ),),
}


def warm_up(steps: Reviews) -> None:
    """Answer the bodies of each step; then exempt all long-lived objects from garbage collection."""
    for name, answer in steps.items():
        for body in _BODIES[name]:
            answer(body)
    gc.collect()
    gc.freeze()
