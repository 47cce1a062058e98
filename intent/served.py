"""The API of one member, as its record has it: the port of its leaders, and its KV transfer.

Admission reads both from the author's command (`webhook.served`). The controller finds them in the record, so
it parses no command lines.
"""

from dataclasses import dataclass
from typing import Any, Final

import orjson

from catalog.engines import DEFAULT_PORT
from intent import Object
from intent.shapes import mapping, number, strings, text

SERVES: Final = "serves"
"""The member of the record."""
_HIGHEST: Final = 65535


@dataclass(frozen=True, slots=True)
class KVTransfer:
    """The settings with which the other side, prefiller or decoder, must be compatible."""

    connectors: tuple[str, ...]
    tensor: int
    """The tensor parallel size."""
    image: str = ""


@dataclass(frozen=True, slots=True)
class Served:
    """What clients and the other side of a disaggregated service need to know."""

    port: int = DEFAULT_PORT
    """The port of the leaders: the sidecar's, or the engine's if there is no sidecar."""
    kv_transfer: KVTransfer | None = None
    """The settings of a prefiller or decoder on vLLM, if its command contains them."""


def to_record(found: Served) -> Object:
    """Return the value as JSON."""
    value: Object = {"port": found.port}
    if found.kv_transfer is not None:
        side = found.kv_transfer
        value["kv"] = {"connectors": list(side.connectors), "tensor": side.tensor, "image": side.image}
    return value


def recorded(text: Any) -> Served:
    """Read what a member serves from the text of its record; the defaults if it cannot be read."""
    try:
        return of_record(mapping(orjson.loads(text)).get(SERVES))
    except (orjson.JSONDecodeError, TypeError):
        return Served()


def of_record(value: Any) -> Served:
    """Read the JSON of a record, which may have been edited: what is invalid is left out."""
    port, side = number(mapping(value).get("port")), mapping(mapping(value).get("kv"))
    connectors, tensor = strings(side.get("connectors")), number(side.get("tensor"))
    is_known = connectors and tensor > 0
    return Served(
        port if 0 < port <= _HIGHEST else DEFAULT_PORT,
        KVTransfer(connectors, tensor, text(side.get("image"))) if is_known else None,
    )
