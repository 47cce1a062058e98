"""What the NetworkPolicies let through, by an engine of others: every peer to every port, both ways.

A node reaches its own pods whatever a policy says, so the kubelet's probes are not here.
"""

import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Final

import pytest

from hack.manifests.objects import container, find, objects
from intent import Object

POLICIES: Final = [one for one in objects("base") if one["kind"] == "NetworkPolicy"]
VERDICT: Final = re.compile(r"IS ALLOWED\? \| +(TRUE|FALSE)")


@dataclass(frozen=True, slots=True)
class Peer:
    """A client or a server: its address, the namespace and labels of its pod, and its ports by name."""

    address: str
    namespace: str = ""
    labels: Object | None = None
    ports: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Call:
    """One call: the client, the server, and the port."""

    caller: str
    called: str
    port: int
    protocol: str = "TCP"


def ours(name: str, address: str) -> Peer:
    """Return a pod of a Deployment of ours."""
    metadata = find("Deployment", name)["spec"]["template"]["metadata"]
    ports = tuple((port["containerPort"], port["name"]) for port in container(name)["ports"])
    return Peer(address, "fusioninfer-system", metadata["labels"], ports)


PEERS: Final = {
    "API server": Peer("192.0.2.1", ports=((443, ""), (6443, ""))),
    "internet": Peer("203.0.113.1", ports=((443, ""), (80, ""))),
    "webhook": ours("fusioninfer-webhook", "10.0.0.1"),
    "controller": ours("fusioninfer-sync", "10.0.0.2"),
    "Prometheus": Peer("10.0.0.3", "monitoring", {"app.kubernetes.io/name": "prometheus"}, ((9090, "web"),)),
    "name server": Peer("10.0.0.4", "kube-system", {"k8s-app": "kube-dns"}, ((53, "dns"),)),
    "engine": Peer("10.0.0.5", "team-a", {"fusioninfer.io/service": "qwen"}, ((8000, "http"),)),
}
OURS: Final = ("webhook", "controller")
OPEN: Final = frozenset(
    (
        *(Call(caller, "webhook", 10250) for caller in PEERS if caller not in OURS),
        *(
            Call(caller, *served)
            for caller in ("Prometheus", "name server", "engine")
            for served in (("webhook", 8080), ("controller", 8080), ("controller", 8443))
        ),
        *(Call("controller", called, port) for called in PEERS if called not in OURS for port in (443, 6443)),
    )
)
"""Everything allowed: reviews from anywhere, metrics to pods, and the controller's calls to the ports of API
servers at any address, because their addresses are not known."""


def calls() -> Iterator[Call]:
    """Return every call to or from our pods: at the ports of either pod, at unused ports, and for names."""
    for caller, called in product(PEERS, PEERS):
        if caller != called and {caller, called} & set(OURS):
            ports = {port for port, _ in PEERS[called].ports} | {22, 443, 6443, 8080, 10250}
            yield from (Call(caller, called, port) for port in sorted(ports))
            yield Call(caller, called, 53, "UDP")


@pytest.fixture(scope="module")
def let_through(cyclonus: Path, tmp_path_factory: pytest.TempPathFactory) -> frozenset[Call]:
    """Ask the engine about every call."""
    folder, asked = tmp_path_factory.mktemp("policies"), tuple(calls())
    for policy in POLICIES:  # of a file with several it reads the first
        (folder / f"{policy['metadata']['name']}.json").write_text(json.dumps(policy))
    traffic = folder.with_suffix(".json")
    traffic.write_text(json.dumps([described(call) for call in asked]))
    paths = (f"--policy-path={folder}", f"--traffic-path={traffic}")
    command = [str(cyclonus), "analyze", "--mode=query-traffic", *paths]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    verdicts = VERDICT.findall(said)
    return frozenset(call for call, verdict in zip(asked, verdicts, strict=True) if verdict == "TRUE")


def described(call: Call) -> Object:
    return {
        "Source": side(PEERS[call.caller]),
        "Destination": side(PEERS[call.called]),
        "Protocol": call.protocol,
        "ResolvedPort": call.port,
        "ResolvedPortName": dict(PEERS[call.called].ports).get(call.port, ""),
    }


def side(peer: Peer) -> dict[str, Any]:
    if peer.labels is None:
        return {"IP": peer.address}
    place = {"kubernetes.io/metadata.name": peer.namespace}
    inside = {"Namespace": peer.namespace, "NamespaceLabels": place, "PodLabels": peer.labels}
    return {"IP": peer.address, "Internal": inside}


def test_these_calls_are_let_through_and_no_others(let_through: frozenset[Call]) -> None:
    """None of them is the webhook's."""
    assert let_through == OPEN
    assert not [call for call in OPEN if call.caller == "webhook"]
