"""Install the sources of a release of an engine from PyPI, once, with the packages that its parser needs."""

import subprocess
import venv
from pathlib import Path
from typing import Final, NamedTuple
from zipfile import ZipFile

from tests.cluster.testbed.build import cache_directory


class Release(NamedTuple):
    """A release of an engine; `catalog/flags.json` is made from it too."""

    engine: str
    version: str
    needed: tuple[str, ...]
    """The packages that its parser needs."""


VLLM: Final = Release("vllm", "0.20.2", ("pydantic", "pyyaml", "regex", "typing_extensions"))
SGLANG: Final = Release("sglang", "0.5.6", ("orjson", "typing_extensions"))
SGLANG_NOW: Final = Release("sglang", "0.5.23", ("msgspec", "orjson", "typing_extensions"))
"""The newest one, whose flags are fields of several classes."""
_ANY_PYTHON: Final = ("--python-version", "3.11", "--platform", "manylinux_2_34_x86_64", "--platform", "any")
"""Wheels with compiled parts are for one Python; only sources are read."""
_WHEEL: Final = ("--only-binary", ":all:")


def python(release: Release) -> Path:
    """Return the Python of an environment that has the sources; a wheel of 250 MB is not kept."""
    name = f"{release.engine}-{release.version}"
    folder = cache_directory().parent / name
    program, done = folder / "bin" / "python", folder / "installed"
    if not done.exists():
        venv.create(folder, with_pip=True, clear=True)
        pip = (str(program), "-m", "pip", "--quiet", "--disable-pip-version-check")
        subprocess.run([*pip, "install", *_WHEEL, *release.needed], check=True)
        wheel = (*_WHEEL, *_ANY_PYTHON, "--no-deps", "--dest", str(folder))
        subprocess.run([*pip, "download", *wheel, f"{release.engine}=={release.version}"], check=True)
        _unpack(folder, name)
        done.touch()
    return program


def _unpack(folder: Path, name: str) -> None:
    """Put the modules of the wheel beside the installed packages, without what is compiled."""
    (packages,) = folder.glob("lib/python*/site-packages")
    (file,) = folder.glob(f"{name}*.whl")
    with ZipFile(file) as wheel:
        wheel.extractall(packages, [one for one in wheel.namelist() if one.endswith(".py")])
    file.unlink()
