"""One row of the table of launchers: who writes the container, what it can run, and what it needs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from intent import Object
from intent.launch import Launch
from webhook.launchers.container import Container

POD_IP: Object = {"fieldRef": {"fieldPath": "status.podIP"}}
HOST_IP: Object = {"name": "VLLM_HOST_IP", "valueFrom": POD_IP}
"""The address that vLLM gives as its own: its choice among several may not be the one that others reach."""


TORCH_PORTS: Final = range(29500, 29551)
"""Where vLLM's ranks meet: `data_parallel_master_port` is 29500, `--master-port` 29501, or above."""
RAY_PORTS: Final = (range(8265, 8266), range(10001, 20000), range(52365, 52366), TORCH_PORTS)
"""Dashboard, client server and workers, agent (Ray "Configuring Ray", ports), and those of the engine."""


def no_env(_launch: Launch) -> tuple[Object, ...]:
    """Need no variable."""
    return ()


def host_ip(_launch: Launch) -> tuple[Object, ...]:
    """Tell vLLM, and who starts it, which address others reach the pod by."""
    return (HOST_IP,)


def no_launch(_launch: Launch) -> bool:
    """Say no of every launch."""
    return False


def any_launch(_launch: Launch) -> bool:
    """Ask nothing of a launch."""
    return True


@dataclass(frozen=True, slots=True)
class Launcher:
    """How the pods of a group start one engine."""

    write: Callable[[Launch, int], Container]
    """Says what the container of one template runs, in a group of that size."""
    summary: str = ""
    """What it does, in a line, for the documentation."""
    engines: tuple[str, ...] = ("vllm",)
    """The engines that it starts."""
    on_request: tuple[str, ...] = ()
    """Engines that it starts if the annotation names it, and never by default."""
    executors: tuple[str, ...] = ()
    """Values of `--distributed-executor-backend` that it works with; empty: the engine has no such flag."""
    needs: str = ""
    """What the image must have, as a person would say it."""
    runs: Callable[[Launch], bool | None] = any_launch
    """Whether the image has that; None if it is not known."""
    takes: Callable[[Launch], bool] = any_launch
    """Whether it can write this command line."""
    marks: tuple[str, ...] = ()
    """Text of command and args that only this launcher writes: by it a recorded launch is known."""
    spreads: bool = False
    """The ranks are spread evenly over the pods; else the group's accelerators are one pool."""
    port: int = 0
    """Where the pods of a group meet, on the leader."""
    others: tuple[range, ...] = ()
    """Ports that it, or what it starts, may take too; some at random."""
    splits: bool = False
    """Leader and workers run different words: a template that both share becomes two."""
    workers_serve: Callable[[Launch], bool] = no_launch
    """Whether workers answer HTTP on the API port too, so probes may stay on them."""
    resolves: bool = True
    """It ends, or may, if the leader's name does not resolve at once: wait for DNS before it."""
    env: Callable[[Launch], tuple[Object, ...]] = no_env
    """Variables of the engine container, as items of `env`."""

    @property
    def uses_ray(self) -> bool:
        """Whether Ray starts the workers."""
        return "ray" in self.executors
