"""Check a LeaderWorkerSet: errors and warnings about its input, its record and its expansion."""

from collections.abc import Collection, Container, Iterator, Mapping
from dataclasses import replace
from typing import Final

from catalog.codes import CODES
from intent import Object, budget
from intent.annotations import BASE_REFS, EXPANSION, REFRESH, SERVICE, path
from intent.errors import FieldError, ratcheted
from intent.lws import LWT
from intent.read import pods_of
from intent.settings import Settings
from intent.shapes import labels, listed, mapping
from intent.template import Templates
from intent.tree import Overlay, same
from webhook import mutate
from webhook.expand import ANNOTATIONS_LIMIT, DEFAULTS, room, stays, wish, written
from webhook.layout import DECISIONS, UNDECIDED, Input
from webhook.overlay import record as records
from webhook.overlay.base import MISSING
from webhook.overlay.merge3 import arguments, launcher_words
from webhook.overlay.overlay import (
    containers_of,
    group_of,
    has_some,
    pod_of,
    remainder,
    template_of,
    templates_of,
)
from webhook.state import (
    Fresh,
    Inspected,
    Invalid,
    NotOurs,
    Pinned,
    Settled,
    Unreadable,
    Withdrawn,
    inspect,
    state,
)
from webhook.templates.content import bypassed
from webhook.validate import CONSEQUENCES, OF_AUTHORS, UNFILLED, UNSET, VALIDATORS
from webhook.validate.service import too_long
from webhook.write import Write, has_record


def check(  # noqa: PLR0913 - what a request consists of
    live: Object,
    old: Object | None = None,
    settings: Settings = DEFAULTS,
    *,
    mutated: bool = True,
    templates: Templates | None = None,
    dry_run: bool = False,
) -> list[FieldError]:
    """Return the findings about an object, errors first.

    The object is expanded, as /validate gets it, unless `mutated` is false, as for a file. On an update that
    leaves the input unchanged, errors become warnings: a stricter release does not block old objects. On a
    dry run a template that cannot be read is a warning, since it may be applied together with the object.
    """
    write_state = state(live, old, templates)
    match write_state:
        case NotOurs():
            return [_EJECTED] if write_state.is_ejected else []
        case Settled():
            # it depends on the replicas, and a settled update changes nothing else that is checked
            return ratcheted(list(too_long(*pods_of(live))), lambda: too_long(*pods_of(old or {})))
        case Unreadable(error):
            is_same = records.find(live) == records.find(old) and _same_templates(live, old)
            return [replace(error, softened=is_same)]
        case Withdrawn(write):
            return list(_withdrawn(write))
    write, is_read = write_state.write, mutated or templates is not None
    if write.filling and write.filling.is_unfilled and not (is_read and write_state.is_same):
        about_templates = _about_templates(write, mutated=mutated, dry_run=dry_run) if is_read else ()
        unfilled = (replace(finding, softened=write_state.is_same) for finding in _unfilled(write))
        return [*about_templates, *unfilled]
    inputs = _validated(write_state, settings)
    about_record = list(
        _about_record(write_state, inputs, settings) if mutated else _no_room(write_state, settings)
    )
    about_input = list(_about_input(write, inputs))
    if any(finding.severity == "error" for finding in (*about_record, *about_input)):
        if write_state.is_same:
            about_record = [replace(finding, softened=_same_templates(live, old)) for finding in about_record]
            about_input = _softened(about_input, write, settings)
        elif write.before is not None and write.before.has_record:
            about_input = _softened(about_input, write, settings, OF_AUTHORS)
    return sorted((*about_record, *about_input), key=lambda finding: finding.severity != "error")


def _softened(
    errors: list[FieldError], write: Write, settings: Settings, codes: Container[str] = CODES
) -> list[FieldError]:
    """Turn errors that the old object had too into warnings, as far as they have these codes.

    Values of variables, which only validators read, may have changed in this very update.
    """
    if write.before is not None and write.before.reading == write.reading and codes is CODES:
        return [replace(finding, softened=True) for finding in errors]

    def before() -> Iterator[FieldError]:
        old = inspect(write.old or {}, write.old)
        if isinstance(old, Inspected):
            yield from _about_input(old.write, _validated(old, settings))

    # without the path, since the position of an item may change
    return ratcheted(errors, before, text=lambda error: str(replace(error, path="")), codes=codes)


