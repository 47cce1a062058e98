"""Expand an object: compute the patch that injects fields. Used by webhook, command and tests.

    state      webhook.state      revert what was injected before, parse what the author wrote, and decide;
                                  an ejected object that comes back counts as it was (`_before_ejection`)
    wish       pin, or CONCERNS   the recorded overlay if the input is unchanged, else that of the mutators
    inject     Write.inject       the overlay merged into what the author wrote
    patch      overlay.patch      the difference from the object of the request

No function here changes its arguments, or raises for any JSON.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Final, assert_never

import msgspec

from intent import Object, budget
from intent.annotations import EXPANSION, PREFIX, SERVICE
from intent.service.member import sidecar_of
from intent.service.routes import keeping
from intent.settings import Settings
from intent.shapes import annotations, labels, listed, mapping, metadata
from intent.template import Templates
from intent.tree import (
    COPY,
    LIST_KEYS,
    Overlay,
    difference,
    digest_of_file,
    is_default,
    is_keyed,
    is_unwritten,
    merge,
)
from webhook import mutate
from webhook.mutate import CONCERNS, RESTORED, Pins
from webhook.mutate.concern import Concern
from webhook.overlay import record as records
from webhook.overlay import written as evidence
from webhook.overlay.base import Base
from webhook.overlay.merge3 import Sides, without_edits
from webhook.overlay.overlay import (
    ARGUMENTS,
    INIT,
    LEADER,
    WORKER,
    containers_of,
    group_of,
    is_on,
    pod_of,
    template_of,
    templates_of,
    with_containers,
    with_group,
    with_templates,
)
from webhook.overlay.patch import Operation, patch
from webhook.overlay.put import Injection
from webhook.overlay.record import Expansion
from webhook.overlay.revert import Reverted, with_edits, with_kept
from webhook.state import (
    AtOnce,
    Fresh,
    Inspected,
    Invalid,
    NotOurs,
    Pinned,
    Settled,
    State,
    Unreadable,
    Withdrawn,
    state,
)
from webhook.templates.fill import with_reason, without_null_containers
from webhook.write import Write, has_record, record_of, wrote_the_same

ANNOTATIONS_LIMIT: Final = 256 * 1024
"""All annotations of an object, in bytes (`k8s.io/apimachinery` `pkg/api/validation/objectmeta.go`)."""

DEFAULTS: Final = Settings()
RECORD: Final = "/metadata/annotations/" + EXPANSION.replace("/", "~1")


def expand(
    live: Object,
    old: Object | None = None,
    settings: Settings = DEFAULTS,
    concerns: Iterable[Concern] = CONCERNS,
    templates: Templates | None = None,
) -> list[Operation]:
    """Return the JSON patch that expands the object; empty if there is nothing to do."""
    return operations(live, state(live, old, templates), settings, concerns)


def operations(
    live: Object, write_state: State, settings: Settings = DEFAULTS, concerns: Iterable[Concern] = CONCERNS
) -> list[Operation]:
    """Return the JSON patch that expands an object in the given state.

    On a first CREATE that is what is injected. Otherwise the objects are compared, as far as they differ.
    """
    if isinstance(write_state, Fresh) and write_state.write.is_first:
        injection = _with_record(write_state.write, wish(write_state, settings, concerns))
        return [] if injection is None else [*injection.operations]
    write_state = _before_ejection(live, write_state, settings, concerns)
    wanted = change(live, write_state, settings, concerns)
    if not isinstance(write_state, AtOnce | Unreadable) and _is_unproven(live, write_state, wanted):
        write, recorded = write_state.write, merge(live, _annotation(records.find(write_state.write.old)))
        write_state = state(recorded, write.old, write.templates)
        wanted = change(recorded, write_state, settings, concerns)
    if wanted is live:
        return []
    is_filled_anew = isinstance(write_state, Pinned | Fresh | Withdrawn) and write_state.write.is_filled_anew
    return patch(live, wanted, is_unwritten if is_filled_anew else is_default)


def _before_ejection(
    live: Object, write_state: State, settings: Settings, concerns: Iterable[Concern]
) -> State:
    """Return the state of a write as if the object had not been ejected, if it gets its annotations back.

    The file that is applied again shows what its author wrote. Where expanding that gives what is stored, but
    for labels of the object itself, the record of that expansion is the stored one: nothing of it is its
    author's, and nothing restarts. So it is not without all annotations of the file, which may name the model
    that its arguments lack. A file that is large is not read: it would cost as much as the object.
    """
    if not isinstance(write_state, Fresh | Invalid):
        return write_state
    write, old = write_state.write, write_state.write.old
    if old is None or write.record is not records.NO_RECORD or SERVICE in annotations(old):
        return write_state
    file = merge(evidence.file_of(live, old), {"metadata": {"name": metadata(old).get("name")}})
    missing = annotations(file).keys() - annotations(live).keys()
    if any(key.startswith(PREFIX) for key in missing) or not budget.is_small(file):
        return write_state
    result = change(file, state(file, None, write.templates), settings, concerns)
    recorded, record = _annotation(records.find(result)), record_of(result)
    live, old = (
        {**lws, "metadata": {**metadata(lws), "labels": {**labels(record.put_on), **labels(lws)}}}
        for lws in (live, old)
    )
    is_stored = all(is_on(old, _without_edits(overlay)) for overlay in record.overlays)
    if not is_stored or not has_record(result):
        return write_state
    return state(merge(live, recorded), merge(old, recorded), write.templates)


_OF_OTHERS: Final = frozenset({"image", "imagePullPolicy", "resources"})
"""Fields of init containers that other webhooks replace; the rest says what an author asks for."""


def _without_edits(put_on: Overlay) -> Overlay:
    """Return an overlay without what other webhooks edit in its init containers."""

    def lasting(container: Object) -> Object:
        return {key: value for key, value in container.items() if key not in _OF_OTHERS}

    return with_templates(put_on, lambda _, template: with_containers(template, lasting, INIT))


def _is_unproven(live: Object, write_state: Inspected, wanted: Object) -> bool:
    """Return whether an update that leaves the launches as they are stored changes one by its record alone.

    Then the stored record counts: one that a write brings may be forged, and no object shows what a launch
    replaced. A record with another launch, or without one, changes what depends on it. An earlier call of the
    write may have made it: then it has the launch that the rules give for what it says was replaced. A
    template that the write removes may come back as it is stored, and not otherwise.
    """
    write = write_state.write
    if write.old is None or not write.has_record or records.find(write.live) == records.find(write.old):
        return False
    now, then = (_launches(lws, group_of(live)) for lws in (live, write.old))
    before, result = (_launches(lws, group_of(wanted)) for lws in (write.old, wanted))
    recorded = (write.record, write.stored, record_of(wanted))
    mine, stored, ruled = ([part for part in _launches(record.put_on) if part] for record in recorded)
    is_known = mine == stored or (mine == ruled and any(key in part for part in mine for key in ARGUMENTS))
    differs = not is_known and any(operation["path"].startswith("/spec") for operation in patch(live, wanted))
    return now == then and (before != result or differs or isinstance(write_state, Invalid))


def _launches(lws: Object, fields: Collection[str] = (LEADER, WORKER)) -> list[Object]:
    """Return the fields of the containers of these templates that a launch may replace."""
    specs = [pod_of(template_of(lws, field)) for field in (LEADER, WORKER) if field in fields]
    return [
        {key: value for key, value in mapping(container).items() if key in RESTORED}
        for spec in specs
        for container in listed(spec.get("containers"))
    ]


def expanded(live: Object, settings: Settings = DEFAULTS, templates: Templates | None = None) -> Object:
    """Return the object as /mutate leaves it. The patch has the same result (tests/laws)."""
    return change(live, state(live, None, templates), settings)


def change(
    live: Object, write_state: State, settings: Settings = DEFAULTS, concerns: Iterable[Concern] = CONCERNS
) -> Object:
    """Return the object as /mutate leaves it. The service label is only fixed together with the others."""
    match write_state:
        case NotOurs() | Settled() | Unreadable():
            return live
        case Invalid(write):
            return _noted(live, write)
        case Withdrawn(write):
            return live if write.record is records.NO_RECORD else _withdrawn(write)
        case Pinned(write) | Fresh(write) if write.is_left and stays(write_state, settings, concerns):
            return _left(write_state)
        case Pinned():
            return _injected(write_state, wish(write_state, settings, concerns))
        case Fresh():
            return _injected(*foreseen_write(write_state, settings, concerns))
    assert_never(write_state)


def _left(write_state: Pinned | Fresh) -> Object:
    """Return an object with what it had of its record; its pods as stored if its author wrote the same.

    Annotations may differ, since the rules make the same of them (`stays`).
    """
    write, before = write_state.write, write_state.write.before
    if before is None or before.record is records.NO_RECORD:
        return write.live
    edits, then = ((edited.delta, edited.kept) for edited in (write.reverted, before.reverted))
    is_other = write.base != before.base or edits != then
    if is_other or not wrote_the_same(before.original, write.original):
        return _injected(write_state, write.standing)
    result = with_group(write.inject(write.standing).result, group_of(before.live))
    return merge(result, _annotation(records.find(before.live)))


def _withdrawn(write: Write) -> Object:
    """Return what the author wrote. A leader with edits of its own is theirs."""
    reverted = with_edits(write.reverted)
    return merge(with_kept(reverted.original, reverted), _annotation(None))


def _noted(live: Object, write: Write) -> Object:
    """Return the object with the content of its templates in the record, or why there is none.

    /validate reads no template: with it, it finds the same errors. What was injected before stays.
    """
    if write.filling is None:
        return live
    live = with_reason(without_null_containers(live), write.filling.errors)
    if not write.filling.is_read:
        return live
    there, base = write.record.base, write.filling.base
    stands = Base(*base.key) if there is None else there
    noted = msgspec.structs.replace(base, put_on=stands.put_on, was=stands.was)
    known = write.record
    text = records.write(known.expansion, known.was, noted, known.refresh or "", known.leader)
    return live if len(text.encode()) > room(live) else merge(live, _annotation(text))


def _injected(write_state: Pinned | Fresh, wished: Expansion) -> Object:
    write = write_state.write
    is_again = isinstance(write_state, Pinned) and wished is write.stored.expansion
    injection = _with_record(write, wished, write.again if is_again else None)
    return write.sent if injection is None else injection.result


def _with_record(write: Write, wished: Expansion, again: Injection | None = None) -> Injection | None:
    """Return the injection of what is wished for, with the record; None if the record does not fit."""
    injection = again or write.inject(wished)
    text = written(write, wished, injection)
    if len(text.encode()) > room(write.sent):
        return None
    added: Operation = {"op": "add", "path": RECORD, "value": text}
    result = merge(injection.result, _annotation(text))
    return injection._replace(result=result, operations=(*injection.operations, added))


def foreseen_write(
    write_state: Fresh, settings: Settings, concerns: Iterable[Concern] = CONCERNS
) -> tuple[Fresh, Expansion]:
    """Return the write and the overlay of the mutators. An edited leader stays where it is no copy now."""
    wished = wish(write_state, settings, concerns)
    own = write_state.write if wished.decision.splits else write_state.write.with_own_leader()
    if own is write_state.write or own.reading.intent is None:
        return write_state, wished
    write_state = replace(write_state, write=own, intent=own.reading.intent)
    return write_state, wish(write_state, settings, concerns)


def written(write: Write, wished: Expansion, injection: Injection) -> str:
    """Return the text of the record. What is pinned keeps the text that is stored.

    It has a digest of a leader's template that is made from the workers' without edits.
    """
    stored, is_made = write.stored, COPY in template_of(injection.put_on, LEADER)
    is_plain = is_made and (write.is_first or not (write.reverted.delta or write.reverted.launches))
    is_same = write.base == stored.base and injection.was == stored.was
    is_stored = wished is stored.expansion and is_same
    if is_stored and (is_plain or not stored.leader):
        text: str = records.find(write.old, write.live)
        return text
    leader = _digest(injection) if is_plain else ""
    return records.write(wished.reduced(injection.put_on), injection.was, write.base, write.refresh, leader)


def _digest(injection: Injection) -> str:
    """Return the digest of the leader's template as it was made, without edits of its init containers."""
    injected = template_of(injection.put_on, LEADER)
    sides = Sides(injected, theirs=template_of(injection.result, LEADER))
    return digest_of_file(without_edits(sides, injected).theirs)


