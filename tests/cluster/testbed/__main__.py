"""Run a control plane until it is interrupted: `python -m tests.cluster.testbed`; `--ours`: our parts too."""

import signal
import sys
from contextlib import suppress
from types import FrameType

from tests.cluster.testbed.build import build
from tests.cluster.testbed.cluster import kubeconfig
from tests.cluster.testbed.control_plane import running
from tests.cluster.testbed.ours import install_manifests, start_sync, start_webhook


def main(arguments: list[str]) -> None:
    """Start, say where, wait for an interrupt or SIGTERM, stop."""
    with running(build(sys.stderr)) as cluster:
        if "--ours" in arguments:
            install_manifests(cluster)
            start_webhook(cluster)
            start_sync(cluster)
        sys.stdout.write(f"export KUBECONFIG={kubeconfig(cluster)}\n")
        sys.stdout.write(f"export PATH={cluster.built.binary('kubectl').parent}:$PATH\n")
        sys.stdout.flush()
        signal.pause()


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _interrupt)
    with suppress(KeyboardInterrupt):
        main(sys.argv[1:])
