"""Every finding about an object: what cannot be read, what may not be, and what its author should know."""

from collections.abc import Iterator
from dataclasses import replace

from intent import Object
from intent.annotations import EXPANSION, REFRESH, SERVICE, path
from intent.errors import FieldError
from intent.settings import Settings
from webhook import record as records
from webhook.expand import ANNOTATIONS_LIMIT, DEFAULTS, room, wish, written
from webhook.keyed import same
from webhook.put import put
from webhook.study import Study, concerns, has_record, labels, left_alone, made_elsewhere, study, unchanged
from webhook.undo import is_edited_launch, launches
from webhook.validate import VALIDATORS


def check(
    live: Object, old: Object | None = None, settings: Settings = DEFAULTS, *, mutated: bool = True
) -> list[FieldError]:
    """Give the findings about an object, errors first.

    The object is final, as /validate sees it, unless it is not `mutated`, as in a file. On an update whose
    author changed nothing, errors become warnings: a stricter release never strands an old object.
    """
    if not concerns(live, old):
        return []
    found = study(live, old)
    state = _state(found) if mutated else _unreadable(found)
    findings = [*state, *found.reading.errors, *_intent(found, settings), *_room(found, settings)]
    if any(one.severity == "error" for one in findings) and unchanged(found):
        findings = [replace(one, softened=True) for one in findings]
    return sorted(findings, key=lambda one: one.severity != "error")


def _intent(found: Study, settings: Settings) -> Iterator[FieldError]:
    if found.reading.intent is not None:
        for validator in VALIDATORS:
            yield from validator(found.reading.intent, settings)
        for at, container, unit in launches(found.live, found.record):
            if is_edited_launch(container, unit):
                yield FieldError(
                    f"{at}.args", None, "edited by hand: command and args are left alone", "FI523"
                )


def _room(found: Study, settings: Settings) -> Iterator[FieldError]:
    """Say that annotations have no room for the record: /mutate then left the object as it was."""
    left = room(found.live)
    if (
        left > ANNOTATIONS_LIMIT // 2
        or found.reading.intent is None
        or found.has_record
        or found.reading.errors
    ):
        return
    need = len(written(found, *put(found.original, wish(found, settings))))
    if need > left:
        message = f"the record needs {need} bytes, the others leave {max(left, 0)} of {ANNOTATIONS_LIMIT}"
        yield FieldError("metadata.annotations", None, message, "FI903")


def _unreadable(found: Study) -> Iterator[FieldError]:
    if found.unreadable is not None:
        yield replace(found.unreadable, softened=_same_templates(found))


def _state(found: Study) -> Iterator[FieldError]:
    """Say how the object and its record stand to each other."""
    yield from _unreadable(found)
    if found.unreadable is not None or found.reading.errors:
        return
    if found.reading.intent is None:
        yield from _withdrawn(found)
    elif found.has_record:
        yield from _expanded(found)
    elif left_alone(found):
        message = "annotated before the webhook was there; set refresh to have it expanded"
        yield FieldError(path(REFRESH), None, message, "FI522")
    elif room(found.live) > ANNOTATIONS_LIMIT // 2:
        yield _not_run("there is no record")


def _withdrawn(found: Study) -> Iterator[FieldError]:
    if found.has_record:
        yield _not_run("what was put on is still there")
    elif found.record is not records.NO_RECORD:
        yield (
            _detached()
            if found.off
            else FieldError(
                path(SERVICE), None, "taken away: what was added comes off, and the groups restart", "FI521"
            )
        )


def _detached() -> FieldError:
    """Say that nobody knows any more what is ours: the record went in the same write."""
    message = "taken away with its record: what was added stays, and is yours now"
    return FieldError(path(EXPANSION), None, message, "FI530")


def _expanded(found: Study) -> Iterator[FieldError]:
    if found.digest != found.record.digest and not (unchanged(found) or made_elsewhere(found)):
        yield _not_run("the record is of another input")
    elif found.old is not None and not has_record(found.old) and SERVICE not in labels(found.old):
        message = "first annotation: the groups restart, and wait for the other roles"
        yield FieldError(path(SERVICE), None, message, "FI520")


def _not_run(why: str) -> FieldError:
    message = (
        f"the mutating webhook did not run: {why}; see MutatingWebhookConfiguration mutate.fusioninfer.io"
    )
    return FieldError(path(EXPANSION), None, message, "FI902")


def _same_templates(found: Study) -> bool:
    """Whether an update left the templates as they were, and the record too."""
    if found.old is None or records.find(found.live) != records.find(found.old):
        return False
    return same(_group(found.live), _group(found.old))


def _group(lws: Object) -> object:
    spec = lws.get("spec")
    return spec.get("leaderWorkerTemplate") if isinstance(spec, dict) else None
