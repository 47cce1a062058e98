"""Image references: their parts, and the facts about an image (`catalog.engines`)."""

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final, NamedTuple

from catalog.engines import (
    ENGINES,
    LATEST,
    NAMES_EXECUTOR,
    NATIVE_DATA,
    NEWEST,
    NNODES,
    NNODES_DATA,
    NNODES_SPAN,
    NO_RAY,
    SYMMETRIC_RUN,
    UNKNOWN_RAY,
    Engines,
    Entrypoint,
    Ray,
    Stock,
    Version,
    has,
    holds,
    shown,
)

_VERSION: Final = re.compile(
    r"(?:[\w.-]*vllm_?)?v?([0-9]{1,4})\.([0-9]{1,4})\.([0-9]{1,4})(?:\.([0-9]{1,4}))?(?:\.?post[0-9]{1,4}|(?P<rc>\.?rc[0-9]{1,4}))?(?:[-_][\w.-]*)?"
)


@dataclass(frozen=True, slots=True)
class Image:
    """The parts of a reference such as `registry:5000/vllm/vllm-openai:v0.11.0@sha256:…`."""

    repository: str = ""
    tag: str = ""
    digest: str = ""
    version: Version = ()
    """The engine's version; empty if the tag does not contain it."""
    engine: str = ""
    """The engine in the image; empty if the repository is not known."""
    least: Version = ()
    """The least version that the engine may have, if it is not known."""
    starts: bool = True
    """Whether its entrypoint starts the engine."""

    @property
    def is_vllm(self) -> bool:
        """Return whether it has the entrypoint of `vllm/vllm-openai`, or of a mirror with the same name."""
        return self.engine == "vllm" and self.starts

    def __str__(self) -> str:
        """Format a short name with the version: `vllm-openai v0.11.0`."""
        version = f"v{shown(self.version)}" if self.version else "of unknown version"
        return f"{self.repository.rpartition('/')[2][-30:]} {version}"


class ImageFacts(NamedTuple):
    """The facts about one image."""

    entrypoint: Entrypoint
    ray: Ray
    names_executor: bool
    """Whether Ray must be selected with `--distributed-executor-backend`."""
    nnodes: bool = True
    """Whether vLLM has `--nnodes`."""
    native_data: bool = True
    """Whether vLLM has flags for data parallelism over nodes."""
    nnodes_data: bool = True
    """Whether vLLM's `--nnodes` works with data parallelism, whatever the model."""
    nnodes_span: bool = True
    """Whether vLLM's `--nnodes` works where the ranks of one engine span pods."""
    has_ray: bool | None = None
    """Whether the image contains Ray; None if that is not known."""
    symmetric_run: bool | None = None
    """Whether `ray symmetric-run` works across nodes; None if the version of Ray is not known."""


LONGEST: Final = 512
"""A longer reference is not valid: a repository has at most 255 characters, a tag 128, a digest less
(`distribution/reference`)."""
UNKNOWN: Final = Image()
_TRAITS: Final = (NAMES_EXECUTOR, NNODES, NATIVE_DATA, NNODES_DATA, NNODES_SPAN)
"""In the order of the fields of `ImageFacts`."""


def read_image(reference: str, engines: Engines = ENGINES) -> Image:
    """Parse an image reference; the version of an image without a row stays unknown."""
    return _read_image(reference, engines) if len(reference) <= LONGEST else UNKNOWN


@lru_cache(maxsize=256)
def _read_image(reference: str, engines: Engines) -> Image:
    name, _, digest = reference.partition("@")
    repository, colon, tag = name.rpartition(":")
    if not colon or "/" in tag:
        repository, tag = name, ""
    image = Image(repository, tag, digest)
    row = next((row for row in engines.images if _names(row, image)), None)
    if row is None:
        return image
    starts = row.entrypoint != "none"
    version = row.version or _version(tag, candidates=not starts)
    return Image(repository, tag, digest, version, row.engine, row.least, starts)


def _names(row: Stock, image: Image) -> bool:
    """Return whether a row covers a repository and tag; without tag and digest, `latest` is pulled."""
    name = image.repository if "/" in row.repository else image.repository.rpartition("/")[2]
    tag = image.tag or ("" if image.digest else "latest")
    return fnmatchcase(name, row.repository) and fnmatchcase(tag, row.tag)


def _version(tag: str, *, candidates: bool) -> Version:
    """Return the release in a tag; a candidate counts as its release where a vendor names it so."""
    match = _VERSION.fullmatch(tag)
    is_release = match and (candidates or not match["rc"])
    return tuple(int(part) for part in match.groups()[:4] if part) if match and is_release else ()


@lru_cache(maxsize=256)
def facts(image: Image, engines: Engines = ENGINES) -> ImageFacts:
    """Return the facts about an image; an unknown version has those of the newest one."""
    row = next((row for row in engines.images if _describes(row, image)), None)
    entrypoint: Entrypoint = "vllm serve" if image.is_vllm else ""
    version = image.version or LATEST
    traits = [has(engines, "vllm", name, version) for name in _TRAITS]
    ray = row.ray if row else UNKNOWN_RAY
    has_ray = None if ray == UNKNOWN_RAY else ray != NO_RAY
    runs = False if ray.highest < SYMMETRIC_RUN else ray.lowest >= SYMMETRIC_RUN or None
    image_facts = ImageFacts((row and row.entrypoint) or entrypoint, ray, *traits)
    return image_facts._replace(has_ray=has_ray, symmetric_run=runs)


def _describes(row: Stock, image: Image) -> bool:
    """Return whether a row covers an image; a row for some versions never covers an unknown version."""
    is_bounded = bool(row.since) or row.below != NEWEST
    if not _names(row, image) or (is_bounded and not image.version):
        return False
    return not is_bounded or holds(row.since, row.below, image.version)
