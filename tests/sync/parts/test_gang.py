"""The plan of a gang, rule by rule."""

from collections.abc import Mapping
from dataclasses import replace
from math import inf
from typing import Any, Final

import pytest

from intent import Object
from intent.service.member import Member
from sync.observed.pod_group import PodGroup
from sync.parts.desired import Desired
from sync.parts.gang import REST_AFTER
from tests.sync.samples import KEY, codes, decode, member, ours, planned, policies, prefill, required, resting

Case = tuple[Any, str, tuple[Member, ...], dict[str, Any]]
HELD: Final = "held"
"""The outcome where the PodGroup stays as it is; it is None where there is none."""
P, D = prefill(), decode()
NO_D: Final = decode(replicas=0)
LATE: Final = decode("late", role_name="decode-late")
LONG: Final = decode("long", role_name="decode-long")
COPY: Final = decode("copy", created="2026-02-01")
BESIDE: Final = member("w", created="2026-02-01")
E: Final = member("e", "encoder", size=1, scheduler="", created="2025-12-31")
E2: Final = member("e", "encoder", created="2025-12-31")
OLD: Final = member("w", created="2025-12-31")
BOTH: Final = ("prefill", "decode")
OPEN: Final = ours(P, D, roles=BOTH)
FULL: Final = ours(P, D, roles=BOTH, policies=policies(P, D))
D_ALONE: Final = ours(D, roles=BOTH, policies=policies(P, D), queue="gpu")
GONE: Final = ours(prefill("gone"), roles=BOTH)
ELSEWHERE: Final = replace(GONE, service="r")
TWO, THREE, EPD = frozenset(BOTH), frozenset({*BOTH, "more"}), frozenset({*BOTH, "encode"})
P2, D2 = (
    make(f"{make().name}2", role_name=f"{role}-2", roles=frozenset({"prefill-2", "decode-2"}))
    for make, role in ((prefill, "prefill"), (decode, "decode"))
)


def case(outcome: Mapping[str, int] | str | None, told: str, *members: Member, **known: Any) -> Case:
    """Return a row: the outcome of a plan, the findings, the members of the gang, and what else is known."""
    return outcome, told, members, known


def outcome_of(decided: Desired) -> object:
    if not decided.objects:
        return HELD if decided.held_objects else None
    assert not decided.held_objects
    return required(decided)


def told_by(decided: Desired) -> str:
    return " ".join(sorted({code for _, code in codes(decided)}) + sorted(name for name, _ in codes(decided)))


