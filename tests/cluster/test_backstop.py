"""The webhooks are gone, and the policy is not: what opts in and is not expanded is told so, or refused."""

import json
from collections.abc import Iterator
from typing import Final

import pytest

from hack.manifests.objects import find
from intent import Object
from intent.annotations import EXPANSION
from tests.cluster.testbed.admissions import CONFIGURATIONS, without
from tests.cluster.testbed.cluster import Cluster, kubectl, run_kubectl
from tests.cluster.testbed.namespaces import add_namespace, empty_namespace
from tests.cluster.testbed.ours import wait_admission
from tests.cluster.testbed.wait import until
from tests.cluster.testbed.written import WHOLE, named, read, unannotated

ANNOTATED: Final = read(WHOLE)
NEW: Final = named(ANNOTATED, "new")
BACKSTOP: Final = "backstop.fusioninfer.io"
SAID: Final = "not expanded: the mutating webhook did not run"


@pytest.fixture(scope="module")
def unguarded(admission: Cluster) -> Iterator[str]:
    """A namespace in a cluster from which the webhook configurations were deleted."""
    namespace = add_namespace(admission)
    with without(admission, *CONFIGURATIONS):
        until(lambda: SAID in dry_run(admission, namespace), "the policy warns")
        yield namespace
    wait_admission(admission)
    empty_namespace(admission, namespace)


@pytest.fixture
def strict(admission: Cluster, unguarded: str) -> Iterator[str]:
    """The same, and the policy denies."""
    bind(admission, ["Deny", "Audit"])
    until(lambda: "created" not in dry_run(admission, unguarded), "the policy denies")
    yield unguarded
    bind(admission, ["Warn", "Audit"])
    until(lambda: "created" in dry_run(admission, unguarded), "the policy only warns")


def bind(cluster: Cluster, actions: list[str]) -> None:
    """Apply the binding of the manifests with other actions."""
    binding = find("ValidatingAdmissionPolicyBinding", BACKSTOP)
    changed = {**binding, "spec": {**binding["spec"], "validationActions": actions}}
    kubectl(cluster, "apply", "--server-side", "--filename=-", stdin=json.dumps(changed))


def write(cluster: Cluster, namespace: str, lws: Object, *words: str) -> str:
    """Have kubectl write an object; return all that it says."""
    done = run_kubectl(
        cluster, "apply", "--namespace", namespace, *words, "--filename=-", stdin=json.dumps(lws)
    )
    return done.stdout + done.stderr


def dry_run(cluster: Cluster, namespace: str, lws: Object = NEW) -> str:
    return write(cluster, namespace, lws, "--dry-run=server")


def test_objects_without_opt_in_are_ignored(admission: Cluster, unguarded: str) -> None:
    assert "Warning" not in dry_run(admission, unguarded, unannotated(NEW))


def test_an_object_that_bypasses_admission_is_accepted(admission: Cluster, unguarded: str) -> None:
    assert "Warning" not in dry_run(admission, unguarded, named(ANNOTATED, "broken", inject="disabled"))


def test_what_was_not_expanded_before_is_let_alone(admission: Cluster, unguarded: str) -> None:
    write(admission, unguarded, ANNOTATED)
    changed = {**ANNOTATED, "spec": {**ANNOTATED["spec"], "replicas": 2}}

    assert "Warning" not in write(admission, unguarded, changed)


def test_an_object_without_its_record_is_reported(admission: Cluster, unguarded: str) -> None:
    expanded = named(ANNOTATED, "was-expanded", expansion="{}")
    write(admission, unguarded, expanded)

    assert SAID in write(admission, unguarded, named(ANNOTATED, "was-expanded"))


def test_a_file_that_is_applied_again_keeps_the_record_and_passes(admission: Cluster, unguarded: str) -> None:
    expanded = named(ANNOTATED, "applied-again")
    write(admission, unguarded, expanded)
    kubectl(admission, "annotate", "lws", "applied-again", f"{EXPANSION}={{}}", "--namespace", unguarded)

    assert "Warning" not in write(admission, unguarded, expanded)


def test_where_it_is_strict_it_is_refused(admission: Cluster, strict: str) -> None:
    said = dry_run(admission, strict)

    assert SAID in said
    assert "Warning" not in said
