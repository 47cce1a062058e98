"""Amounts of resources, as whole thousandths: `500m` of CPU is 500, one GPU is 1000."""

from collections import Counter
from collections.abc import Mapping
from decimal import ROUND_CEILING
from typing import Any, Final

from intent.accelerators import is_accelerator
from intent.shapes import mapping, quantity


class PlanError(ValueError):
    """Raised if nodes cannot be read, or more pods than are planned are asked for; the message says it."""


Amounts = Counter[str]
"""Thousandths of each resource: `+` is the sum, `|` the larger amount of each."""

UNIT: Final = 1000
CPU: Final = "cpu"
MEMORY: Final = "memory"
PODS: Final = "pods"
UNLIMITED: Final = 10**30
"""Stands for a resource of which a node has as much as anybody asks for, since it was not given."""
CLASSES: Final = ("gpu.nvidia.com", "gpu.amd.com", "gpu.intel.com", "gaudi.intel.com", "tpu.google.com")
"""The device classes (DRA) of whole accelerators, by the names that their drivers install."""


def amounts(table: Any) -> Amounts:
    """Read a table of quantities; those that are not valid, or negative, are left out."""
    numbers = {name: quantity(value) for name, value in mapping(table).items()}
    return Amounts(
        {
            name: int((number * UNIT).to_integral_value(ROUND_CEILING))
            for name, number in numbers.items()
            if number is not None and number >= 0
        }
    )


def is_device(name: str) -> bool:
    """Return whether a resource is an accelerator, or a device class of accelerators."""
    return is_accelerator(name) or name in CLASSES


def accelerators(table: Mapping[str, int]) -> int:
    """Return how many accelerators a table has, of all resources together."""
    return sum(amount for name, amount in table.items() if is_device(name)) // UNIT


def shown(name: str, amount: int) -> str:
    """Return an amount with its resource, for messages: `8 nvidia.com/gpu`, `500m cpu`, `2Gi memory`."""
    if name == MEMORY:
        return f"{amount / UNIT / 2**30:.4g}Gi {name}"
    return f"{amount // UNIT} {name}" if amount % UNIT == 0 else f"{amount}m {name}"