def wish(
    write_state: Pinned | Fresh, settings: Settings, concerns: Iterable[Concern] = CONCERNS
) -> Expansion:
    """Return the recorded expansion if the object is pinned, else that of the mutators, with its pins.

    The recorded part of a concern stays only if the object has it, or the mutators add what it lacks. So a
    record that was forged adds nothing, and what was removed by hand comes back as it was, or not at all.
    """
    write, intent = write_state.write, write_state.write.reading.intent
    if write.before is None and intent is not None:
        return mutate.expansion(intent, settings, concerns)
    recorded, is_pinned = write.stored.expansion, isinstance(write_state, Pinned)
    again, pins, lost = write.again, None, dict[str, Overlay]()
    if again is not None and write.before is not None and (is_pinned or not write.is_refresh):
        lost = _lost_parts(recorded, again.put_on, write, write.before.reverted.of_injected())
        pins = _pins(write, write.before, settings, lost)
    if intent is None or (is_pinned and not lost):
        return recorded.without(lost.keys())
    return mutate.expansion(intent, write.keeping(settings), concerns, pins)


def _lost_parts(expansion: Expansion, put_on: Overlay, write: Write, before: Reverted) -> dict[str, Overlay]:
    """Return the parts that neither the live nor the stored object has, by name: what the live one lacks.

    `put_on` is what the expansion injects. A write may have removed an item by hand, which does not come back
    from a record. A file of a client without server-side apply replaces whole lists, that of the containers
    too. So what is gone together with all that was injected into containers is no removal. An init container
    that is edited, in the live or in the stored object (`before`), is not lost.
    """
    live, old = write.live, write.old or {}
    if is_on(live, with_kept(put_on, write.reverted)):
        return {}
    parts_of = {field: (part, template_of(live, field)) for field, part in templates_of(put_on).items()}
    edited = tuple(
        f"/spec/leaderWorkerTemplate/{field}/" for field, pair in parts_of.items() if _is_expanded(*pair)
    )
    lost: dict[str, Overlay] = {}
    for name, part in expansion.reduced(put_on).parts.items():
        whole = merge(live, with_kept(part.put_on, write.reverted))
        lacks = patch(live, whole)
        removed = any(operation["path"].startswith(edited) and _adds_item(operation) for operation in lacks)
        if lacks and (removed or not is_on(old, with_kept(part.put_on, before))):
            lost[name] = difference(live, whole)
    return lost


