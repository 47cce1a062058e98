"""Writes of files after which no admission can know what the author wrote; the walk counts them by name.

Admission sees the merged object, not the file. What the client does with a file depends on the object that is
stored, so that it may send less to B than to A. `docs/states.md` lists the same cases for users.

Each case is a comparison of four objects: what both servers store, and what the client sends to them. After
one of these writes only the side laws are checked.
"""

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson

from intent import Object
from intent.annotations import EXPANSION, SERVICE
from tests.laws.convergence.fields import NO_FIELDS, Fields, compare, field_set, leaves, same
from tests.laws.convergence.laws import incomplete, without_edits
from tests.laws.convergence.managed import KUBECTL, LAST_APPLIED, managers_of, migrated
from tests.laws.convergence.schema import containers, templates
from webhook.overlay.merge3 import RAY

if TYPE_CHECKING:
    from collections.abc import Callable

APPLY: Final = "server-side apply"
CLIENT_SIDE: Final = "client-side apply"
HELM: Final = ("helm", "helm three-way")
OWNERS: Final = "server-side apply beside another owner"
INJECTED: Final = "Helm, or an apply of the file of the last one, writes what was injected"
LAUNCHED: Final = "server-side apply writes the arguments that were injected"
ALIKE: Final = "Helm writes a launch by hand of the launcher that was injected"
COPY: Final = "Helm merges into the leader's copy"
REMOVED: Final = "server-side apply leaves out what a launch removed"
EDITED: Final = "apply merges a leader's template into edits of every template"
NOTED: Final = "apply after the replace of an export"
RETURNED: Final = "apply of the file of an ejected object, which has all that the file expands to"
PAST: Final = "a write past the webhooks writes what was injected"
WITHDRAWN: Final = "a write past the webhooks opts out, which the next write carries out"
BESIDE: Final = "a write past the webhooks changes the workers, and not the edited leader"
UNPROVEN: Final = "a file has a record that nothing else of it proves"
CASES: Final = (
    *(OWNERS, INJECTED, LAUNCHED, ALIKE, COPY, REMOVED, EDITED, NOTED, RETURNED),
    *(PAST, WITHDRAWN, BESIDE, UNPROVEN),
)


class Side(NamedTuple):
    """One server's object, and the object of the write before admission."""

    stored: Object
    sent: Object


def unknowable(
    client: str,
    file: Object,
    a: Side,
    b: Side,
    *,
    created: Object,
    edited: Object,
    expansion: "Callable[[Object], Object]",
) -> str:
    """Return the case of a write of a file, or nothing.

    `created` is what a CREATE of the file makes of A, `edited` is A's object with the leader's template that
    B has by edits, and `expansion` gives B's object for one of A.
    """
    is_apply, is_helm, is_noted = client == APPLY, client in HELM, client == CLIENT_SIDE
    has_no_trace = is_helm or (is_noted and _text_of_note(b.sent) == _text_of_note(b.stored) != "")
    adds_leader = "leaderTemplate" not in _group(a.stored) and "leaderTemplate" in _group(a.sent)
    cases: dict[str, Callable[[], bool]] = {
        RETURNED: lambda: (
            (is_apply or is_noted) and _returns(a) and _has_injected(b.stored, created, expansion(created))
        ),
        OWNERS: lambda: (
            is_apply
            and (_is_removed_once(a, b) or _leaves_empty(a, b) or _keeps_what_was_replaced(file, a, b))
        ),
        REMOVED: lambda: is_apply and _leaves_out_what_was_removed(a, b),
        INJECTED: lambda: has_no_trace and _writes_what_was_injected(a, b),
        LAUNCHED: lambda: is_apply and _writes_what_was_launched(a, b),
        ALIKE: lambda: is_helm and _writes_a_launch_alike(a, b),
        NOTED: lambda: (is_apply or is_noted) and _noted(a.stored) != _noted(b.stored),
        COPY: lambda: is_helm and adds_leader and _leaves_of_the_copy(edited, a, b),
        EDITED: lambda: (is_apply or is_noted) and adds_leader and _leaves_of_edits(created, a, b),
    }
    return next((case for case, holds in cases.items() if holds()), "")


