"""The plan of a gang, rule by rule."""

from dataclasses import replace
from typing import Any

import pytest

from intent.service.member import Member
from sync.desired.gang import GangPlan
from sync.desired.render.workloads import gang_objects
from tests.sync.samples import KEY, codes, decode, member, ours, planned, policies, prefill, required, resting

# --- the gate ---------------------------------------------------------------------------------------


def test_a_prefiller_alone_has_no_pod_group() -> None:
    decided = planned(prefill())

    assert decided.gang is None


def test_a_prefiller_alone_is_reported_as_waiting() -> None:
    decided = planned(prefill())

    assert codes(decided) == {("p", "FI410")}


def test_the_message_names_what_is_missing() -> None:
    decided = planned(prefill())

    assert decided.findings[0].error.path == "metadata.annotations[fusioninfer.io/component-type]"
    assert decided.findings[0].error.message == (
        "service r1 waits for a decoder: apply a LeaderWorkerSet with fusioninfer.io/component-type: decoder"
    )


def test_a_prefiller_and_a_decoder_open_the_gate() -> None:
    decided = planned(prefill(), decode())

    assert required(decided) == {"p": 1, "d": 1}


def test_no_member_waits_once_the_gate_is_open() -> None:
    decided = planned(prefill(), decode())

    assert codes(decided) == set()


def test_one_worker_opens_its_gate_alone() -> None:
    decided = planned(member("w"))

    assert required(decided) == {"w": 1}


def test_a_missing_declared_role_keeps_the_gate_closed() -> None:
    roles = frozenset({"prefill", "decode", "decode-long"})

    decided = planned(prefill(roles=roles), decode())

    assert decided.gang is None


def test_every_member_is_told_which_declared_role_is_missing() -> None:
    roles = frozenset({"prefill", "decode", "decode-long"})

    decided = planned(prefill(roles=roles), decode())

    said = {(f.subject.name, f.error.message) for f in decided.findings}
    waits = (
        "service r1 waits for role decode-long: "
        "apply a LeaderWorkerSet with fusioninfer.io/role-name: decode-long"
    )
    assert said == {(name, waits) for name in ("p", "d")}


def test_a_role_beside_the_declared_ones_is_not_required() -> None:
    roles = frozenset({"prefill", "decode"})

    decided = planned(prefill(roles=roles), decode(), decode("long", role_name="decode-long"))

    assert required(decided) == {"p": 1, "d": 1, "long": 0}


def test_all_roles_present_when_the_gate_opens_are_required() -> None:
    decided = planned(prefill(), decode(), decode("long", role_name="decode-long"))

    assert required(decided) == {"p": 1, "d": 1, "long": 1}


def test_the_roles_of_the_open_gate_are_recorded() -> None:
    decided = planned(prefill(), decode())

    assert decided.gang is not None
    assert decided.gang.roles == ("decode", "prefill")


def test_a_role_that_is_added_later_is_not_required() -> None:
    p, d, late = prefill(), decode(), decode("late", role_name="decode-late")

    decided = planned(p, d, late, stored=ours(p, d, roles=("prefill", "decode")))

    assert required(decided) == {"p": 1, "d": 1, "late": 0}


def test_an_open_gate_stays_open_when_a_role_is_deleted() -> None:
    p, d = prefill(), decode()

    decided = planned(p, stored=ours(p, d, roles=("prefill", "decode")))

    assert required(decided) == {"p": 1}


def test_a_required_role_that_returns_is_required_again() -> None:
    p, again = prefill(), decode("d2")

    decided = planned(p, again, stored=ours(p, roles=("prefill", "decode")))

    assert required(decided) == {"p": 1, "d2": 1}


def test_a_deleted_pod_group_is_created_again_although_a_role_is_gone() -> None:
    p, d = prefill(), decode()

    decided = planned(p, remembered=ours(p, d, roles=("prefill", "decode")))

    assert required(decided) == {"p": 1}


def test_roles_removed_from_the_pod_group_are_remembered() -> None:
    p, d, late = prefill(), decode(), decode("late", role_name="decode-late")
    before = ours(p, d, roles=("prefill", "decode"))

    decided = planned(p, d, late, stored=ours(p, d), remembered=before)

    assert required(decided) == {"p": 1, "d": 1, "late": 0}


def test_a_pod_group_of_earlier_members_is_deleted() -> None:
    decided = planned(prefill(), stored=ours(prefill("gone"), roles=("prefill", "decode")))

    assert (decided.gang, decided.hold) == (None, False)


