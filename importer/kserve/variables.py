"""What the Go templates in a service and its bases refer to: its fields by their names in Go, and functions.

Source: kserve `pkg/controller/v1alpha2/llmisvc/config_merge.go` v0.20.0, `ReplaceVariables`; `ChildName` of
knative.dev/pkg `kmeta/names.go`. Templates see the service as its author wrote it, without its bases.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

from importer.gotemplate import FUNCTIONS, Function, Pointer, Struct, Value, any_value
from intent.quantity import parse
from intent.shapes import listed, mapping, text

GATEWAY: Final = "kserve-ingress-gateway"
SYSTEM: Final = "kserve"
HEADER: Final = "X-Gateway-Model-Name"
"""Of KServe's own configuration, its defaults. TLS between pods is off: FusionInfer's endpoints have none."""
_LONGEST: Final = 63
_HEAD: Final = _LONGEST - 32
_GRACE: Final = 60
_LEFT: Final = 5
"""Seconds that remain of the grace period after the engine's own time to shut down."""


def child_name(parent: str, suffix: str) -> str:
    """Return the name of an object that belongs to another one, with a hash if it is too long."""
    if len(parent) <= _LONGEST - len(suffix):
        return parent + suffix
    if _HEAD - len(suffix) <= 0:
        found = parent[:_HEAD] + _hash(parent + suffix)
        found += suffix[: max(_LONGEST - len(found), 0)]
        while found and not (found[-1].isascii() and found[-1].isalnum()):
            found = found[:-1]
        return found
    return parent[: _HEAD - len(suffix)] + _hash(parent) + suffix


def _hash(name: str) -> str:
    return hashlib.md5(name.encode(), usedforsecurity=False).hexdigest()


def _shutdown_timeout(pod: Value, pre_stop: int) -> int:
    grace = pod.fields.get("TerminationGracePeriodSeconds") if isinstance(pod, Struct) else None
    seconds = grace.to if isinstance(grace, Pointer) and isinstance(grace.to, int) else _GRACE
    return max(seconds - pre_stop - min(_LEFT, seconds), 0)


def _kv_transfer(spec: Value) -> str:
    """Return the flag for a KV cache in memory and on disks, escaped for JSON and for a shell."""
    if not isinstance(spec, Struct):
        return ""
    extra: dict[str, Any] = {"spec_name": "TieringOffloadingSpec", "cpu_bytes_to_use": spec.fields["CPU"]}
    if spec.fields["EvictionPolicy"]:
        extra["eviction_policy"] = spec.fields["EvictionPolicy"]
    tiers = [{"root_dir": f"/mnt/kv-cache-{at}", "type": "fs"} for at in spec.fields["Secondary"]]
    if tiers:
        extra["secondary_tiers"] = tiers
    whole = {"kv_connector": "OffloadingConnector", "kv_role": "kv_both", "kv_connector_extra_config": extra}
    written = json.dumps(whole, sort_keys=True, separators=(",", ":")).replace('"', '\\\\\\"')
    return f"--kv-transfer-config '{written}'"


def _whole(value: Value) -> int:
    return value if type(value) is int else 0


def _text(value: Value) -> str:
    return text(value)


OF_KSERVE: Final[Mapping[str, Function]] = {
    **FUNCTIONS,
    "ChildName": Function(child_name, (_text, _text)),
    "shutdownTimeout": Function(_shutdown_timeout, (any_value, _whole)),
    "kvTransferConfig": Function(_kv_transfer, (any_value,)),
}
"""The functions of KServe's templates."""


# --- the service by its names in Go -------------------------------------------------------------------


def data(metadata: Mapping[str, Any], spec: Mapping[str, Any], namespace: str, model_name: str) -> Struct:
    """Return the root of the templates of a service."""
    own = Struct(
        {
            "Name": text(metadata.get("name")),
            "Namespace": namespace,
            "Labels": mapping(metadata.get("labels")),
            "Annotations": mapping(metadata.get("annotations")),
        }
    )
    pool = child_name(text(metadata.get("name")), "-inference-pool")
    return Struct(
        {
            **own.fields,
            "ObjectMeta": own,
            "Spec": Struct(
                {
                    "Model": Struct(
                        {
                            "Name": Pointer(model_name),
                            "URI": text(mapping(spec.get("model")).get("uri")),
                        }
                    ),
                    "Prefill": Struct(_workload(mapping(spec["prefill"]))) if "prefill" in spec else None,
                    **_workload(spec),
                }
            ),
            "GlobalConfig": Struct(
                {
                    "SystemNamespace": SYSTEM,
                    "IngressGatewayName": GATEWAY,
                    "IngressGatewayNamespace": SYSTEM,
                    "EnableTLS": False,
                    "ModelBasedRoutingHeaderName": HEADER,
                    "InferencePoolNamespacedName": f"{namespace}/{pool}",
                }
            ),
        }
    )


def _workload(spec: Mapping[str, Any]) -> dict[str, Value]:
    return {
        "Replicas": _pointer(spec.get("replicas")),
        "Parallelism": _parallelism(spec.get("parallelism")),
        "Labels": mapping(spec.get("labels")),
        "Annotations": mapping(spec.get("annotations")),
        "Template": _pod(spec.get("template")),
        "Worker": _pod(spec.get("worker")),
        "KVCacheOffloading": _offloading(spec.get("kvCacheOffloading")),
    }


def _pointer(value: Any) -> Pointer | None:
    return Pointer(value) if isinstance(value, int | str) else None


def _parallelism(value: Any) -> Struct | None:
    if not isinstance(value, dict):
        return None
    names = {"Tensor": "tensor", "Pipeline": "pipeline", "Data": "data", "DataLocal": "dataLocal"}
    names["DataRPCPort"] = "dataRPCPort"
    sizes: dict[str, Value] = {name: _pointer(value.get(field)) for name, field in names.items()}
    return Struct({**sizes, "Expert": value.get("expert") is True})


def _pod(value: Any) -> Struct | None:
    if not isinstance(value, dict):
        return None
    grace = value.get("terminationGracePeriodSeconds")
    return Struct({"TerminationGracePeriodSeconds": _pointer(grace)})


def _offloading(value: Any) -> Struct | None:
    if not isinstance(value, dict):
        return None
    tiers = [at for at, one in enumerate(listed(value.get("secondary"))) if mapping(one).get("fileSystem")]
    size = parse(str(value.get("cpu", "")))
    policy = text(value.get("evictionPolicy"))
    return Struct({"CPU": int(size) if size else 0, "EvictionPolicy": policy, "Secondary": tiers})
