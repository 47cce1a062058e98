"""What `kubectl apply -k` stores is run: the pods of our Deployments, with exactly their words and ports.

With `--image` they are run from the image, as containers are; else from this checkout.
"""

import json
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
from tests.cluster.testbed.network import Network, ask
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
def test_two_replicas_are_ready(deployed: dict[str, list[Deployed]], name: str) -> None:
    assert len(deployed[name]) == 2


@pytest.mark.parametrize("probe", ["startupProbe", "livenessProbe", "readinessProbe"])
@pytest.mark.parametrize("name", [WEBHOOK, SYNC])
def test_every_probe_succeeds(
    own_network: Network, deployed: dict[str, list[Deployed]], name: str, probe: str
) -> None:
    assert all(answers(own_network, one, probe) for one in deployed[name])


def test_a_review_is_answered_with_a_patch(own_network: Network, deployed: dict[str, list[Deployed]]) -> None:
    answers = [mutated(own_network, one, read(WHOLE)) for one in deployed[WEBHOOK]]

    assert [(answer["allowed"], answer["patchType"]) for answer in answers] == [(True, "JSONPatch")] * 2


@pytest.mark.parametrize("name", [WEBHOOK, SYNC])
def test_metrics_are_shown(own_network: Network, deployed: dict[str, list[Deployed]], name: str) -> None:
    shown = [ask(own_network, f"{one.address}:8080", "/metrics") for one in deployed[name]]

    assert all("fusioninfer_" in answer.body for answer in shown)


def test_one_of_the_pods_holds_the_lease_in_its_own_namespace(
    admission: Cluster, deployed: dict[str, list[Deployed]]
) -> None:
    assert deployed[SYNC]
    until(lambda: holder(admission), "a replica leads")


def holder(cluster: Cluster) -> str:
    found = [one for one in items(cluster.api, path("leases", NAMESPACE)) if one["metadata"]["name"] == SYNC]
    return next((str(one["spec"].get("holderIdentity") or "") for one in found), "")


@pytest.mark.parametrize("name", [SYNC, WEBHOOK])
def test_a_terminated_pod_ends_within_its_grace_period(
    deployed: dict[str, list[Deployed]], name: str
) -> None:
    one = deployed[name].pop()
    grace = one.pod["spec"]["terminationGracePeriodSeconds"]

    began = time.monotonic()
    assert stop(one.process, grace) == 0
    assert time.monotonic() - began < grace
