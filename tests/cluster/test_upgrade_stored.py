"""What an earlier release stored, restored on the real API server; webhook and controller take over.

A few cases have each state and each kind of object (`upgrades.stored.sample`); in the soak, each
case as it was applied is there too. Tests without an API server have all cases in all states.
Objects are made as they were stored, with the owners of their fields, by a user whom our webhooks leave out.
"""

import json
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Final

import pytest

from intent import Object
from tests.builders.isvc import isvc, router, worker
from tests.cluster.conftest import obtained
from tests.cluster.testbed.api import Api, apply, create, items, patch, path
from tests.cluster.testbed.build import build
from tests.cluster.testbed.cluster import Cluster, api_as, run_kubectl
from tests.cluster.testbed.control_plane import running
from tests.cluster.testbed.modules import CRDS, ROUTE_CRDS, ROUTE_DEFINITIONS, UNSCHEDULED
from tests.cluster.testbed.ours import install_manifests, start_sync, start_webhook, wait_admission
from tests.cluster.testbed.services import ALLOCATED, FOR_ISTIO, MADE, comparable
from tests.cluster.testbed.upgrades import SERVER_SIDE_FORCED
from tests.cluster.testbed.wait import until
from tests.cluster.testbed.written import CLIENT_SIDE, Words
from tests.tiers import WHOLE
from tests.upgrades.stored import APPLIED, Stored, sample, stored
from tests.upgrades.writes import pods

CONTROL: Final = ("kube-controller-manager", "lws")
"""Nothing schedules pods: a restart shows in revisions and in the uids of pods that wait."""
FOREIGN: Final = "kube-controller-manager"
"""The identity that our webhooks leave out."""
KINDS: Final = ("inferencetemplates", "inferenceservices", *(one for one in MADE if one != FOR_ISTIO))
"""The resources of the fixture, owners first. The LeaderWorkerSets of a DisaggregatedSet are their
controller's, which would make them with others: that case stays in the tests without an API server.
"""
ASIDE: Final = "disaggregatedset"
SET_BY_SERVER: Final = ("uid", "creationTimestamp", "generation", "managedFields", "ownerReferences")
Seen = dict[tuple[str, str, str], tuple[str, Object]]
"""By resource, namespace and name: the uid, and what authors set."""


@dataclass(frozen=True, slots=True)
class Restored:
    """A cluster with the fixture, of which this release took over, and what there was before."""

    cluster: Cluster
    those: tuple[Stored, ...]
    objects: Seen
    pods: dict[tuple[str, str], str]
    """The uid of each pod by its namespace and name."""


@pytest.fixture(scope="module")
def restored(request: pytest.FixtureRequest) -> Iterator[Restored]:
    """Restore the fixture, then have webhook and controller take over."""
    found = [one for one in stored() if one.case != ASIDE]
    few = sample(found)
    those = tuple(one for one in found if one in few or (WHOLE and one.state == APPLIED))
    built = obtained(request.config, lambda: build(sys.stderr, (*UNSCHEDULED, *ROUTE_DEFINITIONS)))
    with running(built, (*CRDS, *ROUTE_CRDS), CONTROL) as cluster:
        install_manifests(cluster)
        with ThreadPoolExecutor(8) as threads:
            list(threads.map(partial(restore, api_as(cluster, FOREIGN)), those))
        before, there = objects(cluster, those), at_rest(cluster)
        start_webhook(cluster)
        wait_admission(cluster)
        start_sync(cluster)
        wait_seen(cluster)
        yield Restored(cluster, those, before, there)


# --- restoring --------------------------------------------------------------------------------------


def restore(api: Api, one: Stored) -> None:
    """Make the objects of a case, owners first, with their statuses and the owners of their fields."""
    create(api, path("namespaces"), {"metadata": {"name": one.namespace}})
    uids: dict[str, str] = {}
    for obj in sorted(one.objects, key=lambda obj: KINDS.index(resource_of(obj))):
        resource, metadata = resource_of(obj), obj["metadata"]
        made = create(api, path(resource, one.namespace), bare(obj, uids))
        uids[metadata["uid"]] = made["metadata"]["uid"]
        where = path(resource, one.namespace, metadata["name"])
        if obj["kind"] == "InferenceService" and "status" in obj:
            patch(api, f"{where}/status", {"status": obj["status"]})
        patch(api, where, {"metadata": {"managedFields": metadata["managedFields"]}})


def resource_of(obj: Object) -> str:
    """Return the resource of an object, by its kind."""
    name = obj["kind"].lower()
    return next(one for one in KINDS if one in {f"{name}s", f"{name}es"})


