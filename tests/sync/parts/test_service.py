"""The desired state of one service, all parts together."""

from dataclasses import replace
from typing import Any, Final

import pytest

from catalog.pickers.generations import OBJECTIVES_API, ROUTER_OBJECTIVES_API
from intent import Object
from intent.annotations import Routing
from intent.errors import Subject
from intent.served import LEADERS, Serving
from intent.service.member import Member
from intent.settings import Settings
from sync.events import lasting
from sync.kinds import LWS, OUTPUTS, ROUTES
from sync.observed.inferenceservice import cached_inferenceservice
from sync.observed.lws import CachedLeaderWorkerSet
from sync.parts.desired import Desired, Refusal
from sync.parts.service import ALL, desired_state, reporting, unavailable
from sync.parts.sets import SETS
from sync.snapshot import Situation, Snapshot
from tests.sync.samples import KEY, SETTINGS, decode, inference_service, member, prefill, role, routed

MEMBERS = (prefill(), decode())
SPLIT = Routing("pd-disaggregation", gateway="gate")
ROUTED = (prefill(routing=SPLIT), decode(routing=SPLIT))
FIRST, SECOND = f"{KEY[1]}-54b76dbb9c", f"{KEY[1]}-7d9f6c5b4d"
NOTHING = frozenset[str]()
PARTS = [
    *("ServiceAccount", "RoleBinding", "ConfigMap", "InferencePool", "Deployment", "Service"),
    "HTTPRoute",
]


def snapshot(
    service: Object | None = None, members: tuple[Any, ...] = (), **rows: tuple[Any, ...]
) -> Snapshot:
    return Snapshot(Situation(KEY, members), cached_inferenceservice(service) if service else None, rows)


def said(desired: Desired) -> list[tuple[str, str, str]]:
    return [(one.subject.kind, one.subject.name, one.error.code) for one in desired.all_findings]


def kinds(desired: Desired) -> list[str]:
    return [obj["kind"] for obj in desired.objects]


def test_an_inference_service_has_an_lws_for_each_role_which_it_controls_and_blocks_no_deletion() -> None:
    desired = desired_state(snapshot(inference_service()), SETTINGS)

    assert [obj["metadata"]["name"] for obj in desired.objects] == ["r1-prefill", "r1-decode"]
    assert desired.objects[0]["metadata"]["labels"] == {"fusioninfer.io/service": "r1"}
    assert desired.objects[0]["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "fusioninfer.io/v1alpha1",
            "kind": "InferenceService",
            "name": "r1",
            "uid": "uid-r1",
            "controller": True,
        }
    ]


OLD: Final = {OBJECTIVES_API: True, ROUTER_OBJECTIVES_API: False}
NONE: Final = {OBJECTIVES_API: False, ROUTER_OBJECTIVES_API: False}
BOTH: Final = {OBJECTIVES_API: True, ROUTER_OBJECTIVES_API: True}


@pytest.mark.parametrize(
    ("picker", "served", "code", "words"),
    [
        ("llm-d-0.4", OLD, "", ""),
        ("llm-d-0.4", {}, "", ""),
        ("llm-d-0.4", NONE, "FI826", "choose llm-d-0.10, or install that CRD"),
        ("llm-d-0.7", NONE, "", ""),
        ("llm-d-0.7", BOTH, "", ""),
        ("llm-d-0.10", OLD, "", ""),
        ("llm-d-0.10", BOTH, "FI827", "llm-d.ai/v1alpha2 alone: create r1 with priority 100 there"),
    ],
)
def test_what_an_endpoint_picker_lacks_of_the_objectives_of_the_cluster_is_said(
    picker: str, served: dict[str, bool], code: str, words: str
) -> None:
    service = routed(annotations={"fusioninfer.io/picker": picker})
    service |= {"spec": service["spec"] | {"priority": "Critical"}}
    split = replace(SPLIT, picker=picker)
    known = snapshot(service, (prefill(routing=split), decode(routing=split)))

    before, after = (desired_state(one, SETTINGS) for one in (known, replace(known, objectives=served)))

    found = [one.error for one in after.of_routes if one not in before.of_routes]
    assert [one.code for one in found] == [code] * bool(code)
    assert all(words in one.message and one.severity == "warning" for one in found)
    assert after.objects == before.objects


