"""The stages of the Dockerfile, run in a fresh environment in place of the base image.

The first stage is kept for the next run, as docker keeps a layer: by the contents of what it is made from.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from catalog.release import VERSION
from hack.image.lock import LOCK, ROOT
from tests.cluster.testbed.build import cache_directory
from tests.image.dockerfile import Instruction, of, stages


@dataclass(frozen=True, slots=True)
class Image:
    """A folder that stands for the root of the image: `usr/local` is an environment of its own."""

    root: Path

    def place(self, word: str) -> str:
        """Return a word of the Dockerfile, with the paths of the image below this folder."""
        return re.sub(r"(^|=)/", rf"\1{self.root}/", word)

    def run(self, words: list[str], **variables: str) -> subprocess.CompletedProcess[str]:
        """Run words of the Dockerfile with the Python of the image."""
        python = str(self.root / "usr" / "local" / "bin" / "python")
        command = [python, *(self.place(word) for word in words[1:])]
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        return subprocess.run(
            command, capture_output=True, text=True, check=True, cwd=self.root, env=inherited | variables
        )


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Image]:
    """Run the stages, instruction by instruction."""
    made = Image(tmp_path_factory.mktemp("image"))
    venv.create(made.root / "usr" / "local")
    dependencies, final = stages()
    (made.root / "dependencies").symlink_to(layer(dependencies))
    for instruction in of(final, "COPY"):
        copy(made, instruction.words)
    for instruction in of(final, "RUN"):
        made.run(instruction.words)
    yield made
    shutil.rmtree(made.root)


def layer(stage: list[Instruction]) -> Path:
    """Return what the first stage leaves at /dependencies, compiled: install it unless it is kept."""
    run = of(stage, "RUN")
    made_from = (sys.version, LOCK.read_text(), *(instruction.text for instruction in run))
    digest = hashlib.sha256("\n".join(made_from).encode()).hexdigest()
    kept = cache_directory() / "layers" / digest[:16]
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=kept.parent) as folder:
            made = Image(Path(folder))
            venv.create(made.root / "usr" / "local", with_pip=True)
            shutil.copy(LOCK, made.root)
            for instruction in run:
                made.run(instruction.words)
            made.run(["python", "-m", "compileall", "-q", "/dependencies"])
            (made.root / "dependencies").rename(kept)
    return kept


def copy(made: Image, words: list[str]) -> None:
    """Copy as COPY does: from the checkout, or from the stage before."""
    is_stage, *others = (words[0].startswith("--from"), *words)
    *sources, target = others[1:] if is_stage else others
    start = made.root if is_stage else ROOT
    for source in sources:
        there, to = start / source.lstrip("/"), Path(made.place(target))
        if there.is_dir():
            shutil.copytree(there, to, dirs_exist_ok=True)
        else:
            to.mkdir(parents=True, exist_ok=True)
            shutil.copy(there, to)


def entrypoint(made: Image, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the image with some words, as a container would."""
    _, final = stages()
    (entry,) = of(final, "ENTRYPOINT")
    (variables,) = of(final, "ENV")
    named = dict(word.split("=", 1) for word in variables.words)
    return made.run([*entry.words, *words], **{name: made.place(value) for name, value in named.items()})


def test_it_runs(image: Image) -> None:
    assert entrypoint(image, "--version").stdout == f"fusioninfer, version {VERSION}\n"


def test_it_runs_from_the_copied_files(image: Image) -> None:
    said = image.run(
        ["python", "-c", "import aiohttp, fusioninfer; print(aiohttp.__file__, fusioninfer.__file__)"],
        PYTHONPATH=str(image.root / "app"),
    )

    assert all(file.startswith(str(image.root)) for file in said.stdout.split())


def test_it_expands_a_file(image: Image) -> None:
    said = entrypoint(image, "expand", "-f", "/app/fusioninfer/examples/monolithic.yaml")

    assert "kind: PodGroup" in said.stdout


def test_its_webhook_serves(image: Image) -> None:
    assert "created by the controller" in entrypoint(image, "demo").stdout


@pytest.mark.parametrize("verb", ["webhook", "sync"])
def test_its_servers_have_all_that_they_import(image: Image, verb: str) -> None:
    assert "--metrics-port" in entrypoint(image, verb, "--help").stdout


def test_its_modules_are_compiled(image: Image) -> None:
    tag = f"cpython-{sys.version_info.major}{sys.version_info.minor}"

    assert (image.root / "app" / "intent" / "__pycache__" / f"read.{tag}.pyc").exists()
