"""The annotation taken away: the object is what it would be had nobody ever annotated it."""

import shlex
import sys

import pytest

from intent.annotations import EXPANSION
from tests.cluster.testbed.api import get, path
from tests.cluster.testbed.cluster import Cluster, kubectl, run_kubectl
from tests.cluster.testbed.differences import differences
from tests.cluster.testbed.ours import ROOT
from tests.cluster.testbed.rollouts import caught_up, started
from tests.cluster.testbed.written import (
    CLIENT_SIDE,
    SERVER_SIDE,
    WHOLE,
    Words,
    named,
    put,
    read,
    stored,
    unannotated,
)

ANNOTATED = read(WHOLE)
NAME = ANNOTATED["metadata"]["name"]
PLAIN = unannotated(ANNOTATED)
TWIN = named(PLAIN, "twin")
EDITOR = f"{shlex.quote(sys.executable)} {shlex.quote(str(ROOT / 'tests/cluster/admission/editor.py'))}"
TAKEN_AWAY = ("annotate", "leaderworkersets", NAME, "fusioninfer.io/service-")


@pytest.mark.parametrize(
    ("first", "last"),
    [(CLIENT_SIDE, CLIENT_SIDE), (SERVER_SIDE, (*SERVER_SIDE, "--force-conflicts"))],
    ids=["client-side", "server-side"],
)
def test_a_file_without_the_annotation_makes_it_equal_to_its_twin(
    admission: Cluster, namespace: str, monkeypatch: pytest.MonkeyPatch, first: Words, last: Words
) -> None:
    written_and_edited(admission, namespace, monkeypatch, first)

    put(admission, namespace, last, PLAIN)
    put(admission, namespace, last, TWIN)

    assert differences(*pair(admission, namespace)) == {}


def test_kubectl_annotate_reverts_the_expansion_and_keeps_every_edit(
    admission: Cluster, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    written_and_edited(admission, namespace, monkeypatch, CLIENT_SIDE)

    kubectl(admission, *TAKEN_AWAY, "--namespace", namespace)

    assert differences(*pair(admission, namespace)) == {}


def written_and_edited(
    cluster: Cluster, namespace: str, monkeypatch: pytest.MonkeyPatch, words: Words
) -> None:
    """Write the annotated one and its twin, and edit both in the same way."""
    monkeypatch.setenv("KUBE_EDITOR", EDITOR)
    for lws in (ANNOTATED, TWIN):
        put(cluster, namespace, words, lws)
        kubectl(cluster, "edit", "leaderworkersets", lws["metadata"]["name"], "--namespace", namespace)


def pair(cluster: Cluster, namespace: str) -> tuple[object, object]:
    """Read the twin, then the one that was annotated."""
    return stored(cluster, namespace, "twin"), stored(cluster, namespace, NAME)


def test_an_unreadable_record_is_removed_as_the_message_says_and_no_pod_restarts(
    admission: Cluster, namespace: str
) -> None:
    where = ("annotate", "leaderworkersets", NAME, "--overwrite", "--namespace", namespace)
    lws = put(admission, namespace, CLIENT_SIDE, ANNOTATED)
    before = started(admission, namespace, NAME)
    newer = lws["metadata"]["annotations"][EXPANSION].replace('"v":2', '"v":3')
    kubectl(admission, *where, "fusioninfer.io/inject=disabled", f"{EXPANSION}={newer}")
    kubectl(admission, *where, "fusioninfer.io/inject-")

    said = run_kubectl(admission, *where, f"{EXPANSION}-")
    removed = get(admission.api, path("leaderworkersets", namespace, NAME))
    again = put(admission, namespace, ("replace",), ANNOTATED)
    caught_up(admission, namespace)

    assert (said.returncode, "FI535" in said.stderr) == (0, True)
    assert (EXPANSION in removed["metadata"]["annotations"], removed["spec"]) == (False, lws["spec"])
    assert (again["metadata"]["annotations"][EXPANSION][:11], again["spec"]) == ('{"decided":', lws["spec"])
    assert started(admission, namespace, NAME) == before
