"""Which of the built binaries an image holds, and what ours runs."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from catalog.pickers.generations import PICKERS
from tests.cluster.testbed.build import Built


@dataclass(frozen=True, slots=True)
class Program:
    """What a container begins with, and the variables of its image."""

    begins: tuple[str, ...]
    variables: Mapping[str, str] = field(default_factory=dict)


OURS: Final = "fusioninfer"
CHECKOUT: Final = Program(
    (sys.executable, "-m", "fusioninfer"), {"PYTHONPATH": str(Path(__file__).parents[3])}
)
"""As in the Dockerfile, but with this checkout."""

IMAGES: Final = {
    "registry.k8s.io/gateway-api-inference-extension/epp": "gie-epp",
    "ghcr.io/llm-d/llm-d-inference-scheduler": "llm-d-epp",
    "ghcr.io/llm-d/llm-d-routing-sidecar": "pd-sidecar",
}
"""By the images' names; the tag is the release."""
BUILT: Final = {name: row for name, row in PICKERS.items() if row.tested}
"""The generations of endpoint pickers that the testbed has; the others are by their sources."""


ON_THIS_MACHINE: Final = ("python:",)
"""Images whose programs this machine has too: their containers run their commands as written."""


class ImageUnknownError(Exception):
    """The testbed has no binary of this image."""


def binary_of(image: str) -> str:
    """Return the name of the binary that is an image's entrypoint."""
    name, _, tag = image.rpartition(":")
    if name not in IMAGES:
        raise ImageUnknownError(image)
    return f"{IMAGES[name]}-{tag.removeprefix('v')}"


def program(built: Built, image: str) -> Program:
    """Return what a container of an image runs."""
    if image.partition(":")[0] == OURS:
        return CHECKOUT
    if image.startswith(ON_THIS_MACHINE):
        return Program(())
    return Program((str(built.binary(binary_of(image))),))
