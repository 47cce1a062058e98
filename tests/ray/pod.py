"""One pod: `python -m tests.ray.pod FILE`, in its network, runs its containers.

A pod is a network namespace; each container has process ids, mounts, IPC and a host name of its own, with its
command as process 1. The namespaces end with their processes: nothing is left to remove, even after SIGKILL.
"""

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from tests.cluster.testbed.processes import dies_with_us

CONTAINER: Final = """
echo "$1" >/proc/sys/kernel/hostname
mount -t tmpfs -o size=1g tmpfs /dev/shm
for file in resolv.conf hosts nsswitch.conf; do
    if [ -e "/etc/$file" ]; then mount --bind "$2/$file" "/etc/$file"; fi
done
mount --bind "$2/tmp" /tmp
cd /
shift 2
exec "$@"
"""
NAMESPACES: Final = ("--pid", "--mount", "--ipc", "--uts", "--fork", "--kill-child=KILL", "--mount-proc")


def run(pod: dict[str, Any]) -> int:
    """Wait as long as the pod is late, run its containers one by one; give the last status."""
    time.sleep(pod["late"])
    status = 0
    for words, variables in pod["containers"]:
        status = subprocess.run(_command(pod, words, variables), check=False).returncode
        if status:
            break
    return status


def _command(pod: dict[str, Any], words: Sequence[str], variables: dict[str, str]) -> tuple[str, ...]:
    """Let the container see its own variables and those of the image, and no other ones."""
    pairs = (f"{key}={value}" for key, value in (pod["image"] | variables).items())
    inside = ("sh", "-ec", CONTAINER, "sh", pod["name"], pod["folder"], "env", "-i", *pairs, *words)
    return (*dies_with_us(), "unshare", *NAMESPACES, "--", *inside)


if __name__ == "__main__":
    sys.exit(run(json.loads(Path(sys.argv[1]).read_bytes())))