REQUIRED: Final[Mapping[str, Case]] = {
    "a prefiller alone waits": case(None, "FI410 p", P),
    "a prefiller and a decoder open the gate": case({"p": 1, "d": 1}, "", P, D),
    "one worker opens its gate alone": case({"w": 1}, "", member("w")),
    "a missing declared role keeps it closed": case(None, "FI410 d p", prefill(roles=THREE), D),
    "a role beside the declared ones": case({"p": 1, "d": 1, "long": 0}, "", prefill(roles=TWO), D, LONG),
    "all roles present when it opens": case({"p": 1, "d": 1, "long": 1}, "", P, D, LONG),
    "a role that is added later": case({"p": 1, "d": 1, "late": 0}, "", P, D, LATE, stored=OPEN),
    "a declared role that is added later": case(
        {"p": 1, "d": 1, "m": 0},
        "",
        *(prefill(roles=THREE), decode(roles=THREE), decode("m", role_name="more", roles=THREE)),
        stored=OPEN,
    ),
    "it stays open when a role is deleted": case({"p": 1}, "", P, stored=OPEN),
    "a role that returns": case({"p": 1, "d2": 1}, "", P, decode("d2"), stored=ours(P, roles=BOTH)),
    "declared roles replace first ones without members": case(
        {"p2": 1, "d2": 1}, "", P2, D2, stored=ours(P2, D2, roles=BOTH)
    ),
    "a deleted PodGroup is made again": case({"p": 1}, "", P, remembered=OPEN),
    "removed roles are remembered": case(
        {"p": 1, "d": 1, "late": 0}, "", P, D, LATE, stored=ours(P, D), remembered=OPEN
    ),
    "a PodGroup of earlier members is deleted": case(None, "", P, stored=GONE),
    "and opens no gate afterwards": case(None, "FI410 p", P, remembered=GONE),
    "a PodGroup being deleted is awaited": case(HELD, "", P, D, stored=ours(P, D, deleting=True)),
    "without members there is none": case(None, "", stored=ours(P)),
    "a member being deleted is gone": case({"p": 1}, "", P, decode(deleting=True), stored=OPEN),
    "without members, and a pod names it": case(HELD, "", stored=ours(P), needed_for=inf),
    "its only member is of one pod now, and a pod names it": case(
        HELD, "", member("w", size=1, scheduler=""), stored=ours(member("w")), needed_for=inf
    ),
    "a service without a gang": case(None, "", member("w", size=1, scheduler=""), stored=ours(member("w"))),
    "no replicas for less than a minute": case({"p": 1, "d": 1}, "", P, NO_D, empty_for={"d": 59.0}),
    "no replicas for a minute": case({"p": 1, "d": 0}, "", P, NO_D, empty_for={"d": 60.0}),
    "a role that rests stays so after a restart": case(
        {"p": 1, "d": 0},
        "",
        *(P, NO_D),
        stored=ours(P, NO_D, roles=BOTH, policies=resting("d", "unassigned")),
        empty_for={"d": 0.0},
    ),
    "a role that has replicas again": case(
        {"p": 1, "d": 1}, "", P, D, stored=ours(P, D, roles=BOTH, policies=resting("d"))
    ),
    "a later member with a duplicate role": case({"p": 1, "copy": 0, "d": 1}, "FI401 copy d", P, D, COPY),
    "a worker beside prefill and decode": case({"p": 1, "d": 1, "w": 0}, "FI402 d p w", P, D, BESIDE),
    "an older worker beside prefill and decode": case({"p": 1, "d": 1, "w": 0}, "FI402 d p w", P, D, OLD),
    "an encoder of one pod beside them is in no gang": case({"p": 1, "d": 1}, "", P, D, E),
    "one of two pods is in the gang, and not required": case({"p": 1, "d": 1, "e": 0}, "", P, D, E2),
    "an encoder beside a worker": case({"w": 1, "e": 0}, "", member("w"), E2),
    "an encoder is no half": case(None, "FI410 e p", P, E2),
    "an encoder alone waits": case(None, "FI410 e", E2),
    "a declared encoder has to exist": case(None, "FI410 d p", prefill(roles=EPD), D),
    "a declared encoder may come later": case({"p": 1, "d": 1}, "", prefill(roles=EPD), D, E),
    "and is not required then": case({"p": 1, "d": 1, "e": 0}, "", prefill(roles=EPD), D, E2),
    "its queue counts in a gang only": case({"p": 1, "d": 1}, "", prefill(queue="g"), decode(queue="g"), E),
    "two encoders of one role": case(
        {"p": 1, "d": 1}, "FI401 e f", P, D, E, replace(E, name="f", created="2026-02-01")
    ),
    "a prefiller beside an older worker": case({"w": 1, "p": 0}, "FI402 p w", P, OLD),
    "a worker beside prefill and an encoder": case(None, "FI402 FI410 e p p w w", P, E2, BESIDE),
    "a second worker": case(
        {"w": 1, "w2": 0}, "FI402 w w2", member("w"), member("w2", created="2026-02-01", role_name="other")
    ),
    "a second worker of one role is told once": case(
        {"w": 1, "w2": 0}, "FI402 w w2", member("w"), member("w2")
    ),
    "members disagree on the queue": case(HELD, "FI404 d p", prefill(queue="gpu"), D, stored=ours(P, D)),
    "the default queue is no disagreement": case({"p": 1, "d": 1}, "", prefill(queue="default"), D),
    "members disagree on the scheduler": case(HELD, "FI404 d p", prefill(scheduler=""), D),
    "members disagree on roles": case(
        HELD, "FI404 d p", prefill(roles=TWO), decode(roles=frozenset({"decode"}))
    ),
    "a foreign PodGroup": case(HELD, "FI407 d p", P, D, stored=PodGroup(*KEY, uid="other")),
    "that of a revision of another service": case(HELD, "FI407 d p", P, D, stored=ELSEWHERE),
    "our own with another label": case({"p": 1, "d": 1}, "", P, D, stored=replace(OPEN, service="r")),
    "a PodGroup made by LWS": case({"p": 1, "d": 1}, "FI409 d", P, D, rivals=frozenset({"d"})),
    "an ejected member rests": case(
        {"p": 1, "d": 0},
        "FI416 d",
        P,
        stored=ours(P, NO_D, roles=BOTH, policies=policies(P, NO_D)),
        ejected=(NO_D,),
        empty_for={"d": 61.0},
    ),
    "an ejected member of a deleted PodGroup": case({"p": 1, "d": 1}, "", P, remembered=FULL, ejected=(D,)),
    "ejected members alone": case(HELD, "FI416 d p", stored=FULL, ejected=(P, D)),
    "ejected from a revision of another service": case(
        HELD, "FI416 d", stored=replace(FULL, service="r"), ejected=(D,)
    ),
    "a PodGroup without owners is its user's": case(
        HELD, "", stored=ours(roles=BOTH, policies=policies(P, D)), ejected=(D,)
    ),
    "ejected members being deleted hold nothing": case(
        None, "", stored=FULL, ejected=(prefill(deleting=True), decode(deleting=True))
    ),
    "a member made again joins an ejected one": case(
        {"p": 1, "d": 1}, "FI416 d", prefill(uid="uid-again"), stored=FULL, ejected=(D,)
    ),
    "a stranger alone changes nothing": case(HELD, "", stored=FULL, ejected=(member("x"),)),
    "a stranger alone makes no PodGroup": case(HELD, "", ejected=(member("x"),)),
    "a stranger does not open the gate": case(None, "FI410 p", P, ejected=(D,)),
}