def test_a_pod_group_of_earlier_members_opens_no_gate_after_it_is_gone() -> None:
    decided = planned(prefill(), remembered=ours(prefill("gone"), roles=("prefill", "decode")))

    assert decided.gang is None


def test_a_pod_group_being_deleted_is_awaited() -> None:
    p, d = prefill(), decode()

    decided = planned(p, d, stored=ours(p, d, deleting=True))

    assert decided.hold


# --- members ----------------------------------------------------------------------------------------


def test_without_members_there_is_no_pod_group() -> None:
    decided = planned(stored=ours(prefill()))

    assert (decided.gang, decided.hold) == (None, False)


def test_a_member_that_is_being_deleted_counts_as_gone() -> None:
    p, d = prefill(), decode(deleting=True)

    decided = planned(p, d, stored=ours(p, d, roles=("prefill", "decode")))

    assert required(decided) == {"p": 1}


def test_a_service_without_a_gang_has_no_pod_group() -> None:
    decided = planned(member("w", size=1, scheduler=""), stored=ours(member("w")))

    assert (decided.gang, decided.hold) == (None, False)


def test_a_resize_counts_at_once() -> None:
    p, d = prefill(), decode(size=6)

    decided = planned(p, d, stored=ours(p, d, roles=("prefill", "decode")))

    assert decided.gang is not None
    assert [policy.size for policy in decided.gang.policies[:-1]] == [2, 6]


def test_min_member_is_what_must_start_together() -> None:
    decided = planned(prefill(), decode())

    assert decided.gang is not None
    assert decided.gang.min_member == 6


def test_more_replicas_change_nothing() -> None:
    few, many = planned(prefill(), decode()), planned(prefill(), decode(replicas=9))

    assert few.gang == many.gang


def test_prefillers_come_before_decoders_whatever_their_names() -> None:
    decided = planned(decode("a"), prefill("b"))

    assert list(required(decided)) == ["b", "a"]


def test_the_last_policy_holds_pods_that_have_no_policy_yet() -> None:
    decided = planned(prefill(), decode())

    assert decided.gang is not None
    last = decided.gang.policies[-1]
    assert (last.name, last.label, last.size) == ("unassigned", ("fusioninfer.io/service", "r1"), 1_000_000)


def test_a_member_may_be_named_unassigned() -> None:
    decided = planned(prefill("unassigned"), decode())

    assert decided.gang is not None
    assert [policy.name for policy in decided.gang.policies] == ["unassigned", "d", "unassigned-"]


def test_every_member_owns_the_pod_group() -> None:
    decided = planned(prefill(), decode())

    assert decided.gang is not None
    assert decided.gang.owners == (("p", "uid-p"), ("d", "uid-d"))


def test_the_queue_is_the_one_that_members_name() -> None:
    decided = planned(prefill(queue="gpu"), decode(queue="gpu"))

    assert decided.gang is not None
    assert decided.gang.queue == "gpu"


def test_a_priority_that_all_share_is_the_priority_of_the_gang() -> None:
    decided = planned(prefill(priority_classes=("high",)), decode(priority_classes=("high",)))

    assert decided.gang is not None
    assert decided.gang.priority_class == "high"
    assert codes(decided) == set()


@pytest.mark.parametrize(
    ("prefills", "decodes"),
    [(("high",), ("low",)), (("high",), ("",)), (("", "high"), ("", "high"))],
    ids=["two", "one of two", "leader and worker"],
)
def test_two_priorities_result_in_none_and_are_reported(
    prefills: tuple[str, ...], decodes: tuple[str, ...]
) -> None:
    decided = planned(prefill(priority_classes=prefills), decode(priority_classes=decodes))

    assert decided.gang is not None
    assert decided.gang.priority_class == ""
    assert codes(decided) == {("p", "FI415"), ("d", "FI415")}
    assert "p: " in decided.findings[0].error.message


def test_pods_outside_a_gang_may_have_any_priority() -> None:
    one = prefill(priority_classes=("high",), scheduler="")
    other = decode(priority_classes=("low",), scheduler="")

    assert codes(planned(one, other)) == set()


# --- no replicas ------------------------------------------------------------------------------------


def test_a_role_without_replicas_is_still_required_for_a_minute() -> None:
    decided = planned(prefill(), decode(replicas=0), empty_for={"d": 59.0})

    assert required(decided) == {"p": 1, "d": 1}


def test_the_plan_is_due_again_when_the_minute_is_over() -> None:
    decided = planned(prefill(), decode(replicas=0), empty_for={"d": 59.0})

    assert decided.requeue_after == 1.0


def test_a_role_without_replicas_for_a_minute_is_not_required() -> None:
    decided = planned(prefill(), decode(replicas=0), empty_for={"d": 60.0})

    assert required(decided) == {"p": 1, "d": 0}