LWS_OF_ROLES: Final = ["LeaderWorkerSet"] * 2
GANG: Final = ["PodGroup", "Service"]
STRATEGY: Final = {"fusioninfer.io/strategy": "queue-size"}
MANY: Final = role("a", replicas="many")
DISAGREEING: Final = (prefill(routing=Routing("queue-size")), decode(routing=SPLIT))
STATES: Final[dict[str, tuple[Object | None, tuple[Member, ...], list[str], frozenset[str], str]]] = {
    "the order follows the requirements": (routed(), ROUTED, [*LWS_OF_ROLES, *GANG, *PARTS], NOTHING, ""),
    "users keep the LWS that they wrote": (None, MEMBERS, GANG, SETS, ""),
    "one that cannot be read": (routed(MANY), ROUTED, ["PodGroup"], SETS | ROUTES, "FI701"),
    "a field of a later release": (
        inference_service(role("a", sharding="by expert")),
        (),
        [],
        SETS | ROUTES,
        "FI702",
    ),
    "a broken rule": (inference_service(annotations=STRATEGY), (), LWS_OF_ROLES, SETS | ROUTES, "FI709"),
    "it is being deleted": (
        inference_service(deletionTimestamp="2026-01-01T00:00:00Z"),
        MEMBERS,
        [],
        ALL,
        "",
    ),
    "members disagree on routes": (None, DISAGREEING, GANG, SETS | ROUTES, "FI806"),
    "its LWS do not exist yet": (routed(), (), LWS_OF_ROLES, ROUTES, ""),
    "a role has the name of the endpoint picker": (
        routed(role("epp", "prefiller"), role("decode", "decoder")),
        (),
        LWS_OF_ROLES,
        SETS | ROUTES,
        "",
    ),
    "it has no router": (inference_service(), (), LWS_OF_ROLES, frozenset({"Ingress"}), ""),
}


@pytest.mark.parametrize(("service", "members", "made", "held", "code"), STATES.values(), ids=STATES)
def test_what_is_made_is_held_and_is_reported(
    service: Object | None, members: tuple[Member, ...], made: list[str], held: frozenset[str], code: str
) -> None:
    desired = desired_state(snapshot(service, members), SETTINGS)

    assert (kinds(desired), set(desired.held)) == (made, set(held))
    told = [("InferenceService", "r1")] if service else [("LeaderWorkerSet", name) for name in ("d", "p")]
    assert said(desired) == [(kind, name, code) for kind, name in told if code]


def test_an_unreadable_object_is_reported_and_changes_nothing() -> None:
    """Its LeaderWorkerSets look as if it were gone."""
    subject, why = (
        Subject("fusioninfer.io/v1alpha1", "InferenceService", "team-a", "r1", "uid-r1"),
        "too deep",
    )
    controller = {"kind": "InferenceService", "name": "r1", "uid": "uid-r1", "controller": True}
    metadata = {"namespace": "team-a", "name": "r1-prefill", "ownerReferences": [controller]}
    left = snapshot(None, (), LeaderWorkerSet=(LWS.project({"metadata": metadata}),))
    seen = replace(left, unknown={"InferenceService": why}, unreadable=((subject, why),))

    desired = desired_state(seen, SETTINGS)

    assert (desired.objects, set(desired.held)) == ((), set(ALL))
    assert said(desired) == [("InferenceService", "r1", "FI881")]


@pytest.mark.parametrize("service", [None, inference_service(uid="uid-new")], ids=["gone", "replaced"])
def test_objects_of_a_deleted_inference_service_are_left_to_the_garbage_collector(
    service: Object | None,
) -> None:
    controller = {"kind": "InferenceService", "name": "r1", "uid": "uid-old", "controller": True}
    metadata = {"namespace": "team-a", "name": "r1-prefill", "ownerReferences": [controller]}

    desired = desired_state(
        snapshot(service, MEMBERS, LeaderWorkerSet=(LWS.project({"metadata": metadata}),)), SETTINGS
    )

    assert (desired.objects, set(desired.held)) == ((), set(ALL))


