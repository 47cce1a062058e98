"""What a container asks for: which resources are accelerators, how many, and what Ray calls GPU."""

from itertools import islice
from typing import Any, Final

from intent import Object
from intent.errors import FieldError
from intent.lws import Accelerators
from intent.quantity import whole

GPUS: Final = ("nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/xe", "gpu.intel.com/i915")
"""vLLM asks Ray for these as `GPU` (vLLM `vllm/platforms/*.py`, `ray_device_key`)."""

OTHERS: Final = ("habana.ai/gaudi", "google.com/tpu", "huawei.com/Ascend910", "nvidia.com/mig-")
"""Ray finds these itself, under other names."""


MOST: Final = 16
"""So many accelerators of one container are looked at; no node has as many kinds."""


def is_accelerator(resource: str) -> bool:
    """Whether a resource of a container is an accelerator."""
    return resource in GPUS or resource.startswith(OTHERS) or resource.endswith(".shared")


def is_extended(resource: str) -> bool:
    """Whether a resource is one that a device plugin offers (Kubernetes "Extended Resources")."""
    domain, slash, _ = resource.partition("/")
    return bool(slash) and domain != "kubernetes.io" and not domain.endswith(".kubernetes.io")


def unknown(resources: Any) -> tuple[str, ...]:
    """Name the extended resources of `resources` that are not known as accelerators, and may be some."""
    if not isinstance(resources, dict):
        return ()
    tables = (resources.get(kind) for kind in ("limits", "requests"))
    named = {name for table in tables if isinstance(table, dict) for name in table if whole(table[name]) != 0}
    return tuple(sorted(name for name in named if is_extended(name) and not is_accelerator(name)))


def read(resources: Any, path: str, errors: list[FieldError]) -> Accelerators:
    """Read `resources` of a container: limits first, requests where there is no limit."""
    if not isinstance(resources, dict):
        return Accelerators()
    for kind in ("limits", "requests"):
        found = _first(resources.get(kind), f"{path}.{kind}", errors)
        if found.count:
            return found
    return Accelerators(claimed=bool(resources.get("claims")))


def asks(container: Object) -> bool:
    """Whether a container asks for an accelerator, in numbers or by a claim."""
    resources = container.get("resources")
    return isinstance(resources, dict) and (bool(resources.get("claims")) or counts(container))


def counts(container: Object) -> bool:
    """Whether a container asks for an accelerator in numbers; a claim (DRA) may be of any device."""
    resources = container.get("resources")
    if not isinstance(resources, dict):
        return False
    named = (resources.get(kind) for kind in ("limits", "requests"))
    return any(is_accelerator(name) for table in named if isinstance(table, dict) for name in table)


def _first(table: Any, path: str, errors: list[FieldError]) -> Accelerators:
    named = (name for name in table if is_accelerator(name)) if isinstance(table, dict) else ()
    for name in islice(named, MOST):
        amount = table[name]
        count = whole(amount)
        if count is None:
            errors.append(FieldError(f"{path}[{name}]", amount, "must be a whole number", "FI108"))
        elif count:
            return Accelerators(name, count)
    return Accelerators()
