"""A stand-in for the image `python:…-slim`, of files that are here: this Python, and the libraries it needs.

Like that image it has no tests of the standard library, nothing compiled, pip, and its Python in /usr/local.
"""

import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path
from typing import Final

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
