"""An image reference taken apart, and what is known of the images `vllm/vllm-openai` by their tag.

Sources: the `Requires-Dist` and `docker/Dockerfile` of vLLM's releases; Ray's releases 2.48 to 2.60.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, NamedTuple

Version = tuple[int, ...]
Entrypoint = Literal["api_server", "vllm serve"]

_REPOSITORY: Final = "vllm-openai"
_VERSION: Final = re.compile(
    r"v?([0-9]{1,4})\.([0-9]{1,4})\.([0-9]{1,4})(?:\.([0-9]{1,4}))?(?:\.?post[0-9]{1,4})?(?:-[\w.-]*)?"
)


@dataclass(frozen=True, slots=True)
class Image:
    """A reference such as `registry:5000/vllm/vllm-openai:v0.11.0@sha256:…`, in parts."""

    repository: str = ""
    tag: str = ""
    digest: str = ""
    version: Version = ()
    """vLLM's version; empty where the tag does not tell it."""

    @property
    def is_vllm(self) -> bool:
        """Whether its entrypoint is that of `vllm/vllm-openai`, or of a copy under the same name."""
        return self.repository.rpartition("/")[2].startswith(_REPOSITORY)


class Facts(NamedTuple):
    """What is known of vLLM's images below one version."""

    below: Version
    entrypoint: Entrypoint
    """`api_server` ignores a positional model and serves its default (vllm-project/vllm#32292)."""
    ray: str
    """The Ray inside, as a person would say it; empty where there is none."""
    symmetric_run: bool
    """Whether `ray symmetric-run` works over several nodes (Ray 2.54, ray-project/ray#59795)."""
    names_executor: bool
    """Whether Ray must be named by `--distributed-executor-backend` (vllm-project/vllm#29447)."""


_NEWEST: Final = (9999,)
_BY_VERSION: Final = (
    Facts((0, 11, 1), "api_server", "Ray 2.49 or older", symmetric_run=False, names_executor=False),
    Facts((0, 17), "vllm serve", "Ray 2.51 to 2.53", symmetric_run=False, names_executor=True),
    Facts((0, 18), "vllm serve", "Ray 2.54", symmetric_run=True, names_executor=True),
    Facts(_NEWEST, "vllm serve", "", symmetric_run=False, names_executor=True),
)
_UNKNOWN: Final = Facts(_NEWEST, "vllm serve", "an unknown Ray", symmetric_run=False, names_executor=True)


@lru_cache(maxsize=256)
def read_image(reference: str) -> Image:
    """Take an image reference apart; of an image that is not vLLM's own the version stays unknown."""
    name, _, digest = reference.partition("@")
    repository, colon, tag = name.rpartition(":")
    if not colon or "/" in tag:
        repository, tag = name, ""
    image = Image(repository, tag, digest)
    return Image(repository, tag, digest, _version(tag)) if image.is_vllm else image


def _version(tag: str) -> Version:
    found = _VERSION.fullmatch(tag)
    return tuple(int(part) for part in found.groups() if part) if found else ()


def facts(image: Image) -> Facts:
    """What is known of the image; of a version that is not known, what is true of the newer ones."""
    if not image.version:
        return _UNKNOWN
    return next((row for row in _BY_VERSION if image.version < row.below), _UNKNOWN)
