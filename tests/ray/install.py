"""Install releases of Ray from PyPI, once, each into an environment of its own outside the tree."""

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TextIO

PINNED: Final = "click<8.2"
"""Later ones, such as 8.3, break the command line of older releases (ray-project/ray#56747)."""

WHOLE: Final = ".whole"
"""Written last: an environment without it was interrupted, and is made anew."""


class RayUnavailableError(Exception):
    """This machine can have no such release of Ray: nothing here can run."""


def cache_directory() -> Path:
    """Return where they are kept: `FUSIONINFER_RAY_CACHE`, else below the XDG cache folder."""
    own = os.environ.get("FUSIONINFER_RAY_CACHE")
    shared = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(own) if own else shared / "fusioninfer" / "ray"


def install(version: str, stream: TextIO) -> Path:
    """Return the `bin` of an environment with this release; what is missing is installed, and said."""
    cache = cache_directory()
    folder = cache / f"{version}-{sys.implementation.cache_tag}"
    with alone(cache):
        if not (folder / WHOLE).exists():
            _install(version, folder, stream)
    return folder / "bin"


@contextmanager
def alone(cache: Path) -> Iterator[None]:
    """Let one installation work in the cache at a time; the others wait."""
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _install(version: str, folder: Path, stream: TextIO) -> None:
    stream.write(f"installing ray {version}, once; about 80 MB\n")
    stream.flush()
    shutil.rmtree(folder, ignore_errors=True)
    run((sys.executable, "-m", "venv", str(folder)), stream, RayUnavailableError)
    pip = (str(folder / "bin" / "python"), "-m", "pip", "install", "--disable-pip-version-check")
    quiet = () if stream.isatty() else ("--quiet",)
    run((*pip, *quiet, "--only-binary", ":all:", f"ray=={version}", PINNED), stream, RayUnavailableError)
    (folder / WHOLE).touch()


def run(command: tuple[str, ...], stream: TextIO, error: type[Exception]) -> None:
    """Run a step; on a terminal pip shows its own bars, elsewhere only its errors are kept and raised."""
    shown = stream.fileno() if stream.isatty() else subprocess.DEVNULL
    done = subprocess.run(command, stdout=shown, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise error(f"{' '.join(command[-2:])}: {done.stderr[-500:]}")
