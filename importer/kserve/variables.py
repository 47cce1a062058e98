"""What the Go templates in a service and its bases refer to: its fields by their names in Go, and functions.

Source: kserve `pkg/controller/v1alpha2/llmisvc/config_merge.go` v0.20.0, `ReplaceVariables`. Templates see
the service as its author wrote it, without its bases.
"""

import operator
from collections.abc import Mapping
from typing import Any, Final

from importer.gotemplate import FUNCTIONS, Function, Pointer, Value
from importer.merge import POINTERS
from intent import Object
from intent.shapes import mapping, text

GATEWAY: Final = "kserve-ingress-gateway"
SYSTEM: Final = "kserve"
HEADER: Final = "X-Gateway-Model-Name"
"""Of KServe's own configuration, its defaults. TLS between pods is off: FusionInfer's endpoints have none."""
_GRACE: Final = 60
_LEFT: Final = 5
"""Seconds that remain of the grace period after the engine's own time to shut down."""


def _shutdown_timeout(pod: Value, pre_stop: int) -> int:
    grace = pod.get("TerminationGracePeriodSeconds") if isinstance(pod, dict) else None
    seconds = grace.to if isinstance(grace, Pointer) and isinstance(grace.to, int) else _GRACE
    return max(seconds - pre_stop - min(_LEFT, seconds), 0)


OF_KSERVE: Final[Mapping[str, Function]] = {
    **FUNCTIONS,
    "ChildName": operator.add,
    "shutdownTimeout": _shutdown_timeout,
    "kvTransferConfig": lambda _: "",
}
"""The functions of KServe's templates. That of the KV cache adds nothing: the report names the loss.

Long names of children are not shortened: the output has none of them.
"""


# --- the service by its names in Go -------------------------------------------------------------------

_FIELDS: Final = (
    *("prefill", "parallelism", "template", "worker", "terminationGracePeriodSeconds"),
    *("tensor", "pipeline", "data", "dataLocal", "dataRPCPort", "expert"),
)
"""The fields that templates read, wherever they are; each is nil where it is absent."""


def _in_go(value: Any, field: str = "") -> Value:
    """Return a field by the names of Go: `.Spec.Parallelism.Data` of `spec.parallelism.data`."""
    if isinstance(value, dict):
        below = {f"{name[:1].upper()}{name[1:]}": _in_go(value.get(name), name) for name in _FIELDS}
        return {"KVCacheOffloading": None, **below}
    return Pointer(value) if field in POINTERS and isinstance(value, int | str) else value


def data(metadata: Object, spec: Object, namespace: str, model_name: str) -> Object:
    """Return the root of the templates of a service."""
    name = text(metadata.get("name"))
    own = {
        "Name": name,
        "Namespace": namespace,
        "Labels": mapping(metadata.get("labels")),
        "Annotations": mapping(metadata.get("annotations")),
    }
    fields = {**_in_go(spec), "Model": {"Name": Pointer(model_name)}}
    settings = {
        "SystemNamespace": SYSTEM,
        "IngressGatewayName": GATEWAY,
        "IngressGatewayNamespace": SYSTEM,
        "EnableTLS": False,
        "ModelBasedRoutingHeaderName": HEADER,
        "InferencePoolNamespacedName": f"{namespace}/{name}-inference-pool",
    }
    return {**own, "ObjectMeta": own, "Spec": fields, "GlobalConfig": settings}
