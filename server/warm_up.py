"""Reviews that run through most of the code before the webhook is ready, so that no real one finds it cold.

The first of a namespace would take several times as long, and might count as expensive on a slow machine.
"""

import gc
from collections.abc import Callable, Mapping
from typing import Final

import orjson

from intent import Object
from webhook.review import VERSION, AdmissionAnswer

Reviews = Mapping[str, Callable[[bytes], AdmissionAnswer]]
"""The functions that answer a body: by path, and by step of a request that names templates."""

PATHS: Final = ("/mutate", "/validate")
_ENGINE: Final[Object] = {
    "name": "engine",
    "image": "registry.example/vllm-openai:v0.17.1",
    "command": ["vllm", "serve"],
    "args": ["org/model", "--tensor-parallel-size", "16", "--unknown", "--kv-transfer-config", "{}"],
    "resources": {"limits": {"nvidia.com/gpu": "8"}},
    "readinessProbe": {"httpGet": {"path": "/health", "port": 8000}},
}
_NAME: Final = "warm-up"
_KEYS: Final = {"service": _NAME, "component-type": "decoder", "strategy": "pd-disaggregation"}
_OBJECT: Final[Object] = {
    "metadata": {
        "name": _NAME,
        "annotations": {f"fusioninfer.io/{key}": value for key, value in _KEYS.items()},
    },
    "spec": {
        "leaderWorkerTemplate": {"size": 2, "workerTemplate": {"spec": {"containers": [_ENGINE]}}},
    },
}
_REQUEST: Final = {"uid": _NAME, "operation": "CREATE", "object": _OBJECT}
BODY: Final = orjson.dumps({"apiVersion": VERSION, "kind": "AdmissionReview", "request": _REQUEST})
"""The review of a LeaderWorkerSet as its author wrote it: /mutate expands it, and /validate denies it."""


def warm_up(reviews: Reviews) -> None:
    """Answer a review of each path; then exempt all long-lived objects from garbage collection."""
    for path in PATHS:
        reviews[path](BODY)
    gc.collect()
    gc.freeze()
