"""The short form of the safety law has every kind of fault, and its witness sees what was deleted."""

from typing import Any

from tests.cluster.alone.test_safety import ROUNDS
from tests.cluster.safety.faults import KINDS
from tests.cluster.safety.rounds import rounds
from tests.cluster.safety.witness import Seen, Witness


def names(seed: int, count: int) -> list[frozenset[str]]:
    return [one.names for one in rounds(seed, count)]


def test_the_short_form_has_every_kind_of_fault() -> None:
    assert frozenset().union(*names(2, ROUNDS)) == {kind.name for kind in KINDS}


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
