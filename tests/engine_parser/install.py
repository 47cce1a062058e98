"""Unpack the sources of a release of an engine that define flags and launches from its wheel, once."""

import subprocess
import venv
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from hack.wheels import CACHE, archive
from tests.cluster.testbed.build import cache_directory
from tests.engine_parser.inert import ENGINES

NEEDED: Final = ("msgspec", "orjson", "packaging", "pydantic", "pyyaml", "regex", "typing_extensions")
"""The packages that parsers need."""
READ: Final = ("v1/engine/core.py", "v1/executor/multiproc_executor.py")
"""Files that cannot run without PyTorch, whose text is read."""


class Release(NamedTuple):
    """A release of an engine."""

    engine: str
    version: str


VLLM: Final = Release("vllm", "0.20.2")
SGLANG: Final = Release("sglang", "0.5.6")
SGLANG_NOW: Final = Release("sglang", "0.5.23")
"""The newest one, whose flags are fields of several classes."""


@cache
def python() -> Path:
    """Return the Python of an environment that has the packages that parsers need."""
    folder = cache_directory().parent / "engine-parser"
    program, done = folder / "bin" / "python", folder / "installed"
    if not done.exists():
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([str(program), "-m", "pip", "-q", "install", *NEEDED], check=True)
        done.touch()
    return program


@cache
def sources(release: Release) -> Path:
    """Return the folder of the modules of a release that are imported or read."""
    folder, made = (CACHE / f"{release.engine}-{release.version}{end}" for end in ("", ".part"))
    if not folder.exists():
        own = ENGINES[release.engine]
        folders = [one.replace(".", "/") for one in own.packages]
        packages = {f"{one}{end}" for one in folders for end in (".py", "/__init__.py")}
        for one in folders:
            (made / one).mkdir(parents=True, exist_ok=True)
        modules = tuple(f"{one.replace('.', '/')}{end}" for one in own.modules for end in (".py", "/"))
        modules += tuple(f"{release.engine}/{one}" for one in READ)
        with archive(release.engine, tuple(map(int, release.version.split(".")))) as wheel:
            names = [one for one in wheel.namelist() if one.endswith(".py")]
            wheel.extractall(made, [one for one in names if one in packages or one.startswith(modules)])
        made.rename(folder)
    return folder
