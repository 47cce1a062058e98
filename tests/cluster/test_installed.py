"""The command after `pip install .`, also as a plugin of the real kubectl.

It is installed into a folder, beside the packages of this environment; `tests/image` installs those too.
"""

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from catalog.release import VERSION
from fusioninfer.cli import demo
from tests.cluster.testbed.build import Built

ROOT: Final = Path(__file__).parents[2]
PROJECT: Final = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGES: Final = [
    pattern.rstrip("*") for pattern in PROJECT["tool"]["setuptools"]["packages"]["find"]["include"]
]
GOOD: Final = demo.EXAMPLES / "monolithic.yaml"


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Install a copy of the source, not editable; return the folder. The source is deleted."""
    made = tmp_path_factory.mktemp("installed")
    source = made / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    for name in PACKAGES:
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    words = ("--quiet", "--disable-pip-version-check", "--no-compile", "--no-deps", "--target")
    subprocess.run(
        [sys.executable, "-m", "pip", "install", *words, str(made / "site"), str(source)], check=True
    )
    shutil.rmtree(source)
    yield made / "site"
    shutil.rmtree(made)


def run(
    environment: Path, program: str, *words: str, check: bool = True
) -> "subprocess.CompletedProcess[str]":
    """Run a program of the folder, as a shell that has it on its path would."""
    path = f"{environment / 'bin'}{os.pathsep}{os.environ['PATH']}"
    command = [str(environment / "bin" / program), *words]
    done = subprocess.run(
        command,
        check=False,
        capture_output=True,
        text=True,
        cwd=environment,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(environment)},
    )
    assert done.returncode == 0 or not check, done.stderr
    return done


def test_every_file_of_the_packages_is_installed(environment: Path) -> None:
    files = (file for name in PACKAGES for file in (ROOT / name).rglob("*") if file.is_file())
    named = {file.relative_to(ROOT) for file in files if "__pycache__" not in file.parts}

    missing = [str(file) for file in named if not (environment / file).exists()]
    assert missing == []


@pytest.mark.parametrize(
    ("words", "printed"),
    [(("--version",), f"fusioninfer, version {VERSION}"), (("demo",), "created by the controller")],
)
def test_an_installed_command_works(environment: Path, words: tuple[str, ...], printed: str) -> None:
    assert printed in run(environment, "fusioninfer", *words).stdout


# --- kubectl -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def with_kubectl(environment: Path, built: Built) -> Path:
    """Put the real kubectl into the environment."""
    (environment / "bin" / "kubectl").symlink_to(built.binary("kubectl"))
    return environment


def test_kubectl_runs_the_command(with_kubectl: Path) -> None:
    assert "1 object checked" in run(with_kubectl, "kubectl", "fusioninfer", "validate", str(GOOD)).stdout


def test_kubectl_returns_the_exit_code(with_kubectl: Path) -> None:
    done = run(with_kubectl, "kubectl", "fusioninfer", "validate", check=False)

    assert done.returncode == 2
    assert "Usage: fusioninfer validate [OPTIONS] FILE..." in done.stderr
    assert "for example: fusioninfer validate service.yaml" in done.stderr


def test_kubectl_lists_the_plugin(with_kubectl: Path) -> None:
    done = run(with_kubectl, "kubectl", "plugin", "list", "--name-only", check=False)

    assert "kubectl-fusioninfer" in done.stdout.split()