@pytest.mark.parametrize(("outcome", "told", "members", "known"), REQUIRED.values(), ids=REQUIRED)
def test_what_a_gang_requires_and_who_is_told(
    outcome: object, told: str, members: tuple[Member, ...], known: dict[str, Any]
) -> None:
    decided = planned(*members, **known)

    assert (outcome_of(decided), told_by(decided)) == (outcome, told)


@pytest.mark.parametrize(
    ("members", "keys", "waits"),
    [
        ((P,), {"component-type"}, "a decoder: apply a LeaderWorkerSet with %s/component-type: decoder"),
        (
            (prefill(roles=THREE), D),
            {"roles", "component-type"},
            "role more: apply a LeaderWorkerSet with %s/role-name: more",
        ),
    ],
)
def test_the_message_names_what_is_missing(members: tuple[Member, ...], keys: set[str], waits: str) -> None:
    errors = [one.error for one in planned(*members).findings]

    assert {one.message for one in errors} == {f"service r1 waits for {waits % 'fusioninfer.io'}"}
    assert {one.path for one in errors} == {f"metadata.annotations[fusioninfer.io/{key}]" for key in keys}


# --- the PodGroup -----------------------------------------------------------------------------------


def gang(*members: Member, **known: Any) -> Object:
    """Return the PodGroup, which must exist."""
    (found,) = planned(*members, **known).objects
    return found


def roles(pod_group: Object) -> str:
    return str(pod_group["metadata"]["annotations"]["fusioninfer.io/roles"])


def owners(pod_group: Object) -> list[tuple[str, str]]:
    return [(one["name"], one["uid"]) for one in pod_group["metadata"]["ownerReferences"]]