def _adds_item(operation: Operation) -> bool:
    last = operation["path"].rpartition("/")[2]
    return operation["op"] == "add" and (last == "-" or last.isdigit() or last in LIST_KEYS)


def _is_expanded(injected: Overlay, live: Object) -> bool:
    """Return whether some of what was injected into containers is still there; also if nothing was."""
    ours, now = containers_of(injected), containers_of(live)
    return not ours or any(
        is_on(mapping(now.get(name)), {key: piece})
        for name, item in ours.items()
        for key, value in item.items()
        if value and key != "name"
        for piece in ([[entry] for entry in value] if is_keyed(key, value) else [value])
    )


def stays(write_state: Pinned | Fresh, settings: Settings, concerns: Iterable[Concern] = CONCERNS) -> bool:
    """Return whether an object that was stored past the webhooks (`Write.is_left`) stays, not expanded.

    So it does while the rules make the same for its author. Otherwise they make all anew, not one part alone.
    """
    write, before = write_state.write, write_state.write.before
    if before is None or isinstance(write_state, Pinned):
        return before is not None
    pins = _pins(write, before, settings, {})
    return not write.is_refresh and mutate.is_same(
        write_state.intent, write.keeping(settings), concerns, pins
    )


def _pins(write: Write, before: Write, settings: Settings, lost: Mapping[str, Overlay]) -> Pins:
    """Return what the stored object pins; its sidecar stays of its generation."""
    then = keeping(settings, (sidecar_of(before.live),))
    return Pins(write.stored.expansion, before.reading.intent, then, lost)


def room(live: Object) -> int:
    """Return the number of bytes that other annotations leave for the record."""
    others = {key: value for key, value in annotations(live).items() if key != EXPANSION}
    texts = (key + value for key, value in others.items() if isinstance(value, str))
    used = sum(len(text.encode(errors="replace")) for text in texts)
    return ANNOTATIONS_LIMIT - used - len(EXPANSION)


def _annotation(text: str | None) -> Overlay:
    return {"metadata": {"annotations": {EXPANSION: text}}}