def test_members_that_disagree_hold_the_pod_group_and_nothing_else() -> None:
    members = (prefill(queue="gpu"), decode(routing=SPLIT))

    desired = desired_state(snapshot(routed(), members), SETTINGS)

    assert kinds(desired) == ["LeaderWorkerSet", "LeaderWorkerSet", "Service", *PARTS]
    assert (desired.held, set(desired.held_objects)) == (
        frozenset(),
        {("PodGroup", "r1"), ("DestinationRule", "r1-epp")},
    )


def test_a_refused_route_is_reported_on_the_inference_service_or_on_every_member() -> None:
    refusal = Refusal("FI870", "this cluster has no InferencePool", "InferencePool", ())

    desired = reporting(snapshot(inference_service(), MEMBERS), refusal)
    without = reporting(snapshot(members=MEMBERS), refusal)

    assert said(desired) == [("InferenceService", "r1", "FI870")]
    assert said(without) == [("LeaderWorkerSet", name, "FI870") for name in ("d", "p")]


def test_a_refused_objective_is_reported_at_the_priority_beside_routes() -> None:
    refusal = Refusal("FI870", "this cluster has no InferenceObjective", "InferenceObjective", ())

    (finding,) = reporting(snapshot(members=(decode(),)), refusal).of_routes

    assert finding.error.path == "metadata.annotations[fusioninfer.io/priority]"
    assert finding.error.severity == "warning"


def test_a_kind_that_cannot_be_listed_keeps_its_event_when_another_one_returns() -> None:
    refusals = (unavailable(kind, "r1", "it cannot be listed") for kind in ("InferencePool", "HTTPRoute"))
    both = [reporting(snapshot(inference_service()), each).of_routes for each in refusals]

    names = [[each.name for each in lasting(findings)] for findings in ([*both[0], *both[1]], both[1])]

    assert names[0][1:] == names[1]


def revisions(*members: Member) -> Snapshot:
    """Return two revisions of a DisaggregatedSet: the first has `MEMBERS`, the second these."""
    gangs = (Situation(KEY, MEMBERS, group=FIRST), Situation(KEY, members, group=SECOND))
    return Snapshot(Situation(KEY, ()), revisions=gangs)


def test_a_revision_whose_members_disagree_holds_its_own_pod_group_only() -> None:
    desired = desired_state(revisions(prefill("new-p", queue="gpu"), decode("new-d")), SETTINGS)

    assert [obj["metadata"]["name"] for obj in desired.objects] == [FIRST, f"{KEY[1]}-api"]
    assert desired.held_objects == {("PodGroup", SECOND)}
    assert "PodGroup" not in desired.held


@pytest.mark.parametrize(
    ("picker", "settings", "user"),
    [
        (None, SETTINGS, None),
        ("llm-d-0.10", SETTINGS, 65532),
        ("llm-d-0.7", SETTINGS, None),
        ("llm-d-0.10", replace(SETTINGS, picker_security_context={"privileged": False}), None),
        ("llm-d-0.10", replace(SETTINGS, picker_pod_security_context={"runAsUser": 7}), 7),
    ],
    ids=["new", "stored", "of another generation", "another container", "the operator's"],
)
def test_an_endpoint_picker_keeps_the_uid_of_an_earlier_release_while_nothing_else_restarts_it(
    picker: str | None, settings: Settings, user: int | None
) -> None:
    """A platform may assign uids: a new one has none."""
    stored = {
        "metadata": {
            "namespace": KEY[0],
            "name": "r1-epp",
            "labels": {"fusioninfer.io/picker": picker},
            "managedFields": [{"manager": "fusioninfer", "operation": "Apply"}],
        },
        "spec": {"template": {"spec": {"securityContext": {"runAsUser": 65532}}}},
    }
    rows = (OUTPUTS["Deployment"].project(stored),) if picker else ()

    routing = replace(SPLIT, picker="llm-d-0.10")
    members = prefill(routing=routing), decode(routing=routing)
    desired = desired_state(snapshot(None, members, Deployment=rows), settings)

    (made,) = (one for one in desired.objects if one["kind"] == "Deployment")
    assert made["metadata"]["labels"]["fusioninfer.io/picker"] == "llm-d-0.10"
    assert made["spec"]["template"]["spec"]["securityContext"].get("runAsUser") == user