def _about_templates(write: Write, *, mutated: bool, dry_run: bool) -> Iterator[FieldError]:
    """Report why there is no content of templates."""
    if mutated and write.filling and write.filling.is_read:
        yield _not_run(f"{EXPANSION} has no content for {BASE_REFS}")
    elif write.filling:
        yield from (
            replace(finding, softened=dry_run and finding.code == MISSING) for finding in write.filling.errors
        )


def _unfilled(write: Write) -> list[FieldError]:
    """Return the errors in annotations: without the content of templates nothing else is known."""
    return [
        error
        for error in write.reading.errors
        if error.path.startswith("metadata.annotations") or error.code == budget.CODE
    ]


_EDITED: Final = (
    "edited by hand: command and args are left as they are; apply your own file to have them launched again"
)


# --- the input --------------------------------------------------------------------------------------


def _validated(write_state: Inspected, settings: Settings) -> Input | None:
    """Return the input of validators: on an update with the launcher and the layout of its record."""
    write, intent = write_state.write, write_state.write.reading.intent
    if intent is None:
        return None
    if write.old is None:
        return mutate.input_of(intent, settings)
    record, decided = write.stored if isinstance(write_state, Pinned) else write.record, UNDECIDED
    if record is not records.NO_RECORD:
        taken = record.expansion.decision
        decided = {name: getattr(taken, name) for names in DECISIONS.values() for name in names}
    return mutate.input_of(intent, write.keeping(settings), decided=decided)


def _about_input(write: Write, inputs: Input | None) -> Iterator[FieldError]:
    """Report what is wrong with the input of the author."""
    yield from write.reading.errors
    if inputs is not None:
        refused = (CONSEQUENCES.get(finding.path, frozenset()) for finding in write.reading.errors)
        known = frozenset[str]().union(*refused)
        if any(finding.severity == "error" for finding in inputs.about_blocks):
            unfilled = (codes for field, codes in UNFILLED.items() if getattr(inputs.intent, field))
            known = known.union(*unfilled)
        for validator, about in VALIDATORS:
            if not about or any(getattr(inputs.intent, name) != getattr(UNSET, name) for name in about):
                yield from (finding for finding in validator(inputs) if finding.code not in known)
        if write.reverted.kept:
            yield from _edited(write.live, write.reverted.launches)


def _edited(live: Object, launches: Mapping[str, Collection[str]]) -> Iterator[FieldError]:
    """FI523: launches of these containers of each template that were edited by hand."""
    for field, edited in launches.items():
        spec = pod_of(template_of(live, field))
        for index, container in enumerate(listed(spec.get("containers"))):
            if mapping(container).get("name") in edited:
                where = f"{LWT}.{field}.spec.containers[{index}].args"
                yield FieldError(where, None, _EDITED, "FI523")


# --- the record -------------------------------------------------------------------------------------


_EJECTED: Final = FieldError(
    path(EXPANSION),
    None,
    "removed together with the annotations: injected fields stay, and are yours now; "
    "to revert them, kubectl replace the object with your own file",
    "FI530",
)
_LOST: Final = FieldError(
    path(EXPANSION),
    None,
    "removed: the object stays as it is; kubectl replace it with your own file to expand it",
    "FI535",
)
_UNEXPANDED: Final = (
    "not expanded: {}, and this write does not change what is injected; "
    f"set {REFRESH} to any text to expand it"
)
_OLDER, _BYPASSED = (
    FieldError(path(REFRESH), None, _UNEXPANDED.format(cause), "FI522")
    for cause in ("the object is older than the webhook", "a write past the webhooks changed the object")
)


