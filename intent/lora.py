"""The value of the annotation `lora`: adapters as `name=uri`, and limits, as in `sql=hf://org/sql,maxRank=64`.

A name is the `model` of requests for the adapter. Its files are at a path made of the name, whatever the URI.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from intent.model import DOWNLOADED, Uri, read_uri

ADAPTERS: Final = "/mnt/lora"
"""Below it each adapter has a directory of its own: KServe's path."""
DOWNLOADS: Final = "fusioninfer-lora"
"""The volume of all adapters that are downloaded; the others have volumes of their own, which begin so."""
INITIALIZER: Final = "lora-initializer"
"""The first part of the names of the init containers that download adapters."""
LIMITS: Final = {"maxRank": "max_rank", "maxAdapters": "max_adapters", "maxCpuAdapters": "max_cpu_adapters"}
"""The names of limits, with their fields. They are KServe's (`spec.model.lora`)."""
EXAMPLE: Final = "sql=hf://org/sql-adapter"
SCHEMES: Final = ("hf", "s3", "gs", "https", "pvc", "oci")
"""Those of models without `pvc+hf`: one pod has one cache."""
LONGEST_NAME: Final = 46
"""Characters, so that volumes and init containers have names of at most 63."""
MOST: Final = 64
"""The most adapters of one service."""
LONGEST: Final = 16_384
"""Characters of the whole value."""
SHOWN: Final = 4
"""The most faults in one message."""
_NAME: Final = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_./]*[A-Za-z0-9])?")
_NUMBER: Final = re.compile(r"[1-9][0-9]{0,3}")


@dataclass(frozen=True, slots=True)
class Adapter:
    """One LoRA adapter."""

    name: str
    uri: Uri

    @property
    def label(self) -> str:
        """The name as a DNS label, for its directory, its volume and its InferenceObjective."""
        return label_of(self.name)

    @property
    def mount(self) -> str:
        """Where its files are mounted in the engine."""
        return f"{ADAPTERS}/{self.label}"

    @property
    def path(self) -> str:
        """The directory of its files in the engine; `oci` has them in a directory of the image."""
        inside = self.uri.path if self.uri.scheme == "oci" else ""
        return f"{self.mount}/{inside}" if inside else self.mount

    def is_downloaded(self, *, by_engine: bool) -> bool:
        """Return whether an init container downloads it. No engine reads a revision, or other schemes.

        `by_engine`: whether the engine of this pod downloads from Hugging Face itself.
        """
        if self.uri.scheme == "hf":
            return bool(self.uri.revision) or not by_engine
        return self.uri.scheme in DOWNLOADED

    def argument(self, *, by_engine: bool) -> str:
        """Return what the engine loads: the name of a repository, or a path."""
        is_fetched = self.uri.scheme == "hf" and not self.is_downloaded(by_engine=by_engine)
        return self.uri.repository if is_fetched else self.path


@dataclass(frozen=True, slots=True)
class Lora:
    """The adapters of a service, and limits; 0 where none is given."""

    adapters: tuple[Adapter, ...] = ()
    max_rank: int = 0
    """The highest rank of an adapter."""
    max_adapters: int = 0
    """Adapters that one batch may use, which are kept on the accelerators."""
    max_cpu_adapters: int = 0
    """Adapters that are kept in memory."""
    faults: tuple[str, ...] = field(default=(), compare=False)
    """What is wrong with the value, and what would be right. What is valid is read all the same."""

    @property
    def use_secret(self) -> bool:
        """Whether an adapter is downloaded, for which the Secret of the model may be needed."""
        return any(adapter.uri.scheme not in {"pvc", "oci"} for adapter in self.adapters)


NO_LORA: Final = Lora()


def label_of(name: str) -> str:
    """Return the name of an adapter as a DNS label."""
    return re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")


@lru_cache(maxsize=256)
def read_lora(text: str) -> Lora:
    """Parse a value; several concerns ask for the same one."""
    if not text:
        return NO_LORA
    items = [item.strip() for item in text.split(",")]
    if len(text) > LONGEST or sum(item.partition("=")[0] not in LIMITS for item in items) > MOST:
        return Lora(faults=(f"must be at most {MOST} adapters, in {LONGEST} characters",))
    limits: dict[str, int] = {}
    adapters: list[Adapter] = []
    faults: list[str] = []
    for item in items:
        name, separator, value = item.partition("=")
        if name in LIMITS:
            faults.extend(_read_limit(name, value, limits))
        elif not separator:
            faults.append(f"{item[:80] or 'an empty item'} must be NAME=URI, as in {EXAMPLE}")
        else:
            faults.extend(_read_adapter(name, value, adapters))
    if 0 < limits.get("maxCpuAdapters", 0) < limits.get("maxAdapters", 0):
        faults.append(f"maxCpuAdapters must be at least {limits['maxAdapters']}, which is maxAdapters")
    if not adapters and not faults:
        faults.append(f"must have at least one adapter, as in {EXAMPLE}")
    most = {field: limits.get(name, 0) for name, field in LIMITS.items()}
    return Lora(tuple(adapters), **most, faults=tuple(faults))


def _read_limit(name: str, value: str, limits: dict[str, int]) -> Iterator[str]:
    """Read one limit into `limits`, or yield what is wrong with it."""
    if name in limits:
        yield f"{name} must be there once"
    elif not _NUMBER.fullmatch(value):
        yield f"{name} must be a whole number from 1 to 9999, not {value[:80] or 'empty'}"
    else:
        limits[name] = int(value)


def _read_adapter(name: str, value: str, adapters: list[Adapter]) -> Iterator[str]:
    """Read one adapter into `adapters`, or yield what is wrong with it."""
    uri, same = read_uri(value), next((other for other in adapters if other.label == label_of(name)), None)
    if len(name) > LONGEST_NAME or not _NAME.fullmatch(name):
        shown = name[:80] or "an adapter without a name"
        rule = f"must be at most {LONGEST_NAME} letters, digits, '-', '_', '.' or '/'"
        yield f"{shown}: a name {rule}, a letter or a digit at both ends"
    elif same:
        yield f"{name} and {same.name} have the same directory, {same.label}: rename one of them"
    elif isinstance(uri, str):
        yield f"{name}: the value {uri}"
    elif uri.scheme not in SCHEMES:
        yield (
            f"{name}: the URI must not be {uri.scheme}://: "
            f"use {', '.join(f'{scheme}://' for scheme in SCHEMES)}"
        )
    else:
        adapters.append(Adapter(name, uri))


def written(adapters: Iterable[tuple[str, str]], limits: Mapping[str, int]) -> str:
    """Return the value for adapters, by name and URI, and limits by their names."""
    items = (f"{name}={limits[name]}" for name in LIMITS if limits.get(name))
    return ",".join((*(f"{name}={uri}" for name, uri in adapters), *items))


def lora_fault(text: str) -> str:
    """Return the faults of a value of the annotation as one message; empty if there is none."""
    return "; ".join(read_lora(text).faults[:SHOWN]) if text else f"must have adapters, as in {EXAMPLE}"
