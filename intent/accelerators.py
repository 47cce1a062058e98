"""The accelerators that a container requests: their resource, their number, and what Ray counts as GPU."""

from itertools import islice
from typing import Any, Final

from intent import Object
from intent.errors import FieldError
from intent.lws import Accelerators
from intent.shapes import mapping, whole

GPUS: Final = ("nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/xe", "gpu.intel.com/i915")
"""vLLM asks Ray for these as `GPU` (vLLM `vllm/platforms/*.py`, `ray_device_key`)."""

OTHERS: Final = (
    *("habana.ai/gaudi", "google.com/tpu", "nvidia.com/mig-", "huawei.com/Ascend", "huawei.com/ascend-"),
    *("cambricon.com/mlu", "metax-tech.com/gpu"),
)
"""Ray detects these itself, under other names. Sources: the device plugins of Ascend, of Huawei Cloud
(`huawei.com/ascend-1980`), Cambricon and MetaX."""
TPU: Final = "google.com/tpu"
DEVICE_CLASS: Final = "deviceclass.resource.kubernetes.io/"
"""Beginning of a resource that is a claim of devices of the class behind it, since Kubernetes 1.34
(`k8s.io/api/resource/v1/types.go`, `ResourceDeviceClassPrefix`)."""


MOST: Final = 16
"""The most accelerator resources read of one container; no node has as many kinds."""


def is_accelerator(resource: str) -> bool:
    """Return whether a resource of a container is an accelerator."""
    return resource in GPUS or resource.startswith(OTHERS) or resource.endswith(".shared")


def is_extended(resource: str) -> bool:
    """Return whether a resource is an extended resource, offered by a device plugin."""
    domain, slash, _ = resource.partition("/")
    return bool(slash) and domain != "kubernetes.io" and not domain.endswith(".kubernetes.io")


def unknown(*tables: Object) -> tuple[str, ...]:
    """Return the extended resources of limits and requests that are not known to be accelerators."""
    others = [(table, name) for table in tables for name in table if not is_accelerator(name)]
    devices = (pair for pair in others if is_extended(pair[1]) or pair[1].startswith(DEVICE_CLASS))
    return tuple(sorted({name for table, name in devices if whole(table[name]) != 0}))


def read(resources: Any, path: str, errors: list[FieldError]) -> Accelerators:
    """Read `resources` of a container: limits, or requests if there is no limit."""
    if not isinstance(resources, dict):
        return Accelerators()
    for kind in ("limits", "requests"):
        table = mapping(resources.get(kind))
        for name in islice(filter(is_accelerator, table), MOST):
            count = whole(table[name])
            if count:
                return Accelerators(name, count)
            if count is None:
                where = f"{path}.{kind}[{name}]"
                errors.append(FieldError(where, table[name], "must be a whole number", "FI108"))
    return Accelerators(claimed=bool(resources.get("claims")))


def asks(container: Object, *, by_claim: bool = True) -> bool:
    """Return whether a container requests an accelerator by number or, `by_claim`, a device of any kind."""
    resources = mapping(container.get("resources"))
    if by_claim and resources.get("claims"):
        return True
    tables = [mapping(resources.get(kind)) for kind in ("limits", "requests")]
    return any(is_accelerator(name) for table in tables for name in table)
