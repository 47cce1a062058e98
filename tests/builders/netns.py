"""Network namespaces: a switch, and pods on it. They end with their processes, even after SIGKILL.

A switch is a namespace with a bridge; a pod is a namespace with an `eth0` that is a port of the bridge.
Nothing of the machine's own network is touched.
"""

import ctypes
import os
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

T = TypeVar("T")

ROUTER: Final = "10.99.0.1"
"""The address of the switch itself."""
SWITCH: Final = f"""
ip link set lo up
ip link add br0 type bridge
ip address add {ROUTER}/16 dev br0
ip link set br0 up
exec "$@"
"""
POD: Final = f"""
ip link set lo up
nsenter --target "$2" --net ip link delete "$1" 2>/dev/null || true
ip link add eth0 type veth peer name "$1" netns "$2"
nsenter --target "$2" --net ip link set "$1" master br0 up
ip address add "$3/16" dev eth0
ip link set eth0 up
ip route add default via {ROUTER}
shift 3
exec "$@"
"""


class NamespacesUnavailableError(Exception):
    """This user, or this machine, can have no network namespaces."""


def require_namespaces() -> None:
    """Raise NamespacesUnavailableError where there can be none."""
    try:
        subprocess.run(("unshare", "--net", "ip", "link"), check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        said = getattr(error, "stderr", "") or error
        raise NamespacesUnavailableError(
            f"no network namespaces (root, util-linux, iproute2): {said}"
        ) from error


def switch(*command: str) -> tuple[str, ...]:
    """Return the command that makes a switch and becomes a command in it."""
    return ("unshare", "--net", "sh", "-ec", SWITCH, "sh", *command)


def pod(address: str, of: int, *command: str) -> tuple[str, ...]:
    """Return the command that makes a pod on the switch of a process, and becomes a command in it.

    An earlier pod of that address loses its link at once: the kernel removes it some time after the pod.
    """
    _, _, third, fourth = address.split(".")
    veth = f"veth{third}-{fourth}"
    return ("unshare", "--net", "sh", "-ec", POD, "sh", veth, str(of), address, *command)


def beside(process: int, *command: str) -> tuple[str, ...]:
    """Return the command that becomes a command in the network of a process."""
    return ("nsenter", "--target", str(process), "--net", "--", *command)


def made_in(process: int, make: Callable[[], T]) -> T:
    """Call a function in the network of a process. A socket that it makes stays there, in any thread."""

    def make_there() -> T:
        _enter(process)
        return make()

    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(make_there).result()


def _enter(process: int) -> None:
    """Have this thread leave our network for that of a process (`setns(2)`; Python has it from 3.12)."""
    library = ctypes.CDLL(None, use_errno=True)
    network = os.open(f"/proc/{process}/ns/net", os.O_RDONLY)
    try:
        if library.setns(network, 0x40000000):  # CLONE_NEWNET
            raise OSError(ctypes.get_errno(), "setns")
    finally:
        os.close(network)
