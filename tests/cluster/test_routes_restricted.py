"""A service where Pod Security `restricted` is enforced: engines, sidecar and endpoint picker are made."""

from collections import Counter
from typing import Final

from intent.annotations import ROLE_NAME
from tests.builders.isvc import decoder, isvc, prefiller, router
from tests.builders.lws import container, template
from tests.cluster.testbed.api import items, patch, path
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.controllers import apply
from tests.cluster.testbed.wait import until

ENFORCED: Final = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}
UNPRIVILEGED: Final = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
OF_PODS: Final = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}


def test_all_pods_of_a_service_are_made(served: Cluster, routed_namespace: str) -> None:
    patch(served.api, path("namespaces", "", routed_namespace), ENFORCED)
    engine = template(container(securityContext=UNPRIVILEGED), securityContext=OF_PODS)
    roles = (prefiller(template=engine), decoder(template=engine))
    service = isvc(router(strategy="pd-disaggregation"), *roles)

    apply(served, routed_namespace, service)

    def made() -> Counter[str]:
        pods = (pod["metadata"]["labels"] for pod in items(served.api, path("pods", routed_namespace)))
        return Counter(labels.get(ROLE_NAME, "picker") for labels in pods)

    until(lambda: made() == {"prefill": 2, "decode": 2, "picker": 1}, "the pods are made")
