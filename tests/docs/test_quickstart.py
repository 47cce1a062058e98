"""The quickstart without a cluster: its script is valid, and its versions are those that are tested."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests.manifests.pages import commands

ROOT: Final = Path(__file__).parents[2]
SCRIPT: Final = ROOT / "hack" / "kind.sh"
PAGE: Final = ROOT / "docs" / "quickstart.md"
COMPONENTS: Final = ROOT / "tests" / "cluster" / "components"
COMMANDS: Final = [command for chapter in commands(PAGE).values() for command in chapter]


def built_version(component: str, module: str) -> str:
    """Return the version of a component that the testbed builds."""
    text = (COMPONENTS / component / "go.mod").read_text(encoding="utf-8")
    found = re.search(rf"^require {re.escape(module)} (\S+)$", text, re.MULTILINE)
    assert found
    return found[1]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_is_valid_bash(command: str) -> None:
    done = subprocess.run(["bash", "-n", "-c", command], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")


def test_the_script_is_valid_bash() -> None:
    done = subprocess.run(["bash", "-n", str(SCRIPT)], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")


def test_a_wrong_argument_prints_the_usage() -> None:
    done = subprocess.run([str(SCRIPT), "upp"], capture_output=True, text=True, check=False)

    assert done.returncode == 2
    assert "hack/kind.sh down    delete the cluster" in done.stderr


def test_a_missing_program_is_named(tmp_path: Path) -> None:
    for program in ("bash", "dirname"):
        (tmp_path / program).symlink_to(shutil.which(program) or program)

    done = subprocess.run(
        ["bash", str(SCRIPT)], env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (2, "hack/kind.sh: docker is not installed\n")


@pytest.mark.parametrize(
    ("variable", "component", "module"),
    [("LWS_VERSION", "lws", "sigs.k8s.io/lws"), ("VOLCANO_VERSION", "volcano", "volcano.sh/volcano")],
)
def test_the_script_installs_the_tested_versions(variable: str, component: str, module: str) -> None:
    (version,) = re.findall(rf"^{variable}=(.+)$", SCRIPT.read_text(encoding="utf-8"), re.MULTILINE)

    assert version == built_version(component, module)
    assert version.removeprefix("v") in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "file", sorted({word for command in COMMANDS for word in command.split() if word.startswith("docs/")})
)
def test_every_file_that_is_applied_exists(file: str) -> None:
    assert (ROOT / file).exists()