def test_a_role_that_is_not_required_stays_so_after_a_restart() -> None:
    p, d = prefill(), decode(replicas=0)
    stored = ours(p, d, roles=("prefill", "decode"), policies=resting("d", "unassigned"))

    decided = planned(p, d, stored=stored, empty_for={"d": 0.0})

    assert required(decided) == {"p": 1, "d": 0}


def test_a_role_that_has_replicas_again_is_required_again() -> None:
    p, d = prefill(), decode()
    stored = ours(p, d, roles=("prefill", "decode"), policies=resting("d"))

    decided = planned(p, d, stored=stored)

    assert required(decided) == {"p": 1, "d": 1}


def test_min_member_is_never_zero() -> None:
    decided = planned(member("w", replicas=0), empty_for={"w": 60.0})

    assert decided.gang is not None
    assert decided.gang.min_member == 1


# --- contradictions ---------------------------------------------------------------------------------


def test_a_later_member_with_a_duplicate_role_is_not_required() -> None:
    decided = planned(prefill(), decode(), decode("copy", created="2026-02-01"))

    assert required(decided) == {"p": 1, "copy": 0, "d": 1}


def test_both_members_of_a_duplicate_role_are_told() -> None:
    decided = planned(prefill(), decode(), decode("copy", created="2026-02-01"))

    assert codes(decided) == {("d", "FI401"), ("copy", "FI401")}


def test_a_worker_beside_prefill_and_decode_is_not_required() -> None:
    decided = planned(prefill(), decode(), member("w", created="2026-02-01"))

    assert required(decided) == {"p": 1, "d": 1, "w": 0}


def test_every_member_is_told_that_a_worker_is_not_alone() -> None:
    decided = planned(prefill(), decode(), member("w", created="2026-02-01"))

    assert codes(decided) == {(name, "FI402") for name in ("p", "d", "w")}


def test_a_second_worker_is_not_required() -> None:
    decided = planned(member("w"), member("w2", created="2026-02-01", role_name="other"))

    assert required(decided) == {"w": 1, "w2": 0}


def test_two_workers_cause_one_finding_not_two() -> None:
    decided = planned(member("w"), member("w2"))

    assert codes(decided) == {("w", "FI402"), ("w2", "FI402")}


def test_members_that_disagree_on_the_queue_change_nothing() -> None:
    p, d = prefill(queue="gpu"), decode()

    decided = planned(p, d, stored=ours(p, d))

    assert decided.hold


def test_each_member_is_told_about_the_disagreement_on_the_queue() -> None:
    decided = planned(prefill(queue="gpu"), decode())

    assert codes(decided) == {("p", "FI405"), ("d", "FI405")}


ROLES = frozenset({"prefill", "decode", "more"})


def test_a_role_that_is_added_after_the_gate_opened_is_not_required() -> None:
    p, d = prefill(roles=ROLES), decode(roles=ROLES)
    more = decode("m", role_name="more", roles=ROLES)

    decided = planned(p, d, more, stored=ours(p, d, roles=("prefill", "decode")))

    assert required(decided) == {"p": 1, "d": 1, "m": 0}
    assert decided.gang is not None
    assert decided.gang.roles == ("decode", "prefill")


def test_declared_roles_replace_first_roles_without_members() -> None:
    p = prefill("p2", role_name="prefill-2", roles=frozenset({"prefill-2", "decode-2"}))
    d = decode("d2", role_name="decode-2", roles=frozenset({"prefill-2", "decode-2"}))

    decided = planned(p, d, stored=ours(p, d, roles=("prefill", "decode")))

    assert required(decided) == {"p2": 1, "d2": 1}


def test_the_queue_is_named_only_if_a_member_names_it() -> None:
    unnamed, named = planned(prefill(), decode()), planned(prefill(queue="gpu"), decode(queue="gpu"))

    assert (unnamed.gang and unnamed.gang.queue, named.gang and named.gang.queue) == ("", "gpu")


def test_naming_the_default_queue_is_no_disagreement() -> None:
    decided = planned(prefill(queue="default"), decode())

    assert codes(decided) == set()


def test_members_that_disagree_on_the_scheduler_change_nothing() -> None:
    decided = planned(prefill(scheduler=""), decode())

    assert (decided.hold, codes(decided)) == (True, {("p", "FI404"), ("d", "FI404")})


def test_members_that_disagree_on_roles_change_nothing() -> None:
    p = prefill(roles=frozenset({"prefill", "decode"}))
    d = decode(roles=frozenset({"decode"}))

    decided = planned(p, d)

    assert (decided.hold, codes(decided)) == (True, {("p", "FI406"), ("d", "FI406")})


