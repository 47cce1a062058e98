"""What the webhook configurations trust, and somebody who has them trust it."""

from typing import Final

from intent import Object
from tests.cluster.testbed.api import amend, get, path
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.install import on_loopback

CONFIGURATIONS: Final = (
    path("mutatingwebhookconfigurations", "", "mutate.fusioninfer.io"),
    path("validatingwebhookconfigurations", "", "validate.fusioninfer.io"),
)


def inject_bundle(cluster: Cluster, bundle: str) -> None:
    """Have every webhook trust an authority, as cert-manager's injector does."""
    for where in CONFIGURATIONS:
        fields = (f"/webhooks/{number}/clientConfig" for number in range(len(_webhooks(cluster, where))))
        added = [{"op": "add", "path": f"{field}/caBundle", "value": bundle} for field in fields]
        amend(cluster.api, where, added)


def call_on_loopback(cluster: Cluster) -> None:
    """Have the API server call the webhook on loopback, in place of its Service, and trust its authority."""
    for where in CONFIGURATIONS:
        placed = on_loopback(get(cluster.api, where), cluster.ports["webhook"], cluster.authority_pem)
        changes = [
            {"op": "replace", "path": f"/webhooks/{number}/clientConfig", "value": webhook["clientConfig"]}
            for number, webhook in enumerate(placed["webhooks"])
        ]
        amend(cluster.api, where, changes)


def bundles(cluster: Cluster) -> dict[str, str]:
    """Return what the webhooks trust, by their names; empty for one that trusts nothing."""
    webhooks = [webhook for where in CONFIGURATIONS for webhook in _webhooks(cluster, where)]
    return {webhook["name"]: webhook["clientConfig"].get("caBundle", "") for webhook in webhooks}


def _webhooks(cluster: Cluster, where: str) -> list[Object]:
    return list(get(cluster.api, where)["webhooks"])
