"""vLLM's data parallelism over the pods of a group, and the KV transfer between groups, by the flags.

How requests are balanced, and the ranks of each pod: vLLM `vllm/entrypoints/cli/serve.py`,
`vllm/engine/arg_utils.py` and `vllm/entrypoints/openai/dp_supervisor.py`, 0.10.2 to 0.32.0. KV transfer is
configured by `--kv-transfer-config`, as one JSON value, as dotted flags, or both:
`vllm/config/kv_transfer.py` and `FlexibleArgumentParser`, which merges the dotted ones.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

from intent import Object
from intent.command_line.flags import (
    BOOTSTRAP,
    DATA,
    EXTERNAL,
    HEADLESS,
    HYBRID,
    LOCAL_DATA,
    MULTI_PORT,
    RANK,
    SERVERS,
    START_RANK,
    TRANSFER,
)
from intent.launch import Launch, countable, read_size, read_sizes, size_of, text_of, values_of
from intent.served import BOOTSTRAP_PORT, HIGHEST
from intent.shapes import decoded, listed, mapping

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
    ranks, sizes, pod = Ranks(data, first or 0, other or 0), read_sizes(leader), countable(worker.engine)
    is_large = bool(sizes and pod and sizes.accelerators // sizes.data > pod)
    return ranks._replace(spans=is_large or (bool(other) and data < size and ranks.of_group(size) != data))


def local_ranks(launch: Launch) -> int | None:
    """Return the local size that the author gives a pod, which may be 0; None without one."""
    text = text_of(launch, LOCAL_DATA)
    return 0 if text == "0" else size_of(text)


# --- KV transfer --------------------------------------------------------------------------------------

KV_ROLES: Final = ("kv_producer", "kv_consumer", "kv_both")
DOTTED: Final = f"--{TRANSFER}."


@dataclass(frozen=True, slots=True)
class Transfer:
    """The configuration and the index of its argument."""

    at: int
    config: Object = field(default_factory=dict)

    @property
    def connectors(self) -> tuple[str, ...]:
        """The connector, followed by those of a `MultiConnector`."""
        return tuple(name for config in self.each if isinstance(name := config.get("kv_connector"), str))

    @property
    def each(self) -> tuple[Object, ...]:
        """The configuration of each connector; those of a `MultiConnector` have sides of their own."""
        return tuple(_each(self.config))


def read_transfer(launch: Launch) -> Transfer | None:
    """Read the configuration; None if it is absent, only known in the cluster, or no JSON object.

    vLLM reads the value of a dotted flag as JSON, and as text if it is none.
    """
    flags = launch.command.flags
    whole = flags.last(TRANSFER)
    dotted = [flag for flag in flags.given if flag.name.startswith(DOTTED)]
    if whole is None and not dotted:
        return None
    config = decoded(text_of(launch, TRANSFER)) if whole else {}
    if not isinstance(config, dict):
        return None
    for flag in dotted:
        text = next(iter(values_of(launch, flag)), "")
        _set(config, flag.name.removeprefix(DOTTED).split("."), decoded(text, text))
    return Transfer(whole.value_at if whole else dotted[0].at, config)


def bootstrap_of(launch: Launch) -> int:
    """Return the port on which SGLang's prefillers wait for decoders; its default where it is not known."""
    port = size_of(text_of(launch, BOOTSTRAP))
    return port if port and port <= HIGHEST else BOOTSTRAP_PORT


def _set(config: Object, keys: list[str], value: Any) -> None:
    for key in keys[:-1]:
        if not isinstance(config.get(key), dict):
            config[key] = {}
        config = config[key]
    config[keys[-1]] = value


def _each(config: Object) -> Iterator[Object]:
    yield config
    for connector in listed(mapping(config.get("kv_connector_extra_config")).get("connectors")):
        yield from _each(mapping(connector))