def bare(obj: Object, uids: dict[str, str]) -> Object:
    """Return what a client may create of an object: its owners by their new uids, and no addresses."""
    metadata = {key: value for key, value in obj["metadata"].items() if key not in SET_BY_SERVER}
    if owners := obj["metadata"].get("ownerReferences"):
        metadata["ownerReferences"] = [{**owner, "uid": uids[owner["uid"]]} for owner in owners]
    whole = {key: value for key, value in obj.items() if key != "status"} | {"metadata": metadata}
    if obj["kind"] == "Service" and obj["spec"].get("clusterIP") != "None":
        whole["spec"] = {key: value for key, value in obj["spec"].items() if key not in ALLOCATED}
    return whole


# --- what there is ----------------------------------------------------------------------------------


def objects(cluster: Cluster, those: tuple[Stored, ...]) -> Seen:
    """Return everything that was restored: its uid, and what authors set."""
    spaces = {one.namespace for one in those}
    return {
        (resource, one["metadata"]["namespace"], one["metadata"]["name"]): (
            one["metadata"]["uid"],
            comparable(one),
        )
        for resource in KINDS
        for one in items(cluster.api, path(resource))
        if one["metadata"]["namespace"] in spaces
    }


def all_pods(cluster: Cluster) -> dict[tuple[str, str], str]:
    """Return the uid of each pod of an engine or a picker, and the name of each revision of a set."""
    found = [*items(cluster.api, path("pods")), *items(cluster.api, path("controllerrevisions"))]
    named = [one["metadata"] for one in found]
    return {(one["namespace"], one["name"]): one["uid"] for one in named}


def at_rest(cluster: Cluster) -> dict[tuple[str, str], str]:
    """Return the pods and revisions once there are no more."""
    looks: list[dict[tuple[str, str], str]] = []

    def unchanged() -> bool:
        looks.append(all_pods(cluster))
        return looks[-2:-1] == looks[-1:]

    until(unchanged, "no pods come any more", seconds=600, every=3.0)
    return looks[-1]


def wait_seen(cluster: Cluster) -> None:
    """Wait until the controller has seen every service: it made the routes of a later one."""
    create(cluster.api, path("namespaces"), {"metadata": {"name": "later"}})
    route = {"parentRefs": [{"name": "gateway"}]}
    create(
        cluster.api, path("inferenceservices", "later"), isvc(router(httproute=route), worker(), name="last")
    )
    until(lambda: items(cluster.api, path("httproutes", "later")), "the routes of a later service")


def changed(restored: Restored) -> list[str]:
    """Name what is not as it was: gone, made again, or changed."""
    now = objects(restored.cluster, restored.those)
    return ["/".join(key) for key, seen in restored.objects.items() if now.get(key) != seen]


def restarted(restored: Restored) -> list[str]:
    """Name the sets whose pods are not as they were, by their templates, revisions or uids."""
    there = at_rest(restored.cluster)
    gone = ["/".join(key) for key, uid in restored.pods.items() if there.get(key) != uid]
    now = objects(restored.cluster, restored.those)
    sets = [(key, seen) for key, seen in restored.objects.items() if key[0] == "leaderworkersets"]
    other = ["/".join(key) for key, (_, lws) in sets if pods(now[key][1]) != pods(lws)]
    return [*gone, *other]


# --- the law, in the order of the writes ------------------------------------------------------------


def test_nothing_changes_when_this_release_takes_over(restored: Restored) -> None:
    assert changed(restored) == []
    assert restarted(restored) == []


@pytest.mark.parametrize("words", [CLIENT_SIDE, SERVER_SIDE_FORCED], ids=["client-side", "server-side"])
def test_the_authors_files_again_restart_nothing(restored: Restored, words: Words) -> None:
    files = [obj for one in restored.those if one.state == APPLIED for obj in one.written]
    whole = {"apiVersion": "v1", "kind": "List", "items": files}

    done = run_kubectl(restored.cluster, *words, "--validate=false", "--filename=-", stdin=json.dumps(whole))

    assert (done.returncode, "FI902" in done.stderr) == (0, False), done.stderr
    assert restarted(restored) == []


def test_a_label_and_a_replica_more_restart_nothing(restored: Restored) -> None:
    api = restored.cluster.api
    for one in items(api, path("leaderworkersets")):
        where = path("leaderworkersets", one["metadata"]["namespace"], one["metadata"]["name"])
        label = {
            "apiVersion": one.get("apiVersion", "leaderworkerset.x-k8s.io/v1"),
            "kind": "LeaderWorkerSet",
        }
        apply(api, where, {**label, "metadata": {"labels": {"example.com/team": "b"}}}, manager="another")
        replicas = one["spec"]["replicas"] + 1
        patch(api, f"{where}/scale", {"spec": {"replicas": replicas}})

    assert restarted(restored) == []
