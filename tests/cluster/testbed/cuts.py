"""A copy of a module's source with parts left out, so that the rest builds with what can be had."""

import shutil
from pathlib import Path

from tests.cluster.testbed.modules import Cut, Module


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
