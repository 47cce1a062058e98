"""What the Go templates in a service and its bases refer to: its fields by their names in Go, and functions.

Source: kserve `pkg/controller/v1alpha2/llmisvc/config_merge.go` v0.20.0, `ReplaceVariables`; `ChildName` of
knative.dev/pkg `kmeta/names.go`. Templates see the service as its author wrote it, without its bases.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

from importer.gotemplate import FUNCTIONS, Function, Pointer, Struct, Value
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
        name = parent[:_HEAD] + _hash(parent + suffix)
        name += suffix[: max(_LONGEST - len(name), 0)]
        while name and not (name[-1].isascii() and name[-1].isalnum()):
            name = name[:-1]
        return name
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


OF_KSERVE: Final[Mapping[str, Function]] = {
    **FUNCTIONS,
    "ChildName": child_name,
    "shutdownTimeout": _shutdown_timeout,
    "kvTransferConfig": _kv_transfer,
}
"""The functions of KServe's templates."""


# --- the service by its names in Go -------------------------------------------------------------------


def _pointer(value: Any) -> Pointer | None:
    return Pointer(value) if isinstance(value, int | str) else None


def _tiers(value: Any) -> list[int]:
    """Return the numbers of the tiers of a KV cache that are file systems."""
    return [number for number, tier in enumerate(listed(value)) if mapping(tier).get("fileSystem")]


def _bytes(value: Any) -> int:
    return int(parse(str(value or "")) or 0)


_SIZES: Final = dict.fromkeys(("Tensor", "Pipeline", "Data", "DataLocal", "DataRPCPort"), _pointer)
_POD: Final = {"TerminationGracePeriodSeconds": _pointer}
_WORKLOAD: Final[Mapping[str, Any]] = {
    "Replicas": _pointer,
    "Parallelism": {**_SIZES, "Expert": lambda value: value is True},
    "Labels": mapping,
    "Annotations": mapping,
    "Template": _POD,
    "Worker": _POD,
    "KVCacheOffloading": {"CPU": _bytes, "EvictionPolicy": text, "Secondary": _tiers},
}
"""The fields of a workload by their names in Go: what reads their values, or the fields of a struct."""
_NAMES: Final = {"KVCacheOffloading": "kvCacheOffloading", "CPU": "cpu"}
"""The names of fields in JSON, where more than the first letter differs."""


def _struct(fields: Mapping[str, Any], value: Any) -> Struct | None:
    """Return a struct with fields; None if the value is none."""
    if not isinstance(value, dict):
        return None
    values = {name: value.get(_NAMES.get(name, name[:1].lower() + name[1:])) for name in fields}
    return Struct(
        {
            name: kind(values[name]) if callable(kind) else _struct(kind, values[name])
            for name, kind in fields.items()
        }
    )


def data(metadata: Mapping[str, Any], spec: Mapping[str, Any], namespace: str, model_name: str) -> Struct:
    """Return the root of the templates of a service."""
    name = text(metadata.get("name"))
    own = {
        "Name": name,
        "Namespace": namespace,
        "Labels": mapping(metadata.get("labels")),
        "Annotations": mapping(metadata.get("annotations")),
    }
    settings = {
        "SystemNamespace": SYSTEM,
        "IngressGatewayName": GATEWAY,
        "IngressGatewayNamespace": SYSTEM,
        "EnableTLS": False,
        "ModelBasedRoutingHeaderName": HEADER,
        "InferencePoolNamespacedName": f"{namespace}/{child_name(name, '-inference-pool')}",
    }
    workload = _struct({**_WORKLOAD, "Prefill": _WORKLOAD}, spec)
    model = Struct({"Name": Pointer(model_name), "URI": text(mapping(spec.get("model")).get("uri"))})
    return Struct(
        {
            **own,
            "ObjectMeta": Struct(own),
            "Spec": Struct({"Model": model, **(workload.fields if workload else {})}),
            "GlobalConfig": Struct(settings),
        }
    )