def test_the_gang_of_a_prefiller_and_a_decoder() -> None:
    """The last policy holds pods that have no policy yet."""
    made = gang(P, D)

    assert (roles(made), owners(made)) == ("decode,prefill", [("p", "uid-p"), ("d", "uid-d")])
    assert made["spec"].keys() == {"minMember", "subGroupPolicy"}
    assert made["spec"]["minMember"] == 6
    assert made["spec"]["subGroupPolicy"][-1] == {
        "name": "unassigned",
        "labelSelector": {"matchLabels": {"fusioninfer.io/service": "r1"}},
        "matchLabelKeys": ["leaderworkerset.sigs.k8s.io/name"],
        "subGroupSize": 1_000_000,
        "minSubGroups": 0,
    }


def test_the_roles_of_an_open_gate_stay_recorded() -> None:
    assert roles(gang(P, D, LATE, stored=OPEN)) == "decode,prefill"


def test_a_resize_counts_at_once_and_more_replicas_change_nothing() -> None:
    resized = gang(P, decode(size=6), stored=OPEN)["spec"]["subGroupPolicy"]

    assert [one["subGroupSize"] for one in resized[:-1]] == [2, 6]
    assert gang(P, D) == gang(P, decode(replicas=9))


def test_prefillers_come_before_decoders_whatever_their_names() -> None:
    assert list(required(planned(decode("a"), prefill("b")))) == ["b", "a"]


def test_a_member_may_be_named_unassigned() -> None:
    policies = gang(prefill("unassigned"), D)["spec"]["subGroupPolicy"]

    assert [one["name"] for one in policies] == ["unassigned", "d", "unassigned-"]


def test_the_queue_is_the_one_that_members_name() -> None:
    assert gang(prefill(queue="gpu"), decode(queue="gpu"))["spec"]["queue"] == "gpu"


@pytest.mark.parametrize(
    ("prefills", "decodes", "made"),
    [
        (("high",), ("high",), "high"),
        (("high",), ("low",), ""),
        (("high",), ("",), ""),
        (("", "high"), ("", "high"), ""),
    ],
    ids=["one", "two", "one of two", "leader and worker"],
)
def test_a_priority_that_all_share_is_that_of_the_gang_and_others_are_reported(
    prefills: tuple[str, ...], decodes: tuple[str, ...], made: str
) -> None:
    decided = planned(prefill(priority_classes=prefills), decode(priority_classes=decodes))

    (pod_group,) = decided.objects
    assert pod_group["spec"].get("priorityClassName", "") == made
    assert told_by(decided) == ("" if made else "FI415 d p")
    assert all("p: " in one.error.message for one in decided.findings)


def test_pods_outside_a_gang_may_have_any_priority() -> None:
    one, other = (
        make(priority_classes=(name,), scheduler="") for make, name in ((prefill, "high"), (decode, "low"))
    )

    assert codes(planned(one, other)) == set()


def test_the_plan_is_due_again_when_the_minute_is_over() -> None:
    assert planned(P, NO_D, empty_for={"d": 59.0}).requeue_after == 1.0
    assert planned(P, stored=FULL, ejected=(NO_D,)).requeue_after == 60
    assert [planned(stored=FULL, needed_for=left).requeue_after for left in (inf, 30.0)] == [None, 30.0]


def test_min_member_is_never_zero() -> None:
    assert gang(member("w", replicas=0), empty_for={"w": 60.0})["spec"]["minMember"] == 1


# --- ejected members, and others that name the PodGroup ------------------------------------------------


def test_an_ejected_member_keeps_its_policy_and_its_part_of_the_gang() -> None:
    assert gang(P, stored=FULL, ejected=(D,)) == gang(P, D, stored=FULL)


def test_an_ejected_member_may_be_resized() -> None:
    assert gang(P, stored=FULL, ejected=(decode(size=8),))["spec"]["minMember"] == 10


def test_nothing_is_required_of_a_member_that_is_gone_while_an_ejected_one_exists() -> None:
    decided = planned(stored=D_ALONE, ejected=(D,))

    assert required(decided) == {"d": 1}
    (pod_group,) = decided.objects
    assert (pod_group["spec"]["minMember"], pod_group["spec"]["queue"]) == (4, "gpu")


