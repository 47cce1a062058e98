"""Engines with one broken rule each, to see that the law of convergence detects them.

Each has the number of the first sequence of seed 1, or of another seed, that was seen to detect it; those of
`TEMPLATED` are sequences with templates. If the generator changes, find another one: break the rule, and run
`python -m tests.laws.convergence`, with `--templates` for the latter.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import pytest

import webhook.review
import webhook.write
from intent import Object
from tests.laws.convergence.server import Engine, allow
from webhook.overlay import fields, revert, written
from webhook.overlay import record as records
from webhook.overlay.arguments import Arguments
from webhook.overlay.base import NO_BASE
from webhook.templates import fill, refill, separate
from webhook.templates.content import key_of

Break = Callable[[pytest.MonkeyPatch], None]


def _replaced(module: Any, name: str, rule: Callable[..., Any]) -> Break:
    return lambda monkeypatch: monkeypatch.setattr(module, name, rule)


def _author(author: Arguments, _injected: Arguments, _edited: Arguments) -> Arguments:
    return author


def _leader(leader: Any, _edits: Any, _workers: Any) -> Any:
    return leader


def _workers(_leader: Any, _edits: Any, workers: Any) -> Any:
    return workers


def _as_it_is(template: Object, _live: Object) -> Object:
    return template


def _nothing(_live: Object, _old: Object | None) -> Object:
    return {}


def _reverting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Revert the stored record where a write has none, as if the write still had it."""
    monkeypatch.setattr(webhook.write, "_text_of_record", records.find)
    monkeypatch.setattr(webhook.write.Write, "has_record", property(_has_any_record))


def _has_any_record(write: webhook.write.Write) -> bool:
    return records.find(write.live, write.old) is not None


_revert_fields: Final = fields.revert_fields


def _all_restored(live: Object, recorded: fields.Recorded, origins: Any, **_options: bool) -> Object:
    return _revert_fields(live, recorded, origins)


def _reading(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read templates for every write, whatever the record has."""
    monkeypatch.setattr(refill, "_kept", _none)
    monkeypatch.setattr(webhook.review, "needed", _all_named)


def _none(*_known: Any) -> None:
    return None


def _all_named(live: Object, _old: Object | None = None) -> tuple[str, ...]:
    key = key_of(live)
    return key.refs if key else ()


def _unseparated(found: revert.Reverted, *_around: Any) -> separate.Separated:
    return separate.Separated(found.original)


def _as_recorded(record: records.Record, _live: Object | None = None) -> records.Record:
    base = record.base or NO_BASE
    return records.Record(base.put_on, base.was)


_by_keys: Final = written._owned  # noqa: SLF001 - the rule that is broken


def _owned_whole(value: Any, fields: Object, field: str = "") -> Any:
    """Give the owner of an empty map all that the map has now, but for labels and annotations."""
    return value if not fields and field not in ("labels", "annotations") else _by_keys(value, fields, field)


def _never(*_templates: Any) -> bool:
    return False


INTACT: Final = Engine()
SEED: Final = 1


@dataclass(frozen=True, slots=True)
class Broken:
    """One broken rule, and the sequence that detects it."""

    rule: Break
    number: int
    engine: Engine = INTACT
    """Another engine where /validate would deny what the broken rule writes."""
    seed: int = SEED


ENGINES: Final[dict[str, Broken]] = {
    "the leader keeps its old copy": Broken(_replaced(revert, "_followed", _leader), 19),
    "the leader's edits are lost": Broken(_replaced(revert, "_followed", _workers), 12),
    "an edit of launched arguments is dropped": Broken(_replaced(fields, "transferred", _author), 76),
    "a volume is removed while mounted": Broken(_replaced(revert, "with_volumes", _as_it_is), 61),
    "what the file holds is ignored": Broken(_replaced(webhook.write, "written", _nothing), 19),
    "a removed record reverts": Broken(_reverting, 20, Engine(validate=allow)),
    "arguments from a file keep the removed probes": Broken(
        _replaced(fields, "revert_fields", _all_restored), 223
    ),
    "an exported launch is reverted": Broken(_replaced(revert, "_holds_launch", _never), 987, seed=2),
}
TEMPLATED: Final[dict[str, Broken]] = {
    "templates are read for every write": Broken(_reading, 3),
    "what templates added becomes the author's": Broken(_replaced(refill, "separate", _unseparated), 3),
    "the edits of a leader are lost": Broken(_replaced(fill, "_copy", _none), 85),
    "a leader's own template keeps the copy's part": Broken(_replaced(separate, "_layer", _as_recorded), 156),
    "an exported object is reverted": Broken(_replaced(separate, "is_exported", _never), 123),
    "an empty map owns what it has now": Broken(_replaced(written, "_owned", _owned_whole), 88),
    "a container stays without its image": Broken(_replaced(fields, "_lost_image", _never), 795),
}