def unseen(a: Side, b: Side, *, is_edited: bool) -> str:
    """Return the case of a write past the webhooks, or nothing; whether the leader's copy was edited."""
    if SERVICE in _keys(a.stored) and SERVICE not in _keys(a.sent):
        return WITHDRAWN
    if is_edited and _workers(b.stored) != _workers(b.sent):
        return BESIDE
    is_merged = bool(incomplete(b.sent)) and not incomplete(a.sent)  # a handler beside an injected one
    return PAST if is_merged or _writes_what_was_injected(a, b) else ""


def unproven(a: Side, b: Side, *, is_of_others: bool) -> str:
    """Return the case of a file that brings a record, or nothing: no rule and no object shows it is true.

    A record may say that the same launch was made from other arguments.
    """
    is_new = EXPANSION in _keys(b.sent) and EXPANSION not in _keys(b.stored)
    was, now, had, has = map(_arguments, (*a, *b))
    return UNPROVEN if is_of_others and (is_new or (was != now and had == has)) else ""


def _returns(a: Side) -> bool:
    """Return whether the write opts in again an object that was expanded when it was ejected."""
    stored, sent = map(_keys, a)
    labels = (template.get("metadata", {}).get("labels", {}) for _, template in templates(a.stored))
    return SERVICE not in stored and SERVICE in sent and any(SERVICE in one for one in labels)


def _has_injected(stored: Object, author: Object, expanded: Object) -> bool:
    """Return whether an object has all that admission sets in the author's, and nothing that it removes."""
    was, now, has = (_spec(with_leader(without_edits(lws))) for lws in (author, expanded, stored))
    (injected, removed), (lacking, more) = compare(was, now, ()), compare(has, now, ())
    return not (injected & lacking or removed & more)


def _is_removed_once(a: Side, b: Side) -> bool:
    """Return whether the apply removes a field on one server that stays on the other, by their owners."""
    (had_a, gone_a), (had_b, gone_b) = (
        (had, had - field_set(_spec(one.sent))) for one in (a, b) for had in [field_set(_spec(one.stored))]
    )
    return bool(((gone_a & had_b) - gone_b) | ((gone_b & had_a) - gone_a))


def _leaves_empty(a: Side, b: Side) -> bool:
    """Return whether the apply leaves a map without fields on B, where A has none."""
    had, has = (leaves(_spec(one)) for one in b)
    return any(has[at] == {} for at in has.keys() - had.keys() - leaves(_spec(a.sent), nodes=True).keys())


def _keeps_what_was_replaced(file: Object, a: Side, b: Side) -> bool:
    """Return whether a field that the file leaves out stays on A, where B has none or an injected value."""
    mine, theirs = leaves(_spec(a.stored)), leaves(_spec(b.stored))
    left = (field_set(_spec(a.sent)) & mine.keys() & _others(a.stored)) - field_set(_spec(file))
    return any(path not in theirs or not same(mine[path], theirs[path]) for path in left)


def _others(stored: Object) -> Fields:
    """Return the fields that another client than server-side apply owns."""
    owners = managers_of(migrated(stored))
    return NO_FIELDS.union(*(fields for one, fields in owners.items() if one != (KUBECTL, "Apply")))


def _leaves_out_what_was_removed(a: Side, b: Side) -> bool:
    """Return whether the apply removes a field on A that B's workers lack already, and its leader has.

    Where it sends arguments, admission sees that the workers are the file's.
    """
    stored, sent = ([(one.get("command"), one.get("args")) for one in _engines(lws)] for lws in b)
    if stored != sent:
        return False
    gone = field_set(_workers(a.stored)) - field_set(_workers(a.sent))
    kept = field_set(_group(b.sent).get("leaderTemplate"))
    return bool((gone - field_set(_workers(b.stored))) & kept)


