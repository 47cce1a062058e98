"""Check a LeaderWorkerSet: errors and warnings about its input, its record and its expansion."""

from collections.abc import Iterator
from dataclasses import replace

from intent import Object
from intent.annotations import EXPANSION, REFRESH, SERVICE, path
from intent.errors import FieldError
from intent.lws import Intent
from intent.settings import Settings
from webhook.expand import ANNOTATIONS_LIMIT, DEFAULTS, room, wish, written
from webhook.launchers.plan import read_plan, recorded_launcher
from webhook.overlay import record as records
from webhook.overlay.keyed import same
from webhook.overlay.put import put
from webhook.overlay.undo import is_edited_launch, launches
from webhook.study import (
    Study,
    concerns,
    disabled,
    has_record,
    labels,
    left_alone,
    lost_its_record,
    made_elsewhere,
    study,
    unchanged,
)
from webhook.validate import VALIDATORS


def check(
    live: Object, old: Object | None = None, settings: Settings = DEFAULTS, *, mutated: bool = True
) -> list[FieldError]:
    """Return the findings about an object, errors first.

    The object is expanded, as /validate gets it, unless `mutated` is false, as for a file. On an update that
    leaves the input unchanged, errors become warnings: a stricter release does not block old objects.
    """
    if not concerns(live, old):
        return []
    found = study(live, old)
    if found.unreadable is not None:
        return [replace(found.unreadable, softened=_same_templates(found))]
    state = list(_state(found, settings) if mutated else _no_room(found, settings))
    written_wrong = [*found.reading.errors, *_intent(found, settings)]
    if any(one.severity == "error" for one in (*state, *written_wrong)) and _carries_on(found):
        state = [replace(one, softened=True) for one in state]
        written_wrong = _softened(written_wrong, found, settings)
    return sorted((*state, *written_wrong), key=lambda one: one.severity != "error")


def _carries_on(found: Study) -> bool:
    """Return whether an update leaves the input unchanged, apart from fields that only validators read."""
    return unchanged(found) or lost_its_record(found)


def _softened(errors: list[FieldError], found: Study, settings: Settings) -> list[FieldError]:
    """Turn errors that the old object had too into warnings.

    Fields that only validators read (replicas, values of variables) may have changed in this very update.
    """
    before = study(found.old or {}, found.old)
    if lost_its_record(found) or before.reading == found.reading:
        return [replace(one, softened=True) for one in errors]
    known = {_said(one) for one in (*before.reading.errors, *_intent(before, settings))}
    return [replace(one, softened=_said(one) in known) for one in errors]


def _said(error: FieldError) -> str:
    """Return the text of an error without its path, since the position of an item may change."""
    return str(replace(error, path=""))


def _intent(found: Study, settings: Settings) -> Iterator[FieldError]:
    if found.reading.intent is not None:
        intent = as_recorded(found, found.reading.intent, settings)
        for validator in VALIDATORS:
            yield from validator(intent, settings)
        for at, container, unit in launches(found.live, found.record):
            if is_edited_launch(container, unit):
                yield FieldError(
                    f"{at}.args", None, "edited by hand: command and args are left as they are", "FI523"
                )


def as_recorded(found: Study, intent: Intent, settings: Settings) -> Intent:
    """Return the Intent with the recorded launcher, if it is kept and another one would be chosen now."""
    written = recorded_launcher(found.record.put_on) if found.pinned else ""
    if not written:
        return intent
    plan = read_plan(intent, settings)
    stays = plan.rewritten and plan.launcher == written
    return intent if stays else replace(intent, launcher=written)


def _no_room(found: Study, settings: Settings) -> Iterator[FieldError]:
    """Report that the record does not fit into the annotations; /mutate then left the object unchanged."""
    if found.reading.intent is None or found.reading.errors or (found.has_record and found.pinned):
        return
    need, left = len(written(found, *put(found.original, wish(found, settings)))), room(found.live)
    if need > left:
        message = (
            f"the record needs {need} bytes, other annotations leave {max(left, 0)} of {ANNOTATIONS_LIMIT}"
        )
        yield FieldError("metadata.annotations", None, message, "FI903")


def _state(found: Study, settings: Settings) -> Iterator[FieldError]:
    """Report an object that does not match its record, or has none."""
    if found.reading.errors:
        return
    if found.reading.intent is None:
        yield from _withdrawn(found)
    elif found.has_record:
        yield from _expanded(found, settings)
    elif lost_its_record(found):
        message = "removed: the object stays as it is; kubectl replace it with your own file to expand it"
        yield FieldError(path(EXPANSION), None, message, "FI535")
    elif left_alone(found):
        message = "not expanded: there is no record, and the input does not change; set refresh to expand it"
        yield FieldError(path(REFRESH), None, message, "FI522")
    else:
        yield from _not_written(found, settings, "there is no record")


def _not_written(found: Study, settings: Settings, why: str) -> Iterator[FieldError]:
    """Report why there is no record of this input: it does not fit, or /mutate was not called."""
    no_room = list(_no_room(found, settings))
    yield from no_room or [_not_run(why)]


def _withdrawn(found: Study) -> Iterator[FieldError]:
    if found.has_record:
        yield _not_run("the injected fields are still there")
    elif found.record is not records.NO_RECORD:
        yield (
            _detached()
            if found.off
            else FieldError(
                path(SERVICE), None, "removed: injected fields are reverted, and the groups restart", "FI521"
            )
        )


def _detached() -> FieldError:
    """Report that the injected fields are no longer known: the record was removed in the same write."""
    message = "removed with the annotations: injected fields stay, and are yours now"
    return FieldError(path(EXPANSION), None, message, "FI530")


def _expanded(found: Study, settings: Settings) -> Iterator[FieldError]:
    if found.digest != found.record.digest and not (unchanged(found) or made_elsewhere(found)):
        yield from _not_written(found, settings, "the record has another input")
    elif found.old is not None and not has_record(found.old) and SERVICE not in labels(found.old):
        cause = "inject: disabled was removed" if disabled(found.old) else "first annotation"
        message = f"{cause}: the groups restart, and wait for the other roles"
        yield FieldError(path(SERVICE), None, message, "FI520")


def _not_run(why: str) -> FieldError:
    message = (
        f"the mutating webhook did not run: {why}; see MutatingWebhookConfiguration mutate.fusioninfer.io"
    )
    return FieldError(path(EXPANSION), None, message, "FI902")


def _same_templates(found: Study) -> bool:
    """Return whether an update left the templates and the record unchanged."""
    if found.old is None or records.find(found.live) != records.find(found.old):
        return False
    return same(_group(found.live), _group(found.old))


def _group(lws: Object) -> object:
    spec = lws.get("spec")
    return spec.get("leaderWorkerTemplate") if isinstance(spec, dict) else None