# --- the surroundings -------------------------------------------------------------------------------


def test_a_foreign_pod_group_is_left_alone() -> None:
    p, d = prefill(), decode()
    foreign = ours(p, d)

    decided = planned(p, d, stored=type(foreign)(*KEY, uid="other"))

    assert (decided.hold, codes(decided)) == (True, {("p", "FI407"), ("d", "FI407")})


def test_with_an_old_volcano_there_is_no_pod_group_at_any_moment() -> None:
    p, d = prefill(), decode()

    decided = planned(p, d, stored=ours(p, d), volcano="too old")

    assert (decided.gang, decided.hold, codes(decided)) == (None, False, {("p", "FI408"), ("d", "FI408")})


def test_a_pod_group_made_by_lws_is_reported_on_its_member() -> None:
    decided = planned(prefill(), decode(), rivals=frozenset({"d"}))

    assert codes(decided) == {("d", "FI409")}


# --- ejected members --------------------------------------------------------------------------------


def test_an_ejected_member_keeps_its_policy_and_its_part_of_the_gang() -> None:
    p, d = prefill(), decode()
    stored = ours(p, d, roles=("prefill", "decode"), policies=policies(p, d))

    assert planned(p, stored=stored, ejected=(d,)).gang == planned(p, d, stored=stored).gang


def test_an_ejected_member_may_be_resized() -> None:
    p, d = prefill(), decode()
    stored = ours(p, d, roles=("prefill", "decode"), policies=policies(p, d))

    decided = planned(p, stored=stored, ejected=(decode(size=8),))

    assert decided.gang is not None
    assert decided.gang.min_member == 10


def test_an_ejected_member_without_replicas_is_no_longer_required() -> None:
    p, d = prefill(), decode(replicas=0)
    stored = ours(p, d, roles=("prefill", "decode"), policies=policies(p, d))

    assert planned(p, stored=stored, ejected=(d,)).requeue_after == 60
    assert required(planned(p, stored=stored, ejected=(d,), empty_for={"d": 61.0})) == {"p": 1, "d": 0}


def test_an_ejected_member_is_kept_where_the_pod_group_was_deleted() -> None:
    p, d = prefill(), decode()
    stored = ours(p, d, roles=("prefill", "decode"), policies=policies(p, d))

    assert required(planned(p, remembered=stored, ejected=(d,))) == {"p": 1, "d": 1}


def test_a_pod_group_without_members_is_left_as_it_is_while_an_ejected_one_exists() -> None:
    p, d = prefill(), decode()
    stored = ours(p, d, roles=("prefill", "decode"), policies=policies(p, d))

    decided = planned(stored=stored, ejected=(p, d))

    assert (decided.gang, decided.hold) == (None, True)
    assert codes(decided) == {("p", "FI416"), ("d", "FI416")}


def test_nothing_is_required_of_a_member_that_is_gone_while_an_ejected_one_exists() -> None:
    p, d = prefill(), decode()
    stored = ours(d, roles=("prefill", "decode"), policies=policies(p, d), queue="gpu")

    decided = planned(stored=stored, ejected=(d,))

    assert required(decided) == {"p": 0, "d": 1}
    assert decided.gang is not None
    assert (decided.gang.min_member, decided.gang.queue) == (4, "gpu")


def test_a_pod_group_without_owners_belongs_to_its_user() -> None:
    p, d = prefill(), decode()
    stored = ours(roles=("prefill", "decode"), policies=policies(p, d))

    decided = planned(stored=stored, ejected=(d,))

    assert (decided.gang, decided.hold, decided.findings) == (None, True, ())


def test_an_ejected_member_that_is_deleted_holds_nothing() -> None:
    p, d = prefill(deleting=True), decode(deleting=True)
    stored = ours(p, d, roles=("prefill", "decode"), policies=policies(p, d))

    decided = planned(stored=stored, ejected=(p, d))

    assert (decided.gang, decided.hold) == (None, False)


def test_a_member_that_is_made_again_joins_the_gang_of_an_ejected_one() -> None:
    p, d = prefill(), decode()
    stored = ours(p, d, roles=("prefill", "decode"), policies=policies(p, d))

    decided = planned(prefill(uid="uid-again"), stored=stored, ejected=(d,))

    assert required(decided) == {"p": 1, "d": 1}


# --- others that name the PodGroup -------------------------------------------------------------------


