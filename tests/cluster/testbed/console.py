"""The commands of a page, run in a shell as they stand there: kubectl and helm are those of the testbed."""

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.testbed.cluster import Cluster, kubeconfig
from tests.cluster.testbed.ours import ROOT


@dataclass(frozen=True, slots=True)
class Console:
    """A shell: the folder it is in, which has `manifests` and `docs`, and its variables."""

    folder: Path
    variables: Mapping[str, str]


def console(cluster: Cluster, folder: Path, *programs: Path) -> Console:
    """Open a shell of an administrator of a cluster, who has kubectl and further programs."""
    for name in ("manifests", "docs"):
        (folder / name).symlink_to(ROOT / name)
    folders = [str(program.parent) for program in (cluster.built.binary("kubectl"), *programs)]
    variables = {
        "PATH": os.pathsep.join([*folders, os.environ["PATH"]]),
        "HOME": str(folder),
        "KUBECONFIG": str(kubeconfig(cluster)),
    }
    return Console(folder, variables)


def run(there: Console, command: str) -> subprocess.CompletedProcess[str]:
    """Run a command; return its exit status and what it said."""
    shell = ["bash", "-o", "pipefail", "-c", command]
    return subprocess.run(
        shell, cwd=there.folder, env=there.variables, capture_output=True, text=True, check=False
    )


def must(there: Console, command: str) -> str:
    """Run a command that has to succeed; return its output."""
    done = run(there, command)
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.stderr}")
    return done.stdout
