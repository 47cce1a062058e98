"""The API of one member, as its record has it: the pods and ports that serve, and its KV transfer.

Admission reads them from the author's command (`webhook.layout`). The controller finds them in the record,
so it parses no command lines.
"""

from dataclasses import dataclass, replace
from typing import Any, Final

from catalog.engines import DEFAULT_PORT
from intent import Object
from intent.shapes import decoded, listed, mapping, number, strings, text

SERVES: Final = "serves"
"""The member of the record."""
HIGHEST: Final = 65535
"""The last port."""


@dataclass(frozen=True, slots=True)
class Serving:
    """Which pods of a group answer requests, and on which ports."""

    everywhere: bool = False
    """Whether every pod does, not only the leader."""
    ports: tuple[int, ...] = ()
    """The ports of a pod, if it has one for each of its data-parallel ranks."""
    supervisor: int = 0
    """The port on which the process that starts these servers answers probes."""


LEADERS: Final = Serving()
"""The leaders, on one port."""
MOST_SERVED: Final = 64
"""The most ports of a pod, that of the supervisor included."""
BOOTSTRAP_PORT: Final = 8998
"""SGLang's default of `--disaggregation-bootstrap-port`, and its sidecar's."""


@dataclass(frozen=True, slots=True)
class KVTransfer:
    """The settings with which the other side, prefiller or decoder, must be compatible."""

    connectors: tuple[str, ...]
    tensor: int
    """The tensor parallel size."""
    image: str = ""
    engine: str = "vllm"
    bootstrap: int = 0
    """The port on which prefillers of SGLang wait for decoders; 0 for other engines."""


@dataclass(frozen=True, slots=True)
class Served:
    """What clients and the other side of a disaggregated service need to know."""

    port: int = DEFAULT_PORT
    """The port of the leaders: the sidecar's, or the engine's if there is no sidecar."""
    kv_transfer: KVTransfer | None = None
    """The settings of a prefiller or decoder, if its command contains them."""
    serving: Serving = LEADERS


def to_record(served: Served) -> Object:
    """Return the value as JSON."""
    value: Object = {"port": served.port}
    if served.kv_transfer is not None:
        side = served.kv_transfer
        value["kv"] = {"connectors": list(side.connectors), "tensor": side.tensor, "image": side.image}
        if side.bootstrap:
            value["kv"] |= {"engine": side.engine, "bootstrap": side.bootstrap}
    return value


def recorded(text: Any) -> Served:
    """Read what a member serves from the text of its record; the defaults if it cannot be read."""
    record = mapping(decoded(text))
    entry = mapping(mapping(record.get("decided")).get("serving"))
    ports = tuple(port for port in listed(entry.get("ports")) if type(port) is int)
    serving = Serving(entry.get("everywhere") is True, ports, number(entry.get("supervisor")))
    return replace(of_record(record.get(SERVES)), serving=bounded(serving))


def bounded(serving: Serving) -> Serving:
    """Return what a record says, which may have been edited; `LEADERS` if no launch has such ports."""
    ports = (*serving.ports, serving.supervisor or 1)
    is_possible = len(ports) <= MOST_SERVED and all(0 < port <= HIGHEST for port in ports)
    return serving if is_possible and len({*ports}) == len(ports) else LEADERS


def of_record(value: Any) -> Served:
    """Read the JSON of a record, which may have been edited: what is invalid is left out."""
    port, side = number(mapping(value).get("port")), mapping(mapping(value).get("kv"))
    connectors, tensor = strings(side.get("connectors")), number(side.get("tensor"))
    is_known = connectors and tensor > 0
    return Served(
        port if 0 < port <= HIGHEST else DEFAULT_PORT,
        KVTransfer(
            connectors,
            tensor,
            text(side.get("image")),
            text(side.get("engine")) or "vllm",
            number(side.get("bootstrap")),
        )
        if is_known
        else None,
    )
