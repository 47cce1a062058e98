"""Which of the built binaries an image holds, and what ours runs."""

import sys
from pathlib import Path
from typing import Final

from tests.cluster.testbed.build import Built

OURS: Final = "fusioninfer"
ENTRYPOINT: Final = (sys.executable, "-m", "fusioninfer")
"""As in the Dockerfile."""
CHECKOUT: Final = {"PYTHONPATH": str(Path(__file__).parents[3])}
"""The variables with which it finds this checkout."""

IMAGES: Final = {
    "registry.k8s.io/gateway-api-inference-extension/epp": "gie-epp",
    "ghcr.io/llm-d/llm-d-inference-scheduler": "llm-d-epp",
    "ghcr.io/llm-d/llm-d-routing-sidecar": "pd-sidecar",
}
"""By the images' names; the tag is the release."""


class ImageUnknownError(Exception):
    """The testbed has no binary of this image."""


def binary_of(image: str) -> str:
    """Return the name of the binary that is an image's entrypoint."""
    name, _, tag = image.rpartition(":")
    if name not in IMAGES:
        raise ImageUnknownError(image)
    return f"{IMAGES[name]}-{tag.removeprefix('v')}"


def entrypoint(built: Built, image: str) -> tuple[str, ...]:
    """Return the words with which a container of an image begins."""
    if image.partition(":")[0] == OURS:
        return ENTRYPOINT
    return (str(built.binary(binary_of(image))),)
