"""A Gateway: its listeners and addresses, of which a URL is made."""

from dataclasses import dataclass

from intent import Object
from intent.shapes import listed, mapping, number, text


@dataclass(frozen=True, slots=True)
class Listener:
    """One port that a gateway opens."""

    name: str
    port: int
    protocol: str
    hostname: str = ""


@dataclass(frozen=True, slots=True)
class Gateway:
    """One Gateway."""

    namespace: str
    name: str
    listeners: tuple[Listener, ...] = ()
    addresses: tuple[str, ...] = ()


def facts(obj: Object) -> Gateway:
    """Project a Gateway."""
    metadata, spec, status = (mapping(obj.get(key)) for key in ("metadata", "spec", "status"))
    addresses = (text(mapping(one).get("value")) for one in listed(status.get("addresses")))
    return Gateway(
        namespace=text(metadata.get("namespace")),
        name=text(metadata.get("name")),
        listeners=tuple(_listener(one) for one in listed(spec.get("listeners")) if isinstance(one, dict)),
        addresses=tuple(address for address in addresses if address),
    )


def _listener(one: Object) -> Listener:
    return Listener(
        name=text(one.get("name")),
        port=number(one.get("port")),
        protocol=text(one.get("protocol")),
        hostname=text(one.get("hostname")),
    )
