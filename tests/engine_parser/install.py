"""Install the sources of one release of vLLM from PyPI, once, with the few packages that its parser needs."""

import subprocess
import sys
import venv
from pathlib import Path
from typing import Final
from zipfile import ZipFile

from tests.cluster.testbed.build import cache_directory

RELEASE: Final = "0.20.2"
"""That of the examples' images, and one that `catalog/flags.json` is made from."""
NEEDED: Final = ("pydantic", "pyyaml", "regex", "typing_extensions")


def python() -> Path:
    """Return the Python of an environment that has the sources; the wheel of 250 MB is not kept."""
    folder = cache_directory().parent / f"vllm-{RELEASE}"
    program, done = folder / "bin" / "python", folder / "installed"
    if not done.exists():
        venv.create(folder, with_pip=True, clear=True)
        pip = (str(program), "-m", "pip", "--quiet", "--disable-pip-version-check")
        only = ("--only-binary", ":all:")
        subprocess.run([*pip, "install", *only, *NEEDED], check=True)
        subprocess.run(
            [*pip, "download", *only, "--no-deps", "--dest", str(folder), f"vllm=={RELEASE}"], check=True
        )
        _unpack(folder)
        done.touch()
    return program


def _unpack(folder: Path) -> None:
    """Put the modules of the wheel beside the installed packages, without what is compiled."""
    (packages,) = folder.glob("lib/python*/site-packages")
    (file,) = folder.glob("vllm-*.whl")
    with ZipFile(file) as wheel:
        wheel.extractall(packages, [name for name in wheel.namelist() if name.endswith(".py")])
    file.unlink()


if __name__ == "__main__":
    sys.stdout.write(f"{python()}\n")
