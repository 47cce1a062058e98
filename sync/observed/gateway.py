"""A Gateway: its listeners and addresses, of which a URL is made, and what its controller says of it."""

from dataclasses import dataclass

from intent import Object
from intent.shapes import listed, mapping, number, text
from sync.observed.condition import ObservedCondition, conditions, current, generation


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
    accepted: ObservedCondition | None = None
    programmed: ObservedCondition | None = None
    """Whether what it is now was handed to the data plane; always there, by the Gateway API."""

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name."""
        return self.namespace, self.name

    def __str__(self) -> str:
        """Name it as people do."""
        return f"Gateway {self.namespace}/{self.name}"


def project(obj: Object) -> Gateway:
    """Project a Gateway."""
    metadata, spec, status = (mapping(obj.get(key)) for key in ("metadata", "spec", "status"))
    addresses = (text(mapping(one).get("value")) for one in listed(status.get("addresses")))
    said = current(conditions(status.get("conditions")), generation(obj))
    return Gateway(
        namespace=text(metadata.get("namespace")),
        name=text(metadata.get("name")),
        listeners=tuple(_listener(one) for one in listed(spec.get("listeners")) if isinstance(one, dict)),
        addresses=tuple(address for address in addresses if address),
        accepted=said.get("Accepted"),
        programmed=said.get("Programmed"),
    )


def _listener(one: Object) -> Listener:
    return Listener(
        name=text(one.get("name")),
        port=number(one.get("port")),
        protocol=text(one.get("protocol")),
        hostname=text(one.get("hostname")),
    )