def _writes_what_was_injected(a: Side, b: Side) -> bool:
    """Return whether the author writes a value that B has already, and A has not.

    A merge patch with an empty map changes nothing where B has a map with fields.
    """
    before, now = leaves(_written(with_leader(a.stored))), leaves(_written(a.sent))
    had, has = (leaves(_written(one), nodes=True) for one in b)
    written = [at for at, value in now.items() if at not in before or not same(before[at], value)]
    return any(at in had and at in has and (now[at] == {} or same(had[at], now[at])) for at in written)


def _writes_what_was_launched(a: Side, b: Side) -> bool:
    """Return whether the author changes arguments to those that B has already.

    An apply shows which fields its file has, and of a list not the items: while the object has annotations of
    ours, an earlier call of the same write may have written them.
    """
    if SERVICE not in _keys(b.sent):
        return False
    was, now, had, has = map(_arguments, (*a, *b))
    changed = (at for at in now if now[at] is not None and at in was and now[at] != was[at])
    return any(had.get(at) == has.get(at) == now[at] for at in changed)


def _writes_a_launch_alike(a: Side, b: Side) -> bool:
    """Return whether the author writes a launch that starts Ray as the one that B has."""
    was, now, had, _ = (str(_arguments(lws)) for lws in (*a, *b))
    return was != now and any(mark in now and mark in had for mark in RAY)


def _arguments(lws: Object) -> dict[tuple[str, str, str], Any]:
    """Return command and args of all containers."""
    return {
        (field, one["name"], key): one.get(key)
        for field, template in templates(with_leader(lws))
        for one in containers(template)
        for key in ("command", "args")
    }


def _leaves_of_the_copy(edited: Object, a: Side, b: Side) -> bool:
    """Return whether B keeps fields of the edited copy beside a leader's template that is added to A."""
    left = field_set(_group(b.sent).get("leaderTemplate")) - field_set(_group(a.sent)["leaderTemplate"])
    return bool(left & field_set(_group(edited)["leaderTemplate"]))


def _leaves_of_edits(created: Object, a: Side, b: Side) -> bool:
    """Return whether B's leader has a value that a client other than the file's wrote into every template."""
    edits = leaves(_workers(a.stored)).keys() - leaves(_workers(created)).keys()
    return bool(edits & leaves(_group(b.sent).get("leaderTemplate") or {}).keys())


def with_leader(lws: Object) -> Object:
    """Return the object with a copy of the workers' template for the leader, if it has none of its own."""
    group = _group(lws)
    whole = {"leaderTemplate": group["workerTemplate"], **group}
    return {**lws, "spec": {**lws["spec"], "leaderWorkerTemplate": whole}}


def _keys(lws: Object) -> Object:
    found: Object = lws["metadata"].get("annotations") or {}
    return found


def _spec(lws: Object) -> Object:
    return {"spec": lws["spec"]}


def _written(lws: Object) -> Object:
    """Return what an author and admission may both write: the spec, and annotations."""
    return {**_spec(lws), "annotations": _keys(lws)}


def _noted(lws: Object) -> Any:
    """Return the spec in kubectl's note of its last file; None without a note."""
    text = _text_of_note(lws)
    return orjson.loads(text)["spec"] if text else None


def _text_of_note(lws: Object) -> str:
    return str(_keys(lws).get(LAST_APPLIED, ""))


def _engines(lws: Object) -> list[Object]:
    found: list[Object] = _workers(lws)["spec"]["containers"]
    return found


def _workers(lws: Object) -> Object:
    found: Object = _group(lws)["workerTemplate"]
    return found


def _group(lws: Object) -> Object:
    found: Object = lws["spec"]["leaderWorkerTemplate"]
    return found
