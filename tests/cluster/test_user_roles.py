"""The roles view, edit and admin of Kubernetes, in one namespace, for a user of InferenceServices."""

import json
from collections.abc import Iterator
from typing import Final

import pytest

from tests.builders.isvc import isvc
from tests.cluster.testbed.cluster import Cluster, kubectl, run_kubectl
from tests.cluster.testbed.controllers import becomes
from tests.cluster.testbed.namespaces import new_namespace
from tests.cluster.testbed.wait import until

USER: Final = "jane"
NAME: Final = "svc"
RESOURCE: Final = "inferenceservices.fusioninfer.io"
READ: Final = {"get", "list", "watch"}
WRITE: Final = {"create", "update", "patch", "delete", "deletecollection"}


@pytest.fixture
def theirs(fusioninfer: Cluster) -> Iterator[str]:
    """A namespace with an InferenceService."""
    with new_namespace(fusioninfer) as namespace:
        kubectl(fusioninfer, "apply", "-n", namespace, "-f-", stdin=json.dumps(isvc(name=NAME)))
        yield namespace


@pytest.mark.parametrize(("role", "verbs"), [("view", READ), ("edit", READ | WRITE), ("admin", READ | WRITE)])
def test_a_role_of_kubernetes_includes_inferenceservices(
    fusioninfer: Cluster, theirs: str, role: str, verbs: set[str]
) -> None:
    bind(fusioninfer, theirs, role)

    assert becomes(lambda: {verb for verb in READ | WRITE if may(fusioninfer, theirs, verb)}, verbs) == verbs
    assert {verb for verb in READ | WRITE if may(fusioninfer, theirs, verb, "--subresource=status")} <= READ


def test_a_role_holds_in_its_namespace_only(fusioninfer: Cluster, theirs: str) -> None:
    bind(fusioninfer, theirs, "edit")
    until(lambda: may(fusioninfer, theirs, "create"), "the role is aggregated")

    assert not may(fusioninfer, "default", "create")


def bind(cluster: Cluster, namespace: str, role: str) -> None:
    """Bind a ClusterRole of Kubernetes to the user in a namespace."""
    words = ("create", "rolebinding", USER, f"--clusterrole={role}", f"--user={USER}")
    kubectl(cluster, *words, "--namespace", namespace)


def may(cluster: Cluster, namespace: str, verb: str, *words: str) -> bool:
    """Return whether the user may do something with InferenceServices."""
    asked = ("auth", "can-i", verb, RESOURCE, *words, f"--as={USER}", "--namespace", namespace)
    return run_kubectl(cluster, *asked).stdout.strip() == "yes"
