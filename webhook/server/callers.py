"""The callers of the server: whatever is shared is shared by the `Peer` of a connection.

A known caller has a certificate of the client CA with one of `names`, or, where no client CA is set, an
address in `networks`. All known callers are one peer: what they say of namespaces is true. Any other peer is
the address from which it arrives; of IPv6 the /64, since a host has all addresses of one.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Any, Final
from weakref import WeakValueDictionary

HANDSHAKES: Final = 4
"""TLS handshakes of one peer at once, each of which costs as much as a review; others of the peer wait."""
KNOWN_HANDSHAKES: Final = 64
READING: Final = 4
"""Requests of one peer that is not known that read templates at once."""


@dataclass(slots=True, eq=False, weakref_slot=True)
class Peer:
    """A caller, and what is remembered of its requests while it has a connection."""

    is_known: bool = False
    pairs: dict[bytes, float] = field(default_factory=dict)
    """By namespace: until when its requests count as expensive, or 0 once one was cheap."""
    new_until: float = 0.0
    """Until when none of its requests counts as cheap (`webhook.server.offload`)."""
    handshakes: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(HANDSHAKES))
    reads: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(READING))


@dataclass(frozen=True, slots=True)
class Callers:
    """Which callers are known, and the peers that have connections."""

    names: frozenset[str] = frozenset()
    networks: tuple[IPv4Network | IPv6Network, ...] = ()
    known: Peer = field(default_factory=lambda: Peer(True, handshakes=asyncio.Semaphore(KNOWN_HANDSHAKES)))
    peers: WeakValueDictionary[int, Peer] = field(default_factory=WeakValueDictionary)

    @property
    def reserved(self) -> float:
        """The part of every limit that is kept for known callers, where there can be any."""
        return 0.5 if self.names or self.networks else 0.0

    def accepted(self, address: str) -> Peer:
        """Return the peer of a connection before its handshake; of a Unix socket `address` is empty."""
        parsed = _plain(address)
        if any(parsed.version == network.version and parsed in network for network in self.networks):
            return self.known
        return self._other(parsed)

    def verified(self, address: str, certificate: Mapping[str, Any] | None) -> Peer:
        """Return the peer of a connection after its handshake, with the client certificate that it verified.

        The certificate is as `ssl.SSLSocket.getpeercert` returns it: None or empty if there was none.
        """
        if not self.names:
            return self.accepted(address)
        read = certificate or {}
        common = {value for rdn in read.get("subject", ()) for key, value in rdn if key == "commonName"}
        dns = {value for kind, value in read.get("subjectAltName", ()) if kind == "DNS"}
        return self._other(_plain(address)) if self.names.isdisjoint(common | dns) else self.known

    def _other(self, address: IPv4Address | IPv6Address) -> Peer:
        key = int(address) >> (64 if address.version == 6 else 0)
        peer = self.peers.get(key)
        if peer is None:
            peer = self.peers[key] = Peer()
        return peer


def _plain(address: str) -> IPv4Address | IPv6Address:
    """Parse an address without its zone; one of IPv4 that arrived at an IPv6 socket is of IPv4."""
    parsed = ip_address(address.partition("%")[0])
    return parsed.ipv4_mapped or parsed if isinstance(parsed, IPv6Address) else parsed
