"""Programs of Debian packages, unpacked without being installed: no root, nothing of the machine changes.

apt keeps its lists in a folder of its own, so a machine that never ran `apt-get update` does too.
"""

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.cluster.testbed.toolchain import ModulesUnavailableError


def unpacked(cache: Path, name: str, packages: Sequence[str]) -> Path:
    """Return the folder that holds the files of packages, unpacked once; a folder is whole or absent."""
    folder = cache / f"debian-{name}"
    if not folder.exists():
        with tempfile.TemporaryDirectory(prefix="unfinished-debian-", dir=cache) as place:
            unfinished = Path(place)
            for file in _downloaded(unfinished, packages):
                _run(("dpkg-deb", "--extract", file, str(unfinished / "root")), unfinished)
            (unfinished / "root").rename(folder)
    return folder


def _downloaded(place: Path, packages: Sequence[str]) -> list[str]:
    """Download packages, of the release of Debian that this machine is."""
    if shutil.which("apt-get") is None:
        raise ModulesUnavailableError(f"no apt-get to download {', '.join(packages)}")
    for folder in ("state/lists/partial", "cache/archives/partial"):
        (place / folder).mkdir(parents=True)
    own = (f"Dir::State={place / 'state'}", f"Dir::Cache={place / 'cache'}", "APT::Sandbox::User=")
    apt = ("apt-get", "--quiet", *(word for option in own for word in ("--option", option)))
    _run((*apt, "update"), place)
    _run((*apt, "download", *packages), place)
    return [str(file) for file in place.glob("*.deb")]


def _run(command: Sequence[str], place: Path) -> None:
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ModulesUnavailableError(f"Debian packages can not be had: {done.stderr[-800:]}")
