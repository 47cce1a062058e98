"""Compute NetworkPolicies for the pods of services, for an operator who fills in the peers. Pure."""

from collections.abc import Iterable, Iterator
from typing import Final

from intent import Object
from intent.annotations import SERVICE
from intent.lws import KIND
from intent.shapes import mapping, metadata

API_VERSION: Final = "networking.k8s.io/v1"
FILL_IN: Final[Object] = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "FILL-IN"}}}
"""Stands for the peers that only the operator knows. It matches nothing: no namespace has such a name."""


def network_policies(objects: Iterable[Object]) -> Iterator[Object]:
    """Yield one policy for the engines of each service, and one for its endpoint pickers.

    Pods of one service reach each other, and its pickers reach its engines. Gateways, clients and Prometheus
    are for the operator to fill in.
    """
    ours = [one for one in objects if SERVICE in mapping(metadata(one).get("labels"))]
    pickers = {_service(one): one for one in ours if one["kind"] == "Deployment"}
    for of in sorted({_service(one) for one in ours if one["kind"] == KIND}):
        selectors: list[Object] = [{"matchLabels": {SERVICE: of[1]}}]
        if of in pickers:
            selectors.append(pickers[of]["spec"]["selector"])
            yield _policy(metadata(pickers[of])["name"], of[0], selectors[1], [])
        yield _policy(of[1], of[0], selectors[0], [{"podSelector": one} for one in selectors])


def _service(one: Object) -> tuple[str, str]:
    return str(metadata(one).get("namespace", "")), metadata(one)["labels"][SERVICE]


def _policy(name: str, namespace: str, selector: Object, peers: list[Object]) -> Object:
    identity = {"name": name} | ({"namespace": namespace} if namespace else {})
    spec = {"podSelector": selector, "policyTypes": ["Ingress"], "ingress": [{"from": [*peers, FILL_IN]}]}
    return {"apiVersion": API_VERSION, "kind": "NetworkPolicy", "metadata": identity, "spec": spec}
