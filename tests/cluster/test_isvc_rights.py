"""With InferenceServices the controller asks for all that its manifests grant, and for nothing else.

The log is that of the whole run so far: what earlier files had the controller do counts too.
"""

from collections.abc import Iterator
from typing import Final

import pytest
import yaml

from intent.annotations import SERVICE as SERVICE_LABEL
from tests.builders.autoscaling import external, scaling
from tests.builders.isvc import decoder, isvc, prefiller, router
from tests.cluster.testbed.audit import refused, requests, words
from tests.cluster.testbed.cluster import IDENTITIES, Cluster, kubectl
from tests.cluster.testbed.controllers import DECODE, PREFILL, SERVICE, apply, configured, told
from tests.cluster.testbed.namespaces import new_namespace
from tests.cluster.testbed.ours import ROOT
from tests.cluster.testbed.services import MADE, made
from tests.cluster.testbed.wait import until
from tests.cluster.testbed.written import named, read

HANDED_ON: Final = frozenset({"clusterroles"})
"""What the controller only binds for endpoint pickers, and never asks for itself."""


def rights() -> set[tuple[str, str]]:
    """Return the verbs and resources of all roles of the controller; subresources count as their resource."""
    documents = yaml.safe_load_all((ROOT / "manifests" / "base" / "rbac.yaml").read_text())
    rules = [rule for document in documents for rule in document.get("rules", ())]
    return {
        (verb, resource.partition("/")[0])
        for rule in rules
        for verb in rule["verbs"]
        for resource in rule["resources"]
        if resource not in HANDED_ON
    }


IMPLIED: Final = ("create", "events")
"""What an apply of an object that does not exist needs: its request is a patch."""
NAME: Final = "chat"
GATEWAY: Final = {"gatewayClassName": "any", "listeners": [{"name": "http", "port": 80, "protocol": "HTTP"}]}
ROUTED: Final = isvc(
    router(strategy="pd-disaggregation", gateway=GATEWAY, ingress={}),
    prefiller(),
    decoder(scaling=scaling(external())),
    name=NAME,
    priority="Critical",
)
BARE: Final = isvc(
    prefiller(name="first"), decoder(), name=NAME, schedulingStrategy={"schedulerName": "default-scheduler"}
)
"""Neither routes nor a gang nor an autoscaler, and one role under another name."""
SETS: Final = {
    ("leaderworkersets", f"{NAME}-first"),
    ("leaderworkersets", f"{NAME}-decode"),
    ("services", f"{NAME}-api"),
}
PLACED: Final = {("podgroups", SERVICE)}
BEHIND: Final = frozenset({"podgroups", "gateways", "horizontalpodautoscalers", "inferencepools"})
"""Kinds that are watched whole: the controller reads one by its name only where its cache is behind."""
ODD: Final = named(read(DECODE), f"{SERVICE}-decode", scheduler_name="default-scheduler")
"""A member that contradicts the other."""


@pytest.fixture(scope="module")
def whole_life(served: Cluster) -> Iterator[Cluster]:
    """A service that has every kind of object, and keeps only its sets; and a finding that comes back."""
    settings = {"pickerReplicas": 2, "destinationRules": True}
    with configured(served, **settings), new_namespace(served) as namespace:
        apply(served, namespace, ROUTED)
        until(lambda: kinds(served, namespace) == set(MADE), "it has an object of every kind")
        lose_labels(served, namespace)
        apply(served, namespace, BARE)
        until(lambda: set(made(served, namespace)) == SETS, "only its sets and their Service are left")
        come_back(served, namespace)
        yield served


def lose_labels(cluster: Cluster, namespace: str) -> None:
    """Remove the label from every object that is found by it: each is read and labelled again."""
    there = made(cluster, namespace)
    for resource, name in there:
        kubectl(cluster, "label", "-n", namespace, resource, name, f"{SERVICE_LABEL}-")
    until(lambda: made(cluster, namespace) == there, "each has its label again")


def come_back(cluster: Cluster, namespace: str) -> None:
    """Have two members contradict each other, agree, and contradict each other again."""
    apply(cluster, namespace, PREFILL, DECODE)
    for times in (1, 2):
        apply(cluster, namespace, ODD)
        until(lambda times=times: len(told(cluster, namespace)) == 2 * times, "each is told")  # type: ignore[misc] # mypy cannot infer a lambda with a default
        apply(cluster, namespace, DECODE)
        until(lambda: set(made(cluster, namespace)) >= PLACED, "they agree")


def test_nothing_was_forbidden(whole_life: Cluster) -> None:
    assert refused(whole_life) == []


def test_every_request_was_made_as_its_service_account(whole_life: Cluster) -> None:
    users = {request["user"]["username"] for request in requests(whole_life)}

    assert users == {IDENTITIES["sync"].user}


def test_it_uses_all_rights_of_its_manifests_and_no_other(whole_life: Cluster) -> None:
    asked = {words(request) for request in requests(whole_life)}

    assert asked | {("get", kind) for kind in BEHIND} | {IMPLIED} == rights()


def kinds(cluster: Cluster, namespace: str) -> set[str]:
    """Return what sorts of objects the controller made."""
    return {resource for resource, _ in made(cluster, namespace)}
