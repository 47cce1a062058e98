"""The state of one write: what admission does with the live object, given the old one.

`/validate` gets the object after `/mutate` and all other mutating webhooks, so one table holds for both:

    state       the object                          /mutate               /validate warns    and denies
    NotOurs     has no annotation of ours, is       leaves it             of fields that     -
                bypassed, is being deleted, or                            stay after both
                lost annotations and record                               went (FI530)
    Settled     has a record, and the update is     leaves it             -                  if replicas
                no apply, and changes no input                                               are too many
    Unreadable  has a record that cannot be read    leaves it             if no template     else (FI901)
                                                                          changed (FI901)
    Invalid     has errors in its input, or names   notes in its record   on a dry run if    the errors
                templates that are not known        why templates are     one is missing     (FI951)
                                                    not known
    Withdrawn   has no annotation of ours, but      reverts the record    of the restart     a record that
                perhaps its record                  and removes it        (FI521)            stays (FI902)
    Pinned      has the input of the old object     injects the recorded  that it is left    a lost record
                                                    overlay again         (FI522, FI535)     (FI902)
    Fresh       is new, or has another input        expands it by the     of the restart,    a wrong record
                                                    rules                 if it had none     or none (FI902
                                                                          (FI520)            or FI903)

A Pinned or Fresh object that was stored past the webhooks is left as it is stored while the rules make the
same for both authors (`webhook.expand.stays`). An ejected object that gets its annotations back counts as
never ejected, if expanding the file that is applied gives what is stored (`webhook.expand`).

From `Invalid` on, `/validate` also reports the findings of the validators. Errors that the old object had too
become warnings, if the update did not change the input.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Final

from intent import Object
from intent.annotations import INJECT, PREFIX
from intent.errors import FieldError
from intent.lws import Intent
from intent.read import NOTHING
from intent.shapes import annotations, metadata
from intent.template import Templates
from webhook.overlay.patch import patch
from webhook.overlay.record import NO_RECORD
from webhook.overlay.revert import revert
from webhook.overlay.written import LAST_APPLIED, is_applied
from webhook.templates.content import bypassed
from webhook.write import READ, Write, asks_the_same, has_record, read_write, scaled_spec


@dataclass(frozen=True, slots=True)
class NotOurs:
    """No annotation of FusionInfer on the live or the old object, a bypass, a deletion, or an ejection."""

    is_ejected: bool = False
    """Whether annotations and record were removed together, and injected fields are still there."""


@dataclass(frozen=True, slots=True)
class Settled:
    """An update of an object with a record that changes only replicas, status or metadata of others."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An object whose own record cannot be read, with the reason."""

    error: FieldError


@dataclass(frozen=True, slots=True)
class Invalid:
    """An input that has errors and is not pinned, or that cannot be read as a whole."""

    write: Write
    is_same: bool
    """Whether the author of the old object asked for the same; without a record, as far as it is read."""


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """No annotation of FusionInfer on the object, except perhaps the record."""

    write: Write


@dataclass(frozen=True, slots=True)
class Pinned:
    """An update whose author asks for the same: what is stored stays, whatever today's rules say."""

    write: Write
    is_same: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class Fresh:
    """An input without errors that the rules expand."""

    write: Write
    intent: Intent
    is_same: bool = False
    """Whether the author of the old object asked for the same, as far as it is read."""


AtOnce = NotOurs | Settled
Inspected = Invalid | Withdrawn | Pinned | Fresh
State = AtOnce | Unreadable | Inspected


def state(live: Object, old: Object | None = None, templates: Templates | None = None) -> State:
    """Return the state of a write; `old` is None on CREATE."""
    return at_once(live, old) or inspect(live, old, templates)


def at_once(live: Object, old: Object | None = None) -> AtOnce | None:
    """Return the state of a write that needs no admission; None for any other. Specs may be raw JSON.

    Most updates are settled: the stored object was expanded already, so nothing is to be reverted, parsed or
    injected. A server-side apply may write what was injected, which then is its author's.
    """
    here, there = metadata(live), metadata(old)
    keys = annotations(live)
    if keys.get(INJECT) == "disabled" or here.get("deletionTimestamp"):
        return NotOurs()
    if not any(key.startswith(PREFIX) for key in (*keys, *annotations(old))):
        return NotOurs()
    if old is None or not has_record(old):
        return None
    if any(_read(here.get(field)) != _read(there.get(field)) for field in ("annotations", "labels", "name")):
        return None
    return Settled() if scaled_spec(live) == scaled_spec(old) and not is_applied(live, old) else None


def _read(value: Any) -> Any:
    """Return what admission reads of labels or annotations, any other value as it is."""
    if not isinstance(value, dict):
        return value or {}
    return {key: value[key] for key in value if key.startswith(PREFIX) or key in _READ}


_READ: Final = READ | {LAST_APPLIED}


def inspect(
    live: Object, old: Object | None = None, templates: Templates | None = None
) -> NotOurs | Unreadable | Inspected:
    """Return the state of a write that may be ours, from what its author wrote.

    `templates` has those that `webhook.templates.content.needed` names; None if none can be read. An object
    that stays as it was stored needs no content of them.
    """
    write = read_write(live, old, templates)
    if isinstance(write, FieldError):
        return Unreadable(write)
    before, filling, reading = write.before, write.filling, write.reading
    is_read = reading.intent is not None  # else both may have no more in common than an error
    is_alike = is_read and before is not None and reading == before.reading
    if is_alike and before is not None and bypassed(before.live) and not before.has_record:
        is_alike = False  # it bypassed the webhooks, unexpanded: it is as new as on a CREATE
    is_same = is_alike and write.is_left
    is_same = is_same or (before is not None and asks_the_same(before.original, write.original))
    if filling and filling.is_unfilled and not is_same:
        return Invalid(write, is_same)
    may_stay = is_same and reading != NOTHING and not (filling and filling.is_wrong)
    if may_stay and (write.again or (is_read and not reading.errors and write.is_left)):
        return Pinned(write)
    if reading.errors:
        return Invalid(write, is_same)
    if reading.intent is None:
        return NotOurs(is_ejected=True) if _is_ejected(write) else Withdrawn(write)
    return Fresh(write, reading.intent, is_same or is_alike)


def _is_ejected(write: Write) -> bool:
    """Return whether the update removed the record, and fields that it injected are still there."""
    before = write.before
    if before is None or write.has_record or write.stored is NO_RECORD or patch(write.live, write.original):
        return False
    return bool(patch(write.live, revert(write.live, before.layer, {}).original))