@pytest.mark.parametrize("name", ["x", "d"])
def test_a_stranger_that_names_the_pod_group_is_not_required_and_owns_nothing(name: str) -> None:
    p, d = prefill(), decode()
    stored = ours(p, d, roles=("prefill", "decode"), policies=policies(p, d))
    stranger = member(name, uid="uid-stranger", size=1000, replicas=0, priority_classes=("high",))

    decided = planned(p, stored=stored, ejected=(stranger,))

    assert required(decided) == {"p": 1} | ({"d": 0} if name == "d" else {})
    assert decided.gang is not None
    assert (decided.gang.min_member, decided.gang.owners) == (2, (("p", "uid-p"),))
    assert decided.gang.priority_class == ""
    assert codes(decided) == set()


def test_a_stranger_alone_keeps_the_pod_group_and_changes_nothing_in_it() -> None:
    p, d = prefill(), decode()
    stored = ours(p, d, roles=("prefill", "decode"), policies=policies(p, d))

    decided = planned(stored=stored, ejected=(member("x"),))

    assert (decided.gang, decided.hold, decided.findings) == (None, True, ())


def test_a_stranger_alone_makes_no_pod_group() -> None:
    assert planned(ejected=(member("x"),)).gang is None


def test_a_stranger_does_not_open_the_gate() -> None:
    decided = planned(prefill(), ejected=(decode(),))

    assert decided.gang is None
    assert codes(decided) == {("p", "FI410")}


# --- revisions of a DisaggregatedSet -------------------------------------------------------------------

REVISION = "0a1b2c3d"
GROUP = f"{KEY[1]}-{REVISION}"


def of_revision(*members: Member, **known: Any) -> GangPlan:
    """Plan the gang of one revision."""
    made = [replace(one, group=GROUP, revision=REVISION) for one in members]
    return planned(*made, group=GROUP, **known)


def test_the_pod_group_of_a_revision_is_named_after_it_and_labelled_with_the_service() -> None:
    decided = of_revision(prefill(), decode())

    (found,) = gang_objects(decided)
    assert (found["metadata"]["name"], found["metadata"]["labels"]["fusioninfer.io/service"]) == (
        GROUP,
        KEY[1],
    )
    assert found["spec"]["subGroupPolicy"][-1]["labelSelector"] == {
        "matchLabels": {"fusioninfer.io/service": KEY[1]}
    }


@pytest.mark.parametrize("seconds", [61.0, 10_000.0])
def test_a_role_of_a_revision_is_required_until_a_pod_was_bound(seconds: float) -> None:
    decided = of_revision(prefill(), decode(replicas=0), empty_for={"d": seconds})

    assert required(decided) == {"p": 1, "d": 1}
    assert decided.requeue_after is None


def test_it_may_rest_once_pods_of_its_gang_are_bound() -> None:
    decided = of_revision(prefill(), decode(replicas=0), empty_for={"d": 61.0}, bound=frozenset({"p"}))

    assert required(decided) == {"p": 1, "d": 0}


def test_pods_of_another_revision_do_not_count() -> None:
    decided = of_revision(prefill(), decode(replicas=0), empty_for={"d": 61.0}, bound=frozenset({"p-old"}))

    assert required(decided) == {"p": 1, "d": 1}


@pytest.mark.parametrize("bound", [frozenset[str](), frozenset({"p", "d"})])
def test_none_rests_while_all_roles_of_a_revision_are_at_zero(bound: frozenset[str]) -> None:
    """They are scaled up again one after the other."""
    p, d = prefill(replicas=0), decode(replicas=0)
    empty_for = {"p": 61.0, "d": 61.0}

    decided = of_revision(p, d, empty_for=empty_for, bound=bound)
    rested = of_revision(p, d, empty_for=empty_for, stored=ours(p, d, policies=resting("p", "d")))

    assert required(decided) == required(rested) == {"p": 1, "d": 1}
    assert decided.requeue_after is None


def test_what_rested_under_the_same_name_before_does_not_count() -> None:
    """A revision that is rolled back to has new LeaderWorkerSets of the same names."""
    old = prefill(uid="p-before"), decode(uid="d-before")
    remembered = ours(*old, roles=("prefill", "decode"), policies=(*policies(old[0]), *resting("d")))

    decided = of_revision(prefill(), decode(replicas=0), remembered=remembered)

    assert required(decided) == {"p": 1, "d": 1}


def test_a_role_of_a_revision_that_rested_stays_so_without_pods() -> None:
    p, d = prefill(), decode(replicas=0)
    stored = ours(p, d, roles=("prefill", "decode"), policies=(*policies(p), *resting("d")))

    assert required(of_revision(p, d, stored=stored)) == {"p": 1, "d": 0}
