"""The row of a launcher: its function, the engines and images that it works with, and what it needs."""

from collections.abc import Callable
from dataclasses import dataclass

from intent import Object
from intent.launch import Launch, LaunchPlan
from webhook.launchers.container import Container

POD_IP: Object = {"fieldRef": {"fieldPath": "status.podIP"}}
HOST_IP: Object = {"name": "VLLM_HOST_IP", "valueFrom": POD_IP}
"""The address that vLLM advertises: of several it may choose one that other pods cannot reach."""


@dataclass(frozen=True, slots=True)
class Launcher:
    """How the pods of a group start one engine."""

    write: Callable[[Launch, LaunchPlan], Container]
    """Returns the engine container of one template of a plan."""
    summary: str = ""
    """One line for the documentation."""
    engines: tuple[str, ...] = ("vllm",)
    """Engines that it starts."""
    on_request: tuple[str, ...] = ()
    """Engines that it starts only if the annotation names this launcher."""
    executors: tuple[str, ...] = ()
    """Supported values of `--distributed-executor-backend`; empty if the engine has no such flag."""
    needs: str = ""
    """Requirement on the image, for messages."""
    runs: Callable[[Launch], bool | None] = lambda _launch: True
    """Returns whether the image meets `needs`; None if that is unknown."""
    takes: Callable[[Launch], bool] = lambda _launch: True
    """Returns whether it can rewrite this command line."""
    spreads: bool = False
    """Ranks are spread evenly over the pods; otherwise the group's accelerators are one pool."""
    port: int = 0
    """Port on the leader where the pods of a group connect."""
    splits: bool = False
    """Leader and workers run different commands, unless all of them serve, so a shared template is split."""
    answers: frozenset[str] = frozenset()
    """The paths that workers answer on the API port although they serve nothing, so that probes stay."""
    resolves: bool = True
    """It may exit if the leader's name does not resolve at once, so an init container waits for DNS."""
    env: Callable[[Launch], tuple[Object, ...]] = lambda _launch: ()
    """Returns environment variables for the engine container, as items of `env`."""

    @property
    def uses_ray(self) -> bool:
        """Return whether Ray starts the workers."""
        return "ray" in self.executors
