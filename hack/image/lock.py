"""requirements.lock, read: what the image installs, by which files, and who asks for it."""

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

ROOT: Final = Path(__file__).parents[2]
LOCK: Final = ROOT / "requirements.lock"
ENTRY: Final = re.compile(
    r"^(?P<name>[a-z0-9-]+)==(?P<version>[^ ;]+)(?: ; [^\\\n]*)? \\\n(?P<rest>(?:    .*\n)+)", re.MULTILINE
)
HASH: Final = re.compile(r"--hash=sha256:([0-9a-f]{64})")
ASKED_BY: Final = re.compile(r"^ +# +(?:via )?([a-z0-9-]+)", re.MULTILINE)
"""A name below `# via`; what follows `fusioninfer` says only where it is written."""
COMPILE: Final = (
    *("pip", "compile", "--quiet", "--universal", "--python-version=3.11", "--extra=fast"),
    *("--generate-hashes", "--no-emit-index-url", "--custom-compile-command=make generate NAME=lock"),
)


@dataclass(frozen=True, slots=True)
class Locked:
    """One row: a distribution, its version, the digests of its files, and whose dependency it is."""

    name: str
    version: str
    hashes: tuple[str, ...]
    via: tuple[str, ...]


def locked(text: str) -> Iterator[Locked]:
    """Read every row."""
    for found in ENTRY.finditer(text):
        rest = found["rest"]
        via = tuple(name for name in ASKED_BY.findall(rest) if name != "via")
        yield Locked(found["name"], found["version"], tuple(HASH.findall(rest)), via)


def texts() -> Mapping[str, str]:
    """Return the file with the newest versions of what pyproject.toml asks for."""
    with TemporaryDirectory() as folder:
        install = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", folder, "uv")
        subprocess.run((sys.executable, *install), check=True)
        compiled = (Path(folder) / "bin" / "uv", *COMPILE, "pyproject.toml")
        done = subprocess.run(compiled, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return {LOCK.name: done.stdout}