@pytest.mark.parametrize("name", ["x", "d"])
def test_a_stranger_that_names_the_pod_group_is_not_required_and_owns_nothing(name: str) -> None:
    stranger = member(name, uid="uid-stranger", size=1000, replicas=0, priority_classes=("high",))

    decided = planned(P, stored=FULL, ejected=(stranger,))

    assert required(decided) == {"p": 1} | ({"d": 0} if name == "d" else {})
    (pod_group,) = decided.objects
    assert (pod_group["spec"]["minMember"], owners(pod_group)) == (2, [("p", "uid-p")])
    assert "priorityClassName" not in pod_group["spec"]
    assert codes(decided) == set()


# --- revisions of a DisaggregatedSet -------------------------------------------------------------------

REVISION: Final = "0a1b2c3d"
GROUP: Final = f"{KEY[1]}-{REVISION}"


def of_revision(*members: Member, **known: Any) -> Desired:
    """Plan the gang of one revision."""
    made = [replace(one, group=GROUP, revision=REVISION) for one in members]
    return planned(*made, group=GROUP, **known)


def test_the_pod_group_of_a_revision_is_named_after_it_and_labelled_with_the_service() -> None:
    (found,) = of_revision(P, D).objects

    label = {"fusioninfer.io/service": KEY[1]}
    assert (found["metadata"]["name"], found["metadata"]["labels"]) == (GROUP, label)
    assert found["spec"]["subGroupPolicy"][-1]["labelSelector"] == {"matchLabels": label}


LONG_EMPTY: Final = {"d": 61.0}
REVISIONS: Final[Mapping[str, tuple[int, dict[str, Any]]]] = {
    "a minute before a pod was bound": (1, {"empty_for": LONG_EMPTY}),
    "hours before a pod was bound": (1, {"empty_for": {"d": 10_000.0}}),
    "pods of the gang were bound": (0, {"empty_for": LONG_EMPTY, "bound": frozenset({"p"})}),
    "pods of another revision were bound": (1, {"empty_for": LONG_EMPTY, "bound": frozenset({"p-old"})}),
    "it rested, and has no pods": (
        0,
        {"stored": ours(P, NO_D, roles=BOTH, policies=(*policies(P), *resting("d")))},
    ),
    "one of its name rested before it was rolled back to": (
        1,
        {
            "remembered": ours(
                *(prefill(uid="p-before"), decode(uid="d-before")),
                roles=BOTH,
                policies=(*policies(P), *resting("d")),
            )
        },
    ),
}


@pytest.mark.parametrize(("decodes", "known"), REVISIONS.values(), ids=REVISIONS)
def test_a_role_of_a_revision_is_required_until_a_pod_was_bound(decodes: int, known: dict[str, Any]) -> None:
    """The author of one that is required and stays empty is told so after a minute."""
    decided = of_revision(P, NO_D, **known)

    assert required(decided) == {"p": 1, "d": decodes}
    is_new = not decodes or "empty_for" in known
    assert decided.requeue_after == (None if is_new else 60.0)
    assert codes(decided) == ({("d", "FI417")} if decodes and is_new else set())


def test_a_service_looks_again_at_the_pod_group_of_another_one() -> None:
    """An event of it wakes the other one alone."""
    found = [planned(P, D, stored=one).requeue_after for one in (ELSEWHERE, PodGroup(*KEY), GONE)]

    assert found == [REST_AFTER, None, None]


@pytest.mark.parametrize("bound", [frozenset[str](), frozenset({"p", "d"})])
def test_none_rests_while_all_roles_of_a_revision_are_at_zero(bound: frozenset[str]) -> None:
    """They are scaled up again one after the other."""
    p, empty_for = prefill(replicas=0), {"p": 61.0, "d": 61.0}

    decided = of_revision(p, NO_D, empty_for=empty_for, bound=bound)
    rested = of_revision(p, NO_D, empty_for=empty_for, stored=ours(p, NO_D, policies=resting("p", "d")))

    assert required(decided) == required(rested) == {"p": 1, "d": 1}
    assert decided.requeue_after is None
