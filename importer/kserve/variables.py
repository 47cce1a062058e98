"""What the Go templates in a service and its bases refer to: its fields by their names in Go, and functions.

Source: kserve `pkg/controller/v1alpha2/llmisvc/config_merge.go` v0.20.0, `ReplaceVariables`. Templates see
the service as its author wrote it, without its bases.
"""

import operator
from collections.abc import Mapping
from typing import Any, Final

from importer.gotemplate import FUNCTIONS, Function, Pointer, Struct, Value
from intent.shapes import mapping, text

GATEWAY: Final = "kserve-ingress-gateway"
SYSTEM: Final = "kserve"
HEADER: Final = "X-Gateway-Model-Name"
"""Of KServe's own configuration, its defaults. TLS between pods is off: FusionInfer's endpoints have none."""
_GRACE: Final = 60
_LEFT: Final = 5
"""Seconds that remain of the grace period after the engine's own time to shut down."""


def _shutdown_timeout(pod: Value, pre_stop: int) -> int:
    grace = pod.fields.get("TerminationGracePeriodSeconds") if isinstance(pod, Struct) else None
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


def _pointer(value: Any) -> Pointer | None:
    return Pointer(value) if isinstance(value, int | str) else None


def _pod(pod: Any) -> Struct | None:
    """Return the fields of a pod that templates read; None if there is no pod."""
    seconds = _pointer(mapping(pod).get("terminationGracePeriodSeconds"))
    return Struct({"TerminationGracePeriodSeconds": seconds}) if isinstance(pod, dict) else None


def _workload(fields: Mapping[str, Any]) -> dict[str, Value]:
    """Return the fields of a workload that templates read."""
    sizes = fields.get("parallelism")
    known = {f"{name[:1].upper()}{name[1:]}": _pointer(mapping(sizes).get(name)) for name in _SIZES}
    is_expert = mapping(sizes).get("expert") is True
    return {
        "Parallelism": Struct({**known, "Expert": is_expert}) if isinstance(sizes, dict) else None,
        "Template": _pod(fields.get("template")),
        "Worker": _pod(fields.get("worker")),
        "KVCacheOffloading": None,
    }


def data(metadata: Mapping[str, Any], spec: Mapping[str, Any], namespace: str, model_name: str) -> Struct:
    """Return the root of the templates of a service."""
    name = text(metadata.get("name"))
    own = {
        "Name": name,
        "Namespace": namespace,
        "Labels": mapping(metadata.get("labels")),
        "Annotations": mapping(metadata.get("annotations")),
    }
    prefill = spec.get("prefill")
    fields = {
        **_workload(spec),
        "Model": Struct({"Name": Pointer(model_name)}),
        "Prefill": Struct(_workload(prefill)) if isinstance(prefill, dict) else None,
    }
    settings = {
        "SystemNamespace": SYSTEM,
        "IngressGatewayName": GATEWAY,
        "IngressGatewayNamespace": SYSTEM,
        "EnableTLS": False,
        "ModelBasedRoutingHeaderName": HEADER,
        "InferencePoolNamespacedName": f"{namespace}/{name}-inference-pool",
    }
    return Struct(
        {**own, "ObjectMeta": Struct(own), "Spec": Struct(fields), "GlobalConfig": Struct(settings)}
    )
