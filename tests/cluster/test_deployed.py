"""What `kubectl apply -k` stores is run: the pods of our Deployments, with exactly their words and ports.

With `--image` they are run from the image, as containers are; else from this checkout.
"""

import json
import ssl
import time
from collections.abc import Iterator
from typing import Final

import pytest
import yaml

from hack.manifests.objects import MANIFESTS
from tests.cluster.testbed.api import items, path
from tests.cluster.testbed.cluster import Cluster, kubectl
from tests.cluster.testbed.deployed import (
    NAMESPACE,
    Deployed,
    answers,
    mutated,
    put_certificate,
    start_deployed,
)
from tests.cluster.testbed.images import Program
from tests.cluster.testbed.namespaces import empty_namespace
from tests.cluster.testbed.network import Answer, Network, ask
from tests.cluster.testbed.processes import stop
from tests.cluster.testbed.wait import until
from tests.cluster.testbed.written import WHOLE, read

STORED: Final = ("ConfigMap", "Deployment", "Service")
"""The kinds that the testbed leaves out of the manifests otherwise."""
WEBHOOK: Final = "fusioninfer-webhook"
SYNC: Final = "fusioninfer-sync"


@pytest.fixture(scope="module")
def deployed(admission: Cluster, own_network: Network, runs: Program) -> Iterator[dict[str, list[Deployed]]]:
    """All pods of the base, by Deployment."""
    made = yaml.safe_load_all(kubectl(admission, "kustomize", str(MANIFESTS / "base")))
    wanted = {"apiVersion": "v1", "kind": "List", "items": [each for each in made if each["kind"] in STORED]}
    put_certificate(own_network)
    kubectl(admission, "apply", "--server-side", "--filename=-", stdin=json.dumps(wanted))
    yield {name: start_deployed(own_network, name, runs) for name in (WEBHOOK, SYNC)}
    empty_namespace(admission, NAMESPACE)


@pytest.mark.parametrize("name", [WEBHOOK, SYNC])
def test_two_replicas_are_ready_and_show_their_metrics(
    own_network: Network, deployed: dict[str, list[Deployed]], name: str
) -> None:
    probes = ("startupProbe", "livenessProbe", "readinessProbe")
    assert [[answers(own_network, one, each) for each in probes] for one in deployed[name]] == [
        [True] * 3
    ] * 2
    shown = [ask(own_network, f"{one.address}:8080", "/metrics") for one in deployed[name]]
    assert [each.status for each in shown] == [200 if name == WEBHOOK else 404] * 2


def test_the_controller_shows_its_metrics_to_tokens_that_may_read_them(
    admission: Cluster, own_network: Network, deployed: dict[str, list[Deployed]]
) -> None:
    one, *_ = deployed[SYNC]
    unverified = ssl.create_default_context()
    unverified.check_hostname, unverified.verify_mode = False, ssl.CERT_NONE

    def scraped(token: str) -> Answer:
        headers = {"Authorization": f"Bearer {token}"}
        return ask(own_network, f"{one.address}:8443", "/metrics", headers=headers, tls=unverified)

    kubectl(admission, "create", "serviceaccount", "prometheus", "--namespace=default")
    token = kubectl(admission, "create", "token", "prometheus", "--namespace=default").strip()
    before = scraped(token)
    kubectl(
        *(admission, "create", "clusterrolebinding", "prometheus"),
        *("--clusterrole=fusioninfer-metrics-reader", "--serviceaccount=default:prometheus"),
    )
    until(lambda: scraped(token).status == 200, "the token may read the metrics")

    assert (before.status, "prometheus may not get the path /metrics" in before.body) == (403, True)
    assert "does not know this token" in scraped(f"{token}x").body
    assert "fusioninfer_sync_is_leader" in scraped(token).body


def test_a_review_is_answered_with_a_patch(own_network: Network, deployed: dict[str, list[Deployed]]) -> None:
    answers = [mutated(own_network, one, read(WHOLE)) for one in deployed[WEBHOOK]]

    assert [(answer["allowed"], answer["patchType"]) for answer in answers] == [(True, "JSONPatch")] * 2


def test_one_of_the_pods_holds_the_lease_in_its_own_namespace(
    admission: Cluster, deployed: dict[str, list[Deployed]]
) -> None:
    assert deployed[SYNC]

    def holders() -> list[str]:
        found = items(admission.api, path("leases", NAMESPACE), fieldSelector=f"metadata.name={SYNC}")
        return [one["spec"]["holderIdentity"] for one in found if one["spec"].get("holderIdentity")]

    until(holders, "a replica leads")


@pytest.mark.parametrize("name", [SYNC, WEBHOOK])
def test_a_terminated_pod_ends_within_its_grace_period(
    deployed: dict[str, list[Deployed]], name: str
) -> None:
    one = deployed[name].pop()
    grace = one.pod["spec"]["terminationGracePeriodSeconds"]

    began = time.monotonic()
    assert stop(one.process, grace) == 0
    assert time.monotonic() - began < grace
