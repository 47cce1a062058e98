"""Our image, built from the Dockerfile by buildah without a container engine, and run as a container runs.

buildah comes from Debian's packages; it finds its libraries and its configuration in a view of /usr and /etc
that only it has. A container has no network but its pod's, a root that it cannot write, and the image's user.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from hack.image.lock import ROOT
from tests.cluster.testbed.images import Program

# --- a stand-in for the image `python:…-slim` ---------------------------------------------------------
# It is made of files that are here: this Python, and the libraries it needs. Like that image it has no tests
# of the standard library, nothing compiled, pip, and its Python in /usr/local.

LEFT_OUT: Final = ("test", "tests", "idle_test", "site-packages", "__pycache__", "config-*")
PROGRAMS: Final = ("/bin/sh",)
FILES: Final = ("/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/ssl/certs/ca-certificates.crt")
FOLDERS: Final = ("tmp", "proc", "dev", "sys", "root")
USUAL: Final = (
    *("libgcc_s.so.1", "libstdc++.so.6", "libm.so.6", "libresolv.so.2"),
    *("libdl.so.2", "libpthread.so.0", "librt.so.1", "libutil.so.1"),
)
"""Libraries that the image has, and that wheels count on."""
LIBRARY: Final = re.compile(r"^\s+(?:\S+ => )?(/\S+) \(0x", re.MULTILINE)


def make_base(root: Path) -> None:
    """Fill the root of the image."""
    local = root / "usr" / "local"
    library = Path(sysconfig.get_path("stdlib"))
    to = local / "lib" / library.name
    shutil.copytree(library, to, ignore=shutil.ignore_patterns(*LEFT_OUT), symlinks=True)
    (local / "bin").mkdir()
    shutil.copy(Path(sys.executable).resolve(), local / "bin" / "python3")
    (local / "bin" / "python").symlink_to("python3")
    for name in FOLDERS:
        (root / name).mkdir()
    for name in (*PROGRAMS, *FILES):
        _copy(Path(name), root / name[1:])
    _copy_libraries(root, [local / "bin" / "python3", *to.rglob("*.so"), *map(Path, PROGRAMS)])
    pip = ("/usr/local/bin/python", "-m", "ensurepip")
    subprocess.run(("chroot", str(root), *pip), check=True, capture_output=True)


def _copy_libraries(root: Path, binaries: Iterable[Path]) -> None:
    """Copy what binaries are linked with; what lies where the loader does not look goes beside libc."""
    said = subprocess.run(("ldd", *map(str, binaries)), capture_output=True, text=True, check=False).stdout
    libraries = {Path(name) for name in LIBRARY.findall(said)}
    usual = next(library.parent for library in libraries if library.name.startswith("libc.so"))
    libraries |= {usual / name for name in USUAL}
    for library in libraries:
        is_python = library.is_relative_to(sys.base_prefix) and sys.base_prefix != "/usr"
        _copy(library, root / str(usual if is_python else library.parent)[1:] / library.name)


def _copy(file: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(file, to)


BASE: Final = "localhost/python"
TAG: Final = "localhost/fusioninfer"
PATH: Final = "/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin"
OF_PIP: Final = ("PIP_CERT", "PIP_INDEX_URL", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy")
"""Variables by which pip finds its index on this machine."""
OVERLAID: Final = ("/usr/bin", "/usr/lib", "/usr/share", "/etc")
VIEW: Final = """
for folder in $1; do
    mount -t overlay overlay -o "lowerdir=$0$folder:$folder" "$folder"
done
shift
exec "$@"
"""
CONTAINER: Final = """
mount --bind "$1" "$1"
mkdir -p "$1$2"
mount --bind "$2" "$1$2"
mount --rbind /dev "$1/dev"
mount -t proc proc "$1/proc"
mount -o remount,bind,ro "$1"
root=$1 user=$3
shift 3
exec setpriv --no-new-privs chroot --userspec="$user" "$root" "$@"
"""


@dataclass(frozen=True, slots=True)
class Image:
    """An image that was built: the folder of its root, and its configuration."""

    root: Path
    configuration: Mapping[str, Any]


def build_image(tools: Path, place: Path) -> Image:
    """Run the stages of the Dockerfile; the result lies in `place`."""
    _commit_base(tools, place)
    flags = ("--isolation=chroot", "--pull-never", f"--build-arg=PYTHON={BASE}", "--build-arg=REVISION=check")
    _buildah(tools, place, "build", *flags, f"--tag={TAG}", str(ROOT))
    container = _buildah(tools, place, "from", "--pull-never", TAG).strip()
    told = json.loads(_buildah(tools, place, "inspect", container))["OCIv1"]["config"]
    return Image(Path(_buildah(tools, place, "mount", container).strip()), told)


def _commit_base(tools: Path, place: Path) -> None:
    """Make the image from which the Dockerfile begins, with what pip needs on this machine."""
    make_base(place / "base")
    container = _buildah(tools, place, "from", "scratch").strip()
    _buildah(tools, place, "add", "--quiet", container, str(place / "base"), "/")
    wanted = {"PATH": PATH, **{name: os.environ[name] for name in OF_PIP if name in os.environ}}
    _buildah(tools, place, "config", *(f"--env={name}={value}" for name, value in wanted.items()), container)
    _buildah(tools, place, "commit", "--quiet", container, BASE)


def in_container(image: Image, shared: Path) -> Program:
    """Return what a container of the image begins with; it sees a folder of ours where it lies."""
    return Program((*outside(image, shared), *image.configuration["Entrypoint"]), variables(image))


def outside(image: Image, shared: Path) -> tuple[str, ...]:
    """Return the words that make a container, and become what stands behind them in it."""
    words = (str(image.root), str(shared), image.configuration["User"])
    return ("unshare", "--mount", "sh", "-ec", CONTAINER, "sh", *words)


def variables(image: Image) -> dict[str, str]:
    """Return the variables of the image."""
    return dict(each.split("=", 1) for each in image.configuration["Env"])


def _buildah(tools: Path, place: Path, *words: str) -> str:
    """Run buildah with a store of its own; raise CalledProcessError with what it said."""
    store = (f"--root={place / 'store'}", f"--runroot={place / 'run'}", "--storage-driver=vfs")
    view = ("unshare", "--mount", "sh", "-ec", VIEW, str(tools), " ".join(OVERLAID))
    done = subprocess.run((*view, "buildah", *store, *words), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"buildah {words[0]}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout
