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


def test_a_user_with_edit_creates_changes_and_deletes_one(fusioninfer: Cluster, theirs: str) -> None:
    bind(fusioninfer, theirs, "edit")
    until(lambda: may(fusioninfer, theirs, "create"), "the role is aggregated")

    as_user(fusioninfer, theirs, "apply", "-f-", stdin=json.dumps(isvc(name="mine")))
    as_user(fusioninfer, theirs, "annotate", RESOURCE, "mine", "note=one")
    as_user(fusioninfer, theirs, "delete", RESOURCE, "mine", "--wait=false")


def test_a_user_with_view_only_reads(fusioninfer: Cluster, theirs: str) -> None:
    bind(fusioninfer, theirs, "view")
    until(lambda: may(fusioninfer, theirs, "get"), "the role is aggregated")

    assert NAME in as_user(fusioninfer, theirs, "get", "isvc", "--output=name")
    assert "forbidden" in refused(fusioninfer, theirs, "annotate", RESOURCE, NAME, "note=one")
    assert "forbidden" in refused(fusioninfer, theirs, "delete", RESOURCE, NAME)


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


def as_user(cluster: Cluster, namespace: str, *words: str, stdin: str = "") -> str:
    return kubectl(cluster, *words, f"--as={USER}", "--namespace", namespace, stdin=stdin)


def refused(cluster: Cluster, namespace: str, *words: str) -> str:
    """Return the error of a command that must fail."""
    done = run_kubectl(cluster, *words, f"--as={USER}", "--namespace", namespace)
    assert done.returncode != 0
    return done.stderr
