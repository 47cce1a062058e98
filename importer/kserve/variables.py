"""What the Go templates in a service and its bases refer to: its fields by their names in Go, and functions.

Source: kserve `pkg/controller/v1alpha2/llmisvc/config_merge.go` v0.20.0, `ReplaceVariables`. Templates see
the service as its author wrote it, without its bases.
"""

import operator
from collections.abc import Mapping
from typing import Any, Final

from importer.gotemplate import FUNCTIONS, Function, Pointer, Value
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

_SIZES: Final = ("tensor", "pipeline", "data", "dataLocal", "dataRPCPort")


def _pointers(fields: Any, *names: str) -> dict[str, Value]:
    """Return fields that are pointers to scalars."""
    values = ((name, mapping(fields).get(name)) for name in names)
    return {_in_go(name): Pointer(value) if isinstance(value, int | str) else None for name, value in values}


def _in_go(name: str) -> str:
    return f"{name[:1].upper()}{name[1:]}"


def _workload(fields: Object) -> Object:
    """Return the fields of a workload that templates read."""
    known: Object = {"KVCacheOffloading": None, "Parallelism": None}
    if isinstance(sizes := fields.get("parallelism"), dict):
        known["Parallelism"] = {**_pointers(sizes, *_SIZES), "Expert": sizes.get("expert") is True}
    for name in ("template", "worker"):
        is_pod = isinstance(pod := fields.get(name), dict)
        known[_in_go(name)] = _pointers(pod, "terminationGracePeriodSeconds") if is_pod else None
    return known


def data(metadata: Object, spec: Object, namespace: str, model_name: str) -> Object:
    """Return the root of the templates of a service."""
    name, prefill = text(metadata.get("name")), spec.get("prefill")
    own = {
        "Name": name,
        "Namespace": namespace,
        "Labels": mapping(metadata.get("labels")),
        "Annotations": mapping(metadata.get("annotations")),
    }
    fields = {
        **_workload(spec),
        "Model": {"Name": Pointer(model_name)},
        "Prefill": _workload(prefill) if isinstance(prefill, dict) else None,
    }
    settings = {
        "SystemNamespace": SYSTEM,
        "IngressGatewayName": GATEWAY,
        "IngressGatewayNamespace": SYSTEM,
        "EnableTLS": False,
        "ModelBasedRoutingHeaderName": HEADER,
        "InferencePoolNamespacedName": f"{namespace}/{name}-inference-pool",
    }
    return {**own, "ObjectMeta": own, "Spec": fields, "GlobalConfig": settings}