def there(desired: Desired) -> dict[str, tuple[Any, ...]]:
    """Return the rows of the pool and of the endpoint picker, as they are once they were applied."""
    fields = {"managedFields": [{"manager": "fusioninfer", "operation": "Apply"}]}
    stored = [one | {"metadata": one["metadata"] | fields} for one in desired.objects]
    return {
        kind: tuple(OUTPUTS[kind].project(one) for one in stored if one["kind"] == kind)
        for kind in ("InferencePool", "Deployment")
    }


EVERYWHERE: Final = Serving(everywhere=True)
CACHED: Final = Routing("prefix-cache")
WORKER: Final = member("w", serving=EVERYWHERE, routing=CACHED)
OTHERWISE: Final = member("e", "encoder", created="2027-01-01", routing=Routing("queue-size"))
HALVES: Final = (prefill(serving=EVERYWHERE, routing=SPLIT), decode(serving=EVERYWHERE, routing=SPLIT))
QUEUED: Final = replace(SPLIT, gateway="another")
OF_LEADERS: Final = {"leaderworkerset.sigs.k8s.io/worker-index": "0"}
OF_ALL: Final = {"fusioninfer.io/serves": "all"}
OF_WORKERS: Final = {"fusioninfer.io/component-type": "worker"}
HELD: Final[dict[str, tuple[tuple[Member, ...], tuple[Member, ...], Object | None]]] = {
    "an encoder comes": ((WORKER,), (WORKER, OTHERWISE), OF_ALL | OF_WORKERS),
    "its workers serve no more": (
        (WORKER,),
        (replace(WORKER, serving=LEADERS), OTHERWISE),
        OF_LEADERS | OF_WORKERS,
    ),
    "an encoder goes": (
        (WORKER, replace(OTHERWISE, routing=CACHED)),
        (replace(WORKER, serving=LEADERS), member("v", role_name="v", routing=QUEUED)),
        OF_LEADERS,
    ),
    "one half serves by leaders": (
        HALVES,
        (replace(HALVES[0], serving=LEADERS, routing=QUEUED), HALVES[1]),
        OF_LEADERS,
    ),
    "a prefiller waits for a decoder": (HALVES, (replace(HALVES[0], serving=LEADERS),), None),
    "a worker becomes two halves": ((WORKER,), (replace(HALVES[0], routing=QUEUED), HALVES[1]), None),
    "two halves become a worker": (HALVES, (WORKER, OTHERWISE), None),
    "its members share no port": (HALVES, (replace(HALVES[0], port=1), HALVES[1]), None),
}


@pytest.mark.parametrize(("before", "after", "selector"), HELD.values(), ids=HELD)
def test_a_pool_of_held_routes_goes_on_to_select_the_pods_that_serve(
    before: tuple[Member, ...], after: tuple[Member, ...], selector: Object | None
) -> None:
    """What pods serve is no part of what its authors got wrong, but other kinds need another picker."""
    rows = there(desired_state(snapshot(None, before), SETTINGS))

    found = desired_state(snapshot(None, after, **rows), SETTINGS)
    alone = desired_state(snapshot(None, after, InferencePool=rows["InferencePool"]), SETTINGS)

    pools = [one for one in found.objects if one["kind"] in ROUTES - {"Service"}]
    assert [one for one in alone.objects if one["kind"] in ROUTES - {"Service"}] == pools
    selectors = [one["spec"]["selector"]["matchLabels"] for one in pools]
    assert selectors == ([{"fusioninfer.io/service": "r1", **selector}] if selector else [])
    assert (found.held, {one.subject.name for one in found.of_routes} > set()) == (SETS | ROUTES, True)
    assert "InferencePool" not in kinds(desired_state(snapshot(None, after), SETTINGS))


def test_the_pool_of_held_routes_keeps_its_owners_while_one_is_ejected() -> None:
    """Its other routes have this owner too, and stay with it: without the pool they lead nowhere."""
    other = prefill("q", role_name="prefill-2", routing=SPLIT)
    rows = there(desired_state(snapshot(None, (*HALVES, other)), SETTINGS))
    gone = CachedLeaderWorkerSet(*KEY, "uid-p", ejected=HALVES[0])

    left = (replace(other, routing=QUEUED), HALVES[1])
    found = desired_state(snapshot(None, left, LeaderWorkerSet=(gone,), **rows), SETTINGS)

    assert ("InferencePool" in kinds(found), "InferencePool" in found.held) == (False, True)