def _about_record(
    write_state: Invalid | Pinned | Fresh, inputs: Input | None, settings: Settings
) -> Iterator[FieldError]:
    """Report an object that does not match its record, or has none."""
    write = write_state.write
    if isinstance(write_state, Invalid) or write.reading.errors:
        return
    is_left = write.is_left and stays(write_state, settings)
    if is_left and write.stored is records.NO_RECORD:
        yield _LOST if has_record(write.old) else _OLDER
    elif is_left and write.has_record:
        yield _BYPASSED
    elif not write.has_record:
        yield from _not_written(write_state, settings, f"there is no annotation {EXPANSION}")
    elif _lacks_part(write_state, inputs, settings):
        yield from _not_written(write_state, settings, f"{EXPANSION} does not cover this change")
    elif write.old is None or has_record(write.old) or SERVICE in labels(write.old):
        return
    elif not _same_templates(write.live, write.old):
        cause = "the first annotation" if not bypassed(write.old) else "removing inject: disabled"
        message = f"{cause} changes the pod template of a running object, so its groups restart"
        yield FieldError(path(SERVICE), None, message, "FI520")


def _withdrawn(write: Write) -> Iterator[FieldError]:
    is_same = same(templates_of(write.live), templates_of(write.old or {}))
    if write.has_record:
        yield _not_run(f"{SERVICE} was removed, and the injected fields are still there")
    elif write.stored is not records.NO_RECORD and not is_same:
        message = "removed: injected fields are reverted, and the groups restart"
        yield FieldError(path(SERVICE), None, message, "FI521")


def _lacks_part(write_state: Pinned | Fresh, inputs: Input | None, settings: Settings) -> bool:
    """Return whether expanding would add a whole part of which nothing is on the object.

    An edited launch that stays is none that expanding would add. A record that another release wrote in this
    write has its parts by other rules: they need only be on the object.
    """
    write, live = write_state.write, write_state.write.live
    is_elsewhere = write.record.rules != records.RULES and records.find(live) != records.find(write.old)
    if is_elsewhere and write.stands():
        return False
    if isinstance(write_state, Pinned):
        ruled = [part.put_on for part in write.stored.expansion.parts.values()]
    else:
        ruled = [*mutate.wishes(inputs).values()] if inputs else []
    if all(_has_part(live, overlay) for overlay in ruled if overlay):
        return False
    wished, kept = wish(write_state, settings), write.reverted.edited(live)
    parts = wished.reduced(write.inject(wished).put_on).parts.values()
    overlays = (remainder(part.put_on, kept) for part in parts)
    return not all(_has_part(live, overlay) for overlay in overlays if overlay)


def _has_part(live: Object, overlay: Overlay) -> bool:
    """Return whether an object has a leaf of an overlay, and no container has its author's plain arguments.

    `has_some` is content with the launch of one template; each container that gets one needs one.
    """
    if not has_some(live, overlay):
        return False
    for field, template in templates_of(overlay).items():
        for name, item in containers_of(template).items():
            if launcher_words(arguments(item)):
                there = containers_of(template_of(live, field)).get(name, item)
                if not launcher_words(arguments(there)):
                    return False
    return True


def _not_written(write_state: Pinned | Fresh, settings: Settings, why: str) -> Iterator[FieldError]:
    """Report why there is no record of this input: it does not fit, or /mutate was not called."""
    no_room = list(_no_room(write_state, settings))
    yield from no_room or [_not_run(why)]


def _no_room(write_state: Inspected, settings: Settings) -> Iterator[FieldError]:
    """Report that the record does not fit into the annotations; /mutate then left the object unchanged."""
    write = write_state.write
    is_left = isinstance(write_state, Pinned) and (write.has_record or write.again is None)
    if not isinstance(write_state, Pinned | Fresh) or is_left or write.reading.errors:
        return
    left = room(write.live)
    wished = wish(write_state, settings)
    need = len(written(write, wished, write.inject(wished)).encode())
    if need > left:
        message = (
            f"{EXPANSION} needs {need} bytes, and the other annotations leave {max(left, 0)} of "
            f"{ANNOTATIONS_LIMIT}: remove some, or move long scripts into a ConfigMap"
        )
        yield FieldError("metadata.annotations", None, message, "FI903")


def _not_run(why: str) -> FieldError:
    message = (
        f"the mutating webhook did not run, or another one undid what it wrote: {why}; "
        "check MutatingWebhookConfiguration mutate.fusioninfer.io, then apply again"
    )
    return FieldError(path(EXPANSION), None, message, "FI902")


def _same_templates(live: Object, old: Object | None) -> bool:
    """Return whether an update left the templates and the size unchanged."""
    return old is not None and same(group_of(live), group_of(old))
