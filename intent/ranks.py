"""vLLM's data parallelism over the pods of a group: how requests are balanced, and the ranks of each pod.

Source: vLLM `vllm/entrypoints/cli/serve.py`, `vllm/engine/arg_utils.py` and
`vllm/entrypoints/openai/dp_supervisor.py`, 0.10.2 to 0.32.0.
"""

from typing import Final, Literal, NamedTuple

from intent.command_line.flags import (
    DATA,
    EXTERNAL,
    HEADLESS,
    HYBRID,
    LOCAL_DATA,
    MULTI_PORT,
    RANK,
    SERVERS,
    START_RANK,
)
from intent.launch import Launch, countable, is_size, read_size, read_sizes, text_of

Balance = Literal["internal", "hybrid", "external", "multi-port"]

ASKED: Final[dict[str, Balance]] = {
    MULTI_PORT: "multi-port",
    EXTERNAL: "external",
    RANK: "external",
    HYBRID: "hybrid",
}
"""The load balancing that a flag asks for, the strongest first."""
_SWITCHES: Final = (0, 28)
"""From this release on a start rank of 0 switches hybrid load balancing on too."""


class Ranks(NamedTuple):
    """The data-parallel ranks of a group, of its leader, and of each other pod."""

    data: int
    leader: int
    worker: int
    spans: bool = False
    """Whether one rank has several pods: it needs more accelerators than one has, or pods outnumber ranks."""

    def of_pods(self, size: int) -> tuple[int, ...]:
        """Return the ranks of each kind of pod; a group of one pod has no other."""
        return (self.leader, self.worker)[:size]

    def of_group(self, size: int) -> int:
        """Return the ranks that the pods of a group start together."""
        return self.leader + self.worker * (size - 1)


def balance(launch: Launch) -> Balance:
    """Return how requests are balanced over the ranks; `internal`: by the leader's API server."""
    flags = launch.command.flags
    asked = next((mode for name, mode in ASKED.items() if flags.last(name)), None)
    if asked or is_headless(launch):
        return asked or "internal"
    start, version = flags.last(START_RANK), launch.image.version
    is_zero = text_of(launch, START_RANK) == "0"
    return "hybrid" if start and not (is_zero and version and version < _SWITCHES) else "internal"


def is_headless(launch: Launch) -> bool:
    """Return whether the engine serves no API."""
    return launch.command.flags.last(HEADLESS) is not None or text_of(launch, SERVERS) == "0"


def read_ranks(leader: Launch, worker: Launch, size: int) -> Ranks | None:
    """Read the ranks of a group; None without data parallelism, or if its size is unknown.

    Pods without a local size share the ranks that the others leave.
    """
    data, first, other = read_size(leader, DATA), local_ranks(leader), local_ranks(worker)
    if data is None or data == 1:
        return None
    if first is None and other is None:
        first = other = max(data // size, 1)
    elif first is None:
        first = max(data - (other or 0) * (size - 1), 0)
    elif other is None:
        other = max(data - first, 0) // max(size - 1, 1)
    found, sizes, pod = Ranks(data, first or 0, other or 0), read_sizes(leader), countable(worker.engine)
    is_large = bool(sizes and pod and sizes.accelerators // sizes.data > pod)
    return found._replace(spans=is_large or (bool(other) and data < size and found.of_group(size) != data))


def local_ranks(launch: Launch) -> int | None:
    """Return the local size that the author gives a pod, which may be 0; None without one."""
    text = text_of(launch, LOCAL_DATA)
    return int(text) if text == "0" or is_size(text) else None
