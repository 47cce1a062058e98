"""The state of one write: what admission does with the live object, given the old one.

`/validate` gets the object after `/mutate` and all other mutating webhooks, so one table holds for both:

    state          the object                          /mutate               /validate warns    and denies
    NotOurs        has no annotation of ours, is       leaves it             -                  -
                   bypassed, or is being deleted
    Settled        has a record, and the update        leaves it             -                  if replicas
                   changes no input of admission                                                are too many
    Unreadable     has a record that cannot be read    leaves it             if no template     else (FI901)
                                                                             changed (FI901)
    Unfilled       names templates that are not        notes why in its      on a dry run if    else why
                   known                               record                one is missing     (FI951)
    Invalid        has errors in its input             leaves it             -                  the errors
    Withdrawn      has no annotation of ours, but      reverts the record    of the restart     a record that
                   perhaps its record                  and removes it        (FI521)            stays (FI902)
    Ejected        lost annotations and record, but    leaves it             that fields stay   -
                   not the injected fields                                   (FI530)
    Pinned         has the input of its record, or of  injects the recorded  -                  a lost record
                   the old object's                    overlay again                            (FI902)
    Grandfathered  has no record, and the update       leaves it             that it has none   -
                   does not change its input                                 (FI522, FI535)
    Fresh          is new, or has another input        expands it by the     of the restart,    a wrong record
                                                       rules                 if it had none     or none (FI902
                                                                             (FI520)            or FI903)

From `Unfilled` on, `/validate` also reports the findings of the validators. Errors that the old object had
too become warnings, if the update did not change the input.
"""

from dataclasses import dataclass
from typing import Any, Final

from intent import Object
from intent.annotations import EXCLUSIVE_TOPOLOGY, INJECT, KUEUE_QUEUE, LLM_D_ROLE, PREFIX
from intent.errors import FieldError
from intent.lws import Intent
from intent.read import NOTHING
from intent.shapes import annotations, metadata
from intent.template import Templates
from webhook.mutate import Pins
from webhook.overlay.record import NO_RECORD
from webhook.overlay.written import LAST_APPLIED
from webhook.write import Write, has_record, read_write, scaled_spec


@dataclass(frozen=True, slots=True)
class NotOurs:
    """No annotation of FusionInfer on the live or the old object, a bypass, or a deletion."""


@dataclass(frozen=True, slots=True)
class Settled:
    """An update of an object with a record that changes only replicas, status or metadata of others."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An object whose own record cannot be read, with the reason."""

    error: FieldError


@dataclass(frozen=True, slots=True)
class Unfilled:
    """An object that names templates whose content is not known, so that it cannot be read as a whole."""

    write: Write


@dataclass(frozen=True, slots=True)
class Invalid:
    """An input with errors that is not pinned."""

    write: Write


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """No annotation of FusionInfer on the object, except perhaps the record."""

    write: Write


@dataclass(frozen=True, slots=True)
class Ejected:
    """The annotations were removed together with the record, and injected fields are still there."""

    write: Write


@dataclass(frozen=True, slots=True)
class Pinned:
    """An update whose author asks for the same: what is recorded is injected again, whatever rules say."""

    write: Write
    pins: Pins


@dataclass(frozen=True, slots=True)
class Grandfathered:
    """An object without a record whose input the update does not change."""

    write: Write
    intent: Intent


@dataclass(frozen=True, slots=True)
class Fresh:
    """An input without errors that the rules expand."""

    write: Write
    intent: Intent


AtOnce = NotOurs | Settled
Inspected = Unfilled | Invalid | Withdrawn | Ejected | Pinned | Grandfathered | Fresh
State = AtOnce | Unreadable | Inspected


_READ: Final = frozenset({EXCLUSIVE_TOPOLOGY, KUEUE_QUEUE, LAST_APPLIED, LLM_D_ROLE})
"""Labels and annotations without our prefix that admission reads."""


def state(live: Object, old: Object | None = None, templates: Templates | None = None) -> State:
    """Return the state of a write; `old` is None on CREATE."""
    return at_once(live, old) or inspect(live, old, templates)


def at_once(live: Object, old: Object | None = None) -> AtOnce | None:
    """Return the state of a write that needs no admission; None for any other. Specs may be raw JSON.

    Most updates are settled: the stored object was expanded already, so nothing is to be reverted, parsed or
    injected.
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
    return Settled() if scaled_spec(live) == scaled_spec(old) else None


def _read(value: Any) -> Any:
    """Return what admission reads of labels or annotations, any other value as it is."""
    if not isinstance(value, dict):
        return value or {}
    return {key: item for key, item in value.items() if key.startswith(PREFIX) or key in _READ}


def inspect(
    live: Object, old: Object | None = None, templates: Templates | None = None
) -> Unreadable | Inspected:
    """Return the state of a write that is ours, from what its author wrote.

    `templates` has those that `webhook.templates.content.needed` names; None if none can be read.
    """
    write = read_write(live, old, templates)
    if isinstance(write, FieldError):
        return Unreadable(write)
    is_filled = not (write.lacks_content or write.is_misfilled)
    is_recorded = is_filled and write.pinning is not NO_RECORD and write.reading != NOTHING
    if is_recorded and write.same_author and write.pins is not None:
        return Pinned(write, write.pins)
    return _unpinned(write)


def _unpinned(write: Write) -> Inspected:
    if write.lacks_content:
        return Unfilled(write)
    if write.reading.errors:
        return Invalid(write)
    intent = write.reading.intent
    if intent is None:
        return Ejected(write) if write.is_ejected else Withdrawn(write)
    is_stored = write.old is not None and write.record is NO_RECORD
    if is_stored and (write.lost_record or (write.stored is NO_RECORD and write.unchanged)):
        return Grandfathered(write, intent)
    return Fresh(write, intent)
