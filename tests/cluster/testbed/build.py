"""Build the components from their go.mod files, once; what was built is kept outside the tree.

An entry of the cache is named by a digest of go.mod, go.sum, a program of ours beside them, and the module's
row; it holds the binaries and the files of the module's source that the testbed installs, so starting needs
no Go.
"""

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tests.cluster.testbed.modules import (
    CERTIFICATE_MODULES,
    CHART_MODULES,
    EARLIER_CHART_MODULES,
    GITOPS_MODULES,
    LATER_MODULES,
    MERGE_MODULES,
    MERGO_MODULES,
    MODULES,
    ORACLE_MODULES,
    POLICY_MODULES,
    ROUTE_MODULES,
    SCHEDULER_MODULES,
    STORAGE_MODULES,
    TEMPLATE_MODULES,
    Cut,
    Module,
)
from tests.cluster.testbed.toolchain import ModulesUnavailableError, find_envoy, find_go, go_environment

# --- progress -----------------------------------------------------------------------------------------
# A bar for each module on a terminal, plain lines elsewhere.

OnProgress = Callable[[str, int, int], None]
"""Called with a module's name, how many of its packages are compiled, and of how many."""

LINE_EVERY: Final = 500


@contextmanager
def build_progress(names: Sequence[str], stream: TextIO) -> Iterator[OnProgress]:
    """Show the modules that are still to be built. Where several processes have one terminal, bars clash."""
    if not stream.isatty() or "PYTEST_XDIST_WORKER" in os.environ:
        yield _lines(names, stream)
        return
    columns = (
        TextColumn("building {task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(file=stream)) as bars:
        yield _bars(names, bars)


def _bars(names: Sequence[str], bars: Progress) -> OnProgress:
    tasks = {name: bars.add_task(name, total=None, start=False) for name in names}

    def show(name: str, done: int, total: int) -> None:
        bars.start_task(tasks[name])
        bars.update(tasks[name], completed=done, total=total)

    return show


def _lines(names: Sequence[str], stream: TextIO) -> OnProgress:
    def show(name: str, done: int, total: int) -> None:
        if done % LINE_EVERY == 0 or done == total:
            left = ", ".join(names[names.index(name) + 1 :]) or "nothing"
            stream.write(f"building {name}: {done} of {total} packages; then left: {left}\n")
            stream.flush()

    return show


# --- programs of Debian packages ----------------------------------------------------------------------
# They are unpacked without being installed: no root, nothing of the machine changes. apt keeps its lists in a
# folder of its own, so a machine that never ran `apt-get update` does too.


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


# --- a source with parts left out ---------------------------------------------------------------------


class CutMissedError(Exception):
    """There is nothing where a cut should be: the module's release has changed."""


def copy_cut(module: Module, source: Path, target: Path) -> None:
    """Copy the source of a module, without its cuts and its tests."""
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("*_test.go"), copy_function=shutil.copyfile)
    for folder in (target, *filter(Path.is_dir, target.rglob("*"))):
        folder.chmod(0o755)  # the module cache is read-only
    for cut in module.cuts:
        _apply(cut, target / cut.file)


def _apply(cut: Cut, file: Path) -> None:
    if not file.exists():
        raise CutMissedError(cut)
    if cut.word:
        _drop_lines(cut, file)
    elif file.is_dir():
        shutil.rmtree(file)
    else:
        file.unlink()


def _drop_lines(cut: Cut, file: Path) -> None:
    lines = file.read_text().splitlines(keepends=True)
    kept = [line for line in lines if cut.word not in line]
    if kept == lines:
        raise CutMissedError(cut)
    file.write_text("".join(kept))


BUILDAH: Final = (
    *("buildah", "golang-github-containers-common", "golang-github-containers-image"),
    *("libgpgme11", "libassuan0", "libgpg-error0"),
)
"""Its package and those that it cannot do without."""
KNOWN: Final = (
    *(*MODULES, *ROUTE_MODULES, *CHART_MODULES, *EARLIER_CHART_MODULES),
    *(*CERTIFICATE_MODULES, *POLICY_MODULES, *GITOPS_MODULES, *MERGE_MODULES, *MERGO_MODULES),
    *(*STORAGE_MODULES, *TEMPLATE_MODULES, *ORACLE_MODULES, *SCHEDULER_MODULES, *LATER_MODULES),
)
"""Everything that can be built."""
COMPONENTS: Final = Path(__file__).parent.parent / "components"
LOW: Final = ("nice", "-n", "10")
"""Tests that run meanwhile go first."""
FASTER: Final = ("-gcflags=all=-dwarf=false", "-ldflags=-s -w")
"""Nothing is kept for a debugger: a sixth less to compute."""


class BuildFailedError(Exception):
    """The modules are there, but do not compile."""


@dataclass(frozen=True, slots=True)
class Built:
    """The folder of each module by its name: `bin/` holds the binaries, `source/` files of the module."""

    folders: Mapping[str, Path]

    def binary(self, name: str) -> Path:
        """Return the path of a binary."""
        module = next(m for m in KNOWN if name in dict(m.packages))
        return self.folders[module.name] / "bin" / name

    def source(self, module: str, file: str) -> Path:
        """Return the path of a file, or a folder, of a module's source."""
        return self.folders[module] / "source" / file


def cache_directory() -> Path:
    """Return where binaries are kept: `FUSIONINFER_TESTBED_CACHE`, else below the XDG cache folder."""
    own = os.environ.get("FUSIONINFER_TESTBED_CACHE")
    shared = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(own) if own else shared / "fusioninfer" / "testbed"


def build(stream: TextIO, modules: Sequence[Module] = MODULES) -> Built:
    """Return the built components; build what the cache does not hold and show progress on the stream.

    Several processes may ask at once: each module is built by one of them, in the order that they name.
    """
    cache = cache_directory()
    cache.mkdir(parents=True, exist_ok=True)
    folders = {module.name: cache / f"{module.name}-{_digest(module)}" for module in modules}
    missing = [module for module in modules if not folders[module.name].exists()]
    if missing:
        _build_all(missing, folders, _go_itself(cache), stream)
    return Built(folders)


def source(name: str) -> Path:
    """Return the folder of a module's source, as Go keeps it."""
    cache = cache_directory()
    cache.mkdir(parents=True, exist_ok=True)
    module = next(one for one in KNOWN if one.name == name)
    downloaded = _go(COMPONENTS / name, _go_itself(cache), "mod", "download", "-json", module.path)
    return Path(json.loads(downloaded)["Dir"])


def envoy() -> Path:
    """Return the path of Envoy, installed into the cache once."""
    cache = cache_directory()
    cache.mkdir(parents=True, exist_ok=True)
    with _alone(cache, "envoy"):
        return find_envoy(cache)


def find_prometheus(name: str) -> Path:
    """Return the path of `prometheus` or `promtool`, unpacked into the cache once."""
    cache = cache_directory()
    cache.mkdir(parents=True, exist_ok=True)
    with _alone(cache, "prometheus"):
        return unpacked(cache, "prometheus", ("prometheus",)) / "usr" / "bin" / name


def find_buildah() -> Path:
    """Return the folder of buildah and what it needs, unpacked into the cache once."""
    cache = cache_directory()
    cache.mkdir(parents=True, exist_ok=True)
    with _alone(cache, "buildah"):
        return unpacked(cache, "buildah", BUILDAH)


def called(package: str) -> str:
    """Return what Go calls the binary of a package: its last word that is no version (`go help build`)."""
    *_, word, last = package.split("/")
    return word if re.fullmatch(r"v\d+", last) else last


def _digest(module: Module) -> str:
    parts = [file.read_bytes() for file in sorted((COMPONENTS / module.name).glob("*.*"))]
    what = repr(module).encode() + sysconfig.get_platform().encode()
    return hashlib.sha256(b"\0".join([what, *parts])).hexdigest()[:16]


@contextmanager
def _alone(cache: Path, what: str) -> Iterator[None]:
    """Let one process make an entry of the cache; the others wait."""
    with (cache / f"{what}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _go_itself(cache: Path) -> str:
    with _alone(cache, "go"):
        return find_go(cache)


def _build_all(missing: list[Module], folders: Mapping[str, Path], go: str, stream: TextIO) -> None:
    """Build one module after another; meanwhile the sources of the next are downloaded."""
    names = [module.name for module in missing if module.packages]
    with build_progress(names, stream) as progress, ThreadPoolExecutor(max_workers=1) as ahead:
        sources = [ahead.submit(_source, module, go) for module in missing]
        for module, source in zip(missing, sources, strict=True):
            folder = folders[module.name]
            with _alone(folder.parent, module.name):
                if not folder.exists():
                    _build_module(module, source.result(), folder, (go, progress))


def _source(module: Module, go: str) -> Path:
    """Download a module and what its binaries need; return the folder of its source.

    What only its cuts need may be missing.
    """
    place = COMPONENTS / module.name
    downloaded = _go(place, go, "mod", "download", "-json", module.path)
    if module.packages:
        _go(place, go, "list", "-e", "-deps", *dict(module.packages).values())
    return Path(json.loads(downloaded)["Dir"])


def _build_module(module: Module, source: Path, folder: Path, tools: tuple[str, OnProgress]) -> None:
    """Fill a folder beside its place, then move it there: an entry of the cache is whole or absent."""
    unfinished = Path(tempfile.mkdtemp(prefix=f"unfinished-{module.name}-", dir=folder.parent))
    try:
        if module.packages:
            with _workplace(module, source, tools[0]) as place:
                _build_binaries(module, place, unfinished / "bin", tools)
        _keep_files(module, source, unfinished / "source")
        unfinished.rename(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


@contextmanager
def _workplace(module: Module, source: Path, go: str) -> Iterator[Path]:
    """Return where to build: the folder of the go.mod, or a copy of it beside the source without its cuts."""
    own = COMPONENTS / module.name
    if not module.cuts:
        yield own
        return
    with tempfile.TemporaryDirectory(prefix=f"fusioninfer-{module.name}-") as name:
        place = Path(name)
        for file in ("go.mod", "go.sum"):
            shutil.copyfile(own / file, place / file)
        copy_cut(module, source, place / "source")
        _go(place, go, "mod", "edit", f"-replace={module.path}=./source")
        yield place


def _build_binaries(module: Module, place: Path, target: Path, tools: tuple[str, OnProgress]) -> None:
    """Build all binaries of a module at once: what they share is compiled once, and linking is not alone."""
    go, progress = tools
    packages = dict(module.packages)
    total = len(_go(place, go, "list", "-deps", *packages.values()).split())
    progress(module.name, 0, total)
    command = [*LOW, go, "build", "-v", *FASTER, "-o", f"{target}/", *packages.values()]
    env = go_environment()
    with subprocess.Popen(command, cwd=place, env=env, stderr=subprocess.PIPE, text=True) as compiler:
        lines = []
        for line in compiler.stderr or ():
            lines.append(line)
            progress(module.name, min(len(lines), total), total)
    if compiler.returncode != 0:
        raise BuildFailedError(f"{module.name} does not build: {''.join(lines[-20:])}")
    for name, package in packages.items():
        (target / called(package)).rename(target / name)
    progress(module.name, total, total)


def _keep_files(module: Module, source: Path, target: Path) -> None:
    for named in module.files:
        whole = source / named
        for file in [one for one in whole.rglob("*") if one.is_file()] if whole.is_dir() else [whole]:
            place = target / file.relative_to(source)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, place)


def _go(place: Path, *command: str) -> str:
    """Run Go in a module; it downloads what it needs, and where it cannot, nothing can be built."""
    env = go_environment()
    done = subprocess.run(command, cwd=place, env=env, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ModulesUnavailableError(f"Go modules of {place.name} can not be had: {done.stderr[-800:]}")
    return done.stdout
