"""Start and stop the control plane, whole or one component at a time."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.builders.patience import PATIENCE
from tests.cluster.testbed.build import Built
from tests.cluster.testbed.cluster import Cluster, prepare
from tests.cluster.testbed.components import COMPONENTS, CONTROL, STORE
from tests.cluster.testbed.install import add_namespaces, install_definitions, install_lws_webhooks
from tests.cluster.testbed.modules import CRDS
from tests.cluster.testbed.processes import Process, alive, kill, spawn, stop, tail
from tests.cluster.testbed.wait import until


class ComponentDiedError(Exception):
    """A process ended while it was waited for; the end of its log."""


@contextmanager
def running(
    built: Built, definitions: Sequence[tuple[str, str]] = CRDS, control: Sequence[str] = CONTROL
) -> Iterator[Cluster]:
    """Run a control plane; at the end every process is ended by its id and the state is removed.

    `definitions` are the custom resources that it has from the start, `control` is what works on them.
    """
    with TemporaryDirectory(prefix="fusioninfer-testbed-") as directory:
        cluster = prepare(built, Path(directory))
        try:
            _bring_up(cluster, definitions, control)
            yield cluster
        finally:
            stop_all(cluster)


def start_component(cluster: Cluster, *names: str) -> None:
    """Start components, by their names in `COMPONENTS`, and wait until each does its work."""
    for name in names:
        row = COMPONENTS[name]
        start_process(cluster, name, [str(cluster.built.binary(row.binary)), *row.args(cluster)])
    for name in names:
        wait_ready(cluster, name, COMPONENTS[name].ready)


def kill_process(cluster: Cluster, name: str) -> None:
    """End a process with SIGKILL: a component, or `webhook` or `sync`."""
    kill(cluster.processes.pop(name))


def stop_process(cluster: Cluster, name: str) -> int:
    """Ask a process to end, as the kubelet asks; return its exit status."""
    return stop(cluster.processes.pop(name), grace=45.0)


def restart_component(cluster: Cluster, name: str) -> None:
    """End a component with SIGKILL and start it again with the same state and ports."""
    kill_process(cluster, name)
    start_component(cluster, name)


def start_again(cluster: Cluster, name: str) -> None:
    """Start a process that has ended, as it was started before; it may need others that are away."""
    ended = cluster.processes[name]
    start_process(cluster, name, [*ended.command], ended.env)


def stop_all(cluster: Cluster) -> None:
    """End every process, the last one started first. Nothing of theirs is kept, so nobody is asked."""
    for name in reversed(tuple(cluster.processes)):
        kill_process(cluster, name)


def start_process(
    cluster: Cluster, name: str, command: list[str], env: Mapping[str, str] | None = None
) -> Process:
    """Start a process of the cluster, logging to its state folder."""
    process = spawn(name, command, log_of(cluster, name), env)
    cluster.processes[name] = process
    return process


def wait_ready(
    cluster: Cluster, name: str, ready: Callable[[Cluster], bool], *, seconds: float = 2 * PATIENCE
) -> None:
    """Wait until a process does its work; raise ComponentDiedError if it ended instead."""
    process = cluster.processes[name]

    def settled() -> bool:
        return ready(cluster) or not alive(process)

    until(settled, f"{name} is ready", seconds=seconds)
    if not alive(process):
        raise ComponentDiedError(f"{name} ended with {process.popen.returncode}: {tail(process)}")


def log_of(cluster: Cluster, name: str) -> Path:
    """Return the path of a process's log."""
    return cluster.directory / f"{name}.log"


def logs(cluster: Cluster, names: Iterable[str] = ()) -> str:
    """Return the ends of the logs, each under its process's name; of all processes if none is named."""
    chosen = tuple(names) or tuple(cluster.processes)
    return "\n".join(f"== {name}\n{tail(cluster.processes[name])}" for name in chosen)


def _bring_up(cluster: Cluster, definitions: Sequence[tuple[str, str]], control: Sequence[str]) -> None:
    start_component(cluster, *STORE)
    add_namespaces(cluster)
    if definitions:
        install_definitions(cluster, definitions)
    if "lws" in control:
        install_lws_webhooks(cluster)
    start_component(cluster, *control)
