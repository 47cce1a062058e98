"""InferenceServices and their objects while webhook and controller of the next release take over."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from intent import Object
from tests.builders.isvc import decoder, isvc, prefiller, router, worker
from tests.cluster.testbed.audit import writes
from tests.cluster.testbed.cluster import Cluster, run_kubectl
from tests.cluster.testbed.controllers import apply, becomes
from tests.cluster.testbed.namespaces import add_namespace, empty_namespace
from tests.cluster.testbed.ours import ROOT
from tests.cluster.testbed.releases import release
from tests.cluster.testbed.rollouts import Rollout, caught_up, rollout, started
from tests.cluster.testbed.services import MADE, Objects, made, uids
from tests.cluster.testbed.upgrades import NEW_IMAGE, NEW_WORD, json_replaced, take_over
from tests.cluster.testbed.wait import until

ROUTE: Final = {"parentRefs": [{"name": "inference-gateway"}]}
ROUTER: Final = router(strategy="pd-disaggregation", httproute=ROUTE)
CHAT: Final = isvc(ROUTER, prefiller(replicas=1), decoder(replicas=1), name="chat")
OUT_OF_DATE: Final = isvc(router(httproute=ROUTE), worker(), name="out-of-date")
"""One that the next release finds wrong in itself."""
SERVICES: Final = (CHAT, OUT_OF_DATE)
SETS: Final = ("chat-prefill", "chat-decode", "out-of-date-inference")


@dataclass(frozen=True, slots=True)
class Taken:
    """A cluster that another release took over, and what there was before."""

    cluster: Cluster
    namespace: str
    made: Objects
    uids: dict[str, str]
    writes: int
    """How often the controller had written."""


@pytest.fixture(scope="module")
def taken(served: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Taken]:
    """Have this release make everything, then the next one take over; this one is back afterwards."""
    namespace = add_namespace(served)
    apply(served, namespace, *SERVICES)
    wait_made(served, namespace, *SERVICES)
    try:
        yield taken_over(served, namespace, release(tmp_path_factory.mktemp("release")), "next")
    finally:
        take_over(served, ROOT, controller=True)
        empty_namespace(served, namespace)


def taken_over(cluster: Cluster, namespace: str, source: Path, name: str) -> Taken:
    """Have another release take over; it has seen every service once it made what a new one asks for."""
    before, there = at_rest(cluster, namespace), uids(cluster, namespace)
    count = len(writes(cluster))
    take_over(cluster, source, controller=True)
    elsewhere = add_namespace(cluster)
    last = json_replaced(isvc(router(httproute=ROUTE), worker(), name=name), ":v0.17.1", ":v0.17.2")
    apply(cluster, elsewhere, last)
    wait_made(cluster, elsewhere, last)
    empty_namespace(cluster, elsewhere)
    return Taken(cluster, namespace, before, there, count)


def wait_made(cluster: Cluster, namespace: str, *services: Object) -> None:
    """Wait until the routes of services are made, and every pod of their groups."""
    for service in services:
        name = service["metadata"]["name"]
        until(partial(is_routed, cluster, namespace, name), f"the routes of {name}")
        for role in service["spec"]["roles"]:
            if "template" in role:
                started(cluster, namespace, f"{name}-{role['name']}")


def is_routed(cluster: Cluster, namespace: str, name: str) -> bool:
    """Return whether a service has its HTTPRoute: it is made last."""
    return ("httproutes", f"{name}-httproute") in made(cluster, namespace)


def is_newer(cluster: Cluster, namespace: str, name: str, first: Rollout) -> bool:
    """Return whether a LeaderWorkerSet has a revision that it had not."""
    return rollout(cluster, namespace, name).revisions > first.revisions


def at_rest(cluster: Cluster, namespace: str) -> Objects:
    """Return what there is once nothing of it changes any more."""
    looks: list[Objects] = []

    def unchanged() -> bool:
        looks.append(made(cluster, namespace))
        return looks[-2:-1] == looks[-1:]

    until(unchanged, "nothing changes", every=2.0)
    return looks[-1]


def said(taken: Taken, *command: str, stdin: str = "") -> str:
    """Run kubectl, which must succeed; return what it says beside."""
    done = run_kubectl(taken.cluster, *command, "--namespace", taken.namespace, stdin=stdin)
    assert done.returncode == 0, done.stderr
    return done.stderr


def is_as_before(taken: Taken) -> bool:
    """Return whether everything that was made is as it was, and every pod the one it was."""
    caught_up(taken.cluster, taken.namespace)
    there = at_rest(taken.cluster, taken.namespace)
    pods = uids(taken.cluster, taken.namespace).items()
    return there == taken.made and taken.uids.items() <= pods


def written(taken: Taken) -> list[str]:
    """List the objects that the controller wrote since the other release took over, without dry runs."""
    since = [each for each in writes(taken.cluster)[taken.writes :] if "dryRun" not in each["requestURI"]]
    about = [each["objectRef"] for each in since if each["objectRef"].get("namespace") == taken.namespace]
    return [f"{one['resource']}/{one['name']}" for one in about if one["resource"] in MADE]


# --- the next release -------------------------------------------------------------------------------


def test_the_next_release_writes_no_existing_object(taken: Taken) -> None:
    assert written(taken) == []
    assert is_as_before(taken)


def test_the_same_files_again_labels_and_notes_change_nothing(taken: Taken) -> None:
    said_now = ""
    for service in SERVICES:
        name = service["metadata"]["name"]
        said_now += said(taken, "apply", "--filename=-", stdin=json.dumps(service))
        said_now += said(taken, "label", "inferenceservice", name, "team=a", "--overwrite")
        said_now += said(taken, "annotate", "inferenceservice", name, "example.com/seen=yes", "--overwrite")
    for name in SETS:
        said_now += said(taken, "annotate", "leaderworkerset", name, "example.com/seen=yes", "--overwrite")
        said(taken, "annotate", "leaderworkerset", name, "example.com/seen-")

    assert "FI9" not in said_now
    assert is_as_before(taken)


def test_the_controller_s_own_write_changes_nothing_else(taken: Taken) -> None:
    said(taken, "scale", "leaderworkerset", "chat-decode", "--replicas=2")

    until(lambda: "leaderworkersets/chat-decode" in written(taken), "the controller takes it back")

    assert is_as_before(taken)


SCALED: Final = (
    (CHAT, isvc(ROUTER, prefiller(replicas=2), decoder(replicas=1), name="chat"), "chat-prefill", "FI108"),
    (
        isvc(router(httproute=ROUTE), worker(replicas=1), name="out-of-date"),
        isvc(router(httproute=ROUTE), worker(replicas=2), name="out-of-date"),
        "out-of-date-inference",
        "FI703: is out of date",
    ),
)
"""A service, the same with a second replica, what it is a replica of, and what the next release says."""


@pytest.mark.parametrize(("service", "scaled", "name", "told"), SCALED, ids=[each[2] for each in SCALED])
def test_a_scaled_role_keeps_its_revision_and_its_pods(
    taken: Taken, service: Object, scaled: Object, name: str, told: str
) -> None:
    first = rollout(taken.cluster, taken.namespace, name)

    warnings = said(taken, "apply", "--filename=-", stdin=json.dumps(scaled))
    until(lambda: len(rollout(taken.cluster, taken.namespace, name).pods) == 4, "it is scaled")
    after = started(taken.cluster, taken.namespace, name)
    apply(taken.cluster, taken.namespace, service)

    assert f"Warning: {told}" in warnings
    assert (after.revisions, first.pods.items() <= after.pods.items()) == (first.revisions, True)
    assert becomes(lambda: is_as_before(taken), expected=True)


# --- and back ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def returned(taken: Taken) -> Taken:
    """Change one under the next release, then have this release back."""
    changed = json_replaced(CHAT, ":v0.17.1", NEW_IMAGE.removeprefix("vllm/vllm-openai"))
    first = {name: rollout(taken.cluster, taken.namespace, name) for name in SETS[:2]}
    apply(taken.cluster, taken.namespace, changed)
    for name in SETS[:2]:
        until(partial(is_newer, taken.cluster, taken.namespace, name, first[name]), f"{name} follows")
    return taken_over(taken.cluster, taken.namespace, ROOT, "back")


def test_a_changed_service_follows_the_new_rules(returned: Taken) -> None:
    for name in SETS[:2]:
        assert NEW_WORD in str(returned.made["leaderworkersets", name]["spec"])
    assert NEW_WORD not in str(returned.made["leaderworkersets", SETS[2]]["spec"])


def test_on_the_way_back_nothing_that_is_there_is_written(returned: Taken) -> None:
    assert written(returned) == []


def test_on_the_way_back_the_same_file_changes_nothing(returned: Taken) -> None:
    changed = json_replaced(CHAT, ":v0.17.1", ":v0.17.2")
    warnings = said(returned, "apply", "--filename=-", stdin=json.dumps(changed))
    warnings += said(returned, "apply", "--filename=-", stdin=json.dumps(OUT_OF_DATE))

    assert "FI9" not in warnings
    assert {name: each for name, each in returned.made.items() if name[0] != "podgroups"} == {
        name: each
        for name, each in at_rest(returned.cluster, returned.namespace).items()
        if name[0] != "podgroups"
    }
