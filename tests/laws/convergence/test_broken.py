"""The law of convergence detects each broken rule of the engine."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any, Final

import pytest

import webhook.expand
import webhook.review
import webhook.write
from intent import Object
from tests.laws.convergence.server import Engine, allow
from tests.laws.convergence.templated import drawn_templated
from tests.laws.convergence.walk import drawn, run
from webhook.overlay import merge3, put, revert, written
from webhook.overlay import record as records
from webhook.overlay.arguments import Arguments
from webhook.templates import fill
from webhook.templates.content import key_of

# --- engines with one broken rule each ----------------------------------------------------------------
# Each has the number of the first sequence of seed 1 that was seen to detect it; those of `TEMPLATED` are
# sequences with templates. If the generator changes, find another one: break the rule, and run
# `python -m tests.laws.convergence`, with `--templates` for the latter.

Break = Callable[[pytest.MonkeyPatch], None]


def _replaced(module: Any, name: str, rule: Callable[..., Any]) -> Break:
    return lambda monkeypatch: monkeypatch.setattr(module, name, rule)


def _author(author: Arguments, _injected: Arguments, _edited: Arguments) -> Arguments:
    return author


def _leader(_worker: Any, leader: Any, *_: Object) -> Object:
    return leader.original  # type: ignore[no-any-return]


def _workers(_worker: Any, _leader: Any, *_: Object) -> Object:
    return {}


def _nothing(_live: Object, _old: Object | None) -> Object:
    return {}


def _reverting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Revert the stored record where a write has none, as if the write still had it."""
    monkeypatch.setattr(webhook.write, "_text_of_record", records.find)
    monkeypatch.setattr(webhook.write.Write, "has_record", property(_has_any_record))


def _has_any_record(write: webhook.write.Write) -> bool:
    return records.find(write.live, write.old) is not None


def _reading(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read templates for every write, whatever the record has."""
    monkeypatch.setattr(fill, "_kept", _none)
    monkeypatch.setattr(webhook.review, "needed", _all_named)


def _none(*_known: Any) -> None:
    return None


def _all_named(live: Object, _old: Object | None = None) -> tuple[str, ...]:
    key = key_of(live)
    return key.refs if key else ()


def _unseparated(found: revert.Reverted, *_around: Any) -> revert.Reverted:
    return revert.Reverted(found.original)


def _unedited(
    original: Object, wish: Object, replaceable: Collection[str], _leader: Object | None = None
) -> put.Injection:
    return put.inject(original, wish, replaceable)


def _unchanged(value: Any, *_: Any) -> Any:
    return value


_by_keys: Final = written._owned  # noqa: SLF001 - the rule that is broken


def _owned_whole(value: Any, fields: Object, field: str = "") -> Any:
    """Give the owner of an empty map all that the map has now, but for labels and annotations."""
    return value if not fields and field not in ("labels", "annotations") else _by_keys(value, fields, field)


def _with_no_volumes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(revert, "lost_volumes", lambda *_: [])


_separate: Final = fill.separate


def _keeping(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take what templates added out of a leader's template only where they were asked for it."""

    def separated(found: revert.Reverted, before: revert.Layer, file: Object) -> revert.Reverted:
        return _separate(found, replace(before, put_on={}), file)

    monkeypatch.setattr(webhook.write, "separate", separated)


def _as_ejected(_live: Object, write_state: Any, *_: Any) -> Any:
    return write_state


INTACT: Final = Engine()
SEED: Final = 1


@dataclass(frozen=True, slots=True)
class Broken:
    """One broken rule, and the sequence that detects it."""

    rule: Break
    number: int
    engine: Engine = INTACT
    """Another engine where /validate would deny what the broken rule writes."""


ENGINES: Final[dict[str, Broken]] = {
    "the leader keeps its old copy": Broken(_replaced(revert, "_edits", _leader), 11),
    "the leader's edits are lost": Broken(_replaced(revert, "_edits", _workers), 12),
    "an edit of launched arguments is dropped": Broken(_replaced(merge3, "transferred", _author), 76),
    "a volume is removed while mounted": Broken(_with_no_volumes, 61),
    "what the file holds is ignored": Broken(_replaced(webhook.write, "written", _nothing), 19),
    "a removed record reverts": Broken(_reverting, 20, Engine(validate=allow)),
    "arguments from a file keep the removed probes": Broken(_replaced(merge3, "_within", _unchanged), 223),
    "an edited init container is its author's": Broken(_replaced(revert, "without_edits", _unchanged), 3),
    "what was ejected is its author's for good": Broken(
        _replaced(webhook.expand, "_before_ejection", _as_ejected), 118
    ),
}
TEMPLATED: Final[dict[str, Broken]] = {
    "templates are read for every write": Broken(_reading, 3),
    "what templates added becomes the author's": Broken(
        _replaced(webhook.write, "separate", _unseparated), 3
    ),
    "the edits of a leader are lost": Broken(_replaced(webhook.write, "inject", _unedited), 85),
    "a leader's own template keeps the copy's part": Broken(_keeping, 156),
    "an exported object is reverted": Broken(_replaced(revert, "_is_exported", lambda _: False), 354),
    "an empty map owns what it has now": Broken(_replaced(written, "_owned", _owned_whole), 88),
    "a container stays without its image": Broken(_replaced(fill, "_without_lost", _unchanged), 1039),
}


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_with_a_broken_rule_is_detected(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = ENGINES[name]
    sequence = drawn(SEED, broken.number)
    assert run(sequence, broken.engine).violations == []

    broken.rule(monkeypatch)

    assert run(sequence, broken.engine).violations != []


@pytest.mark.parametrize("rule", TEMPLATED)
def test_a_broken_rule_about_templates_is_detected(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = TEMPLATED[rule]
    sequence = drawn_templated(SEED, broken.number)
    assert not run(sequence).violations

    broken.rule(monkeypatch)

    assert run(sequence, broken.engine).violations
