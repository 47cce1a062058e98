"""What the safety tests choose is chosen by the seed, and what they judge is what was deleted."""

from typing import Any

from tests.cluster.alone.test_safety import ROUNDS
from tests.cluster.safety.faults import BY_HAND, KINDS, ROLES
from tests.cluster.safety.rounds import DELETED, Tally, rounds
from tests.cluster.safety.witness import Seen, Witness


def names(seed: int, count: int) -> list[frozenset[str]]:
    return [one.names for one in rounds(seed, count)]


def test_the_same_seed_gives_the_same_rounds() -> None:
    assert list(map(str, rounds(3, 50))) == list(map(str, rounds(3, 50)))
    assert names(3, 50) != names(4, 50)


def test_the_short_form_has_every_kind_of_fault() -> None:
    assert frozenset().union(*names(2, ROUNDS)) == {kind.name for kind in KINDS}


def test_what_undoes_each_other_does_not_go_together() -> None:
    assert not any(found >= ROLES for seed in range(20) for found in names(seed, 50))


def test_without_admission_only_the_controller_makes_new_services() -> None:
    found = [one for seed in range(20) for one in rounds(seed, 50) if DELETED in one.names]

    assert {service.shape for one in found for service in one.services} == {"rendered"}


def test_every_third_round_leaves_new_services_alone() -> None:
    found = [all(kind.bearable for kind in one.kinds) for one in rounds(5, 50)]

    assert found == [number % 3 == 0 for number in range(1, 51)]


def test_no_name_of_a_new_service_begins_with_that_of_another() -> None:
    found = [service.name for one in rounds(1, 300) for service in one.services]

    assert not any(one != other and one.startswith(other) for one in found for other in found)


def test_kinds_are_named_where_they_are_told_apart() -> None:
    assert {kind.name for kind in KINDS} >= BY_HAND | {DELETED}


def event(kind: str, uid: str = "1", **metadata: Any) -> Any:
    return {"type": kind, "object": {"metadata": {"name": f"svc-{uid}", "uid": uid, **metadata}}}


def test_a_deletion_is_seen_when_it_begins() -> None:
    witness = Witness()

    for each in (event("ADDED"), event("ADDED", "2"), event("MODIFIED", "2", deletionTimestamp="now")):
        witness.note("pods", each)

    assert list(witness.deleted.values()) == [Seen("pods", "svc-2", "2")]


def test_an_object_that_a_later_list_lacks_was_deleted_meanwhile() -> None:
    witness = Witness()
    first, second = (event("ADDED", uid)["object"] for uid in "12")

    witness.list_again("pods", [first])
    witness.list_again("podgroups", [second])
    witness.list_again("podgroups", [first | {"metadata": {"name": "svc-2", "uid": "3"}}])

    assert list(witness.deleted.values()) == [Seen("podgroups", "svc-2", "2")]


def test_a_deletion_is_counted_once() -> None:
    witness = Witness()

    for kind in ("ADDED", "MODIFIED", "DELETED"):
        witness.note("podgroups", event(kind, deletionTimestamp="now"))
    witness.note("podgroups", {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "7"}}})

    assert len(witness.deleted) == len(witness.seen) == 1
    assert (witness.count(pods=True), witness.count(pods=False)) == (0, 1)


def test_a_tally_counts_what_was_seen() -> None:
    tally = Tally(rounds=2, pods=12, objects=30, violations=["round 2: x"], seconds=[4.0, 8.0])
    tally.faults.update(("lines cut", "lines cut", "all killed"))

    assert str(tally).splitlines() == [
        "summary: 2 rounds (mean 6.0 s, longest 8.0 s), 12 pods and 30 objects watched, 1 violations",
        "summary: faults: all killed 1, lines cut 2",
    ]
