"""Writes of files after which no admission can know what the author wrote; the walk counts them by name.

Admission sees the merged object, not the file. What the client does with a file depends on the object that is
stored, so that it may send less to B than to A. `docs/states.md` lists the same cases for users.

Each case is a comparison of four objects: what both servers store, and what the client sends to them. After
one of these writes only the side laws are checked.
"""

from typing import Final, NamedTuple

from intent import Object
from tests.laws.convergence.fields import NO_FIELDS, Fields, field_set, leaves, same
from tests.laws.convergence.managed import KUBECTL, managers_of, migrated

APPLY: Final = "server-side apply"
HELM: Final = ("helm", "helm three-way")
OWNERS: Final = "server-side apply beside another owner"
INJECTED: Final = "Helm writes what was injected"
COPY: Final = "Helm merges into the leader's copy"
CASES: Final = (OWNERS, INJECTED, COPY)


class Side(NamedTuple):
    """One server's object, and the object of the write before admission."""

    stored: Object
    sent: Object


def unknowable(client: str, file: Object, a: Side, b: Side) -> str:
    """Return the case of a write of a file, or nothing."""
    if client == APPLY and (_is_removed_once(a, b) or _keeps_what_was_replaced(file, a, b)):
        return OWNERS
    if client in HELM and _writes_what_was_injected(a, b):
        return INJECTED
    return COPY if client in HELM and _leaves_of_the_copy(a, b) else ""


def _is_removed_once(a: Side, b: Side) -> bool:
    """Return whether the apply removes a field on one server that stays on the other, by their owners."""
    (had_a, gone_a), (had_b, gone_b) = (
        (had, had - field_set(_spec(one.sent))) for one in (a, b) for had in [field_set(_spec(one.stored))]
    )
    return bool(((gone_a & had_b) - gone_b) | ((gone_b & had_a) - gone_a))


def _keeps_what_was_replaced(file: Object, a: Side, b: Side) -> bool:
    """Return whether a field that the file leaves out stays on A, where B has none or an injected value."""
    mine, theirs = leaves(_spec(a.stored)), leaves(_spec(b.stored))
    left = (field_set(_spec(a.sent)) & mine.keys() & _others(a.stored)) - field_set(_spec(file))
    return any(path not in theirs or not same(mine[path], theirs[path]) for path in left)


def _others(stored: Object) -> Fields:
    """Return the fields that another client than server-side apply owns."""
    owners = managers_of(migrated(stored))
    return NO_FIELDS.union(*(fields for one, fields in owners.items() if one != (KUBECTL, "Apply")))


def _writes_what_was_injected(a: Side, b: Side) -> bool:
    """Return whether the author writes a value that B has already, and A has not."""
    before, now = leaves(_spec(with_leader(a.stored))), leaves(_spec(a.sent))
    had, has = leaves(_spec(b.stored)), leaves(_spec(b.sent))
    written = (at for at, value in now.items() if at not in before or not same(before[at], value))
    return any(at in had and at in has and same(had[at], now[at]) for at in written)


def _leaves_of_the_copy(a: Side, b: Side) -> bool:
    """Return whether a leader's template is added to A, and B keeps fields of the workers' copy beside it."""
    before, now = _group(a.stored), _group(a.sent)
    if "leaderTemplate" in before or "leaderTemplate" not in now:
        return False
    left = field_set(_group(b.sent).get("leaderTemplate")) - field_set(now["leaderTemplate"])
    return bool(left & field_set(before["workerTemplate"]))


def with_leader(lws: Object) -> Object:
    """Return the object with a copy of the workers' template for the leader, if it has none of its own."""
    group = _group(lws)
    whole = {"leaderTemplate": group["workerTemplate"], **group}
    return {**lws, "spec": {**lws["spec"], "leaderWorkerTemplate": whole}}


def _spec(lws: Object) -> Object:
    return {"spec": lws["spec"]}


def _group(lws: Object) -> Object:
    found: Object = lws["spec"]["leaderWorkerTemplate"]
    return found
