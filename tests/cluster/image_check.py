"""The image, built from the Dockerfile and run without network, as its user, on a root that is read-only.

It takes minutes, so it is no part of the suite: `make image-check`.
"""

import subprocess
import sys
from pathlib import Path
from typing import Final

from catalog.release import VERSION
from tests.cluster.testbed.built_image import Image, outside, variables
from tests.cluster.testbed.ours import ROOT

EXAMPLE: Final = "fusioninfer/examples/monolithic.yaml"
WRITE: Final = "import os; print(os.getuid(), os.getgid(), flush=True); open('/written', 'w')"


def container(image: Image, shared: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run words in a container that has no network."""
    command = ("unshare", "--net", *outside(image, shared), *words)
    return subprocess.run(command, env=variables(image), capture_output=True, text=True, check=False)


def entrypoint(image: Image, shared: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return container(image, shared, *image.configuration["Entrypoint"], *words)


def test_it_runs_as_an_unprivileged_user_and_can_write_nothing(image: Image, tmp_path: Path) -> None:
    done = container(image, tmp_path, "python", "-c", WRITE)

    assert done.stdout == "65532 65532\n"
    assert "Read-only file system" in done.stderr


def test_it_expands_as_this_checkout_does(image: Image, tmp_path: Path) -> None:
    words = ("expand", "--filename")
    here = subprocess.run(
        (sys.executable, "-m", "fusioninfer", *words, EXAMPLE),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )

    done = entrypoint(image, tmp_path, *words, f"/app/{EXAMPLE}")
    assert done.stdout == here.stdout, done.stderr


def test_labels_name_the_version_and_the_commit(image: Image) -> None:
    labels = image.configuration["Labels"]

    assert labels["org.opencontainers.image.version"] == VERSION
    assert labels["org.opencontainers.image.revision"] == "check"


def test_its_bill_of_materials_lies_in_it(image: Image) -> None:
    there = image.root / "usr" / "share" / "doc" / "fusioninfer" / "sbom.cdx.json"

    assert there.read_bytes() == (ROOT / "sbom.cdx.json").read_bytes()
