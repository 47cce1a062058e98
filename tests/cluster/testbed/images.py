"""Which of the built binaries an image holds."""

from typing import Final

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
