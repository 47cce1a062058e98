"""The law of inputs: a concern, or a decision, depends on the fields that it reads, and on no other.

If a mutator used a field that its `Reads` lacks, an edit of that field would keep the recorded part.
"""

import random
from collections.abc import Iterator
from dataclasses import fields, replace
from functools import cache
from typing import Any, Final

import pytest

from intent.annotations import BLOCKS
from intent.launch import Decision
from intent.lws import Engine, Intent, Template
from intent.settings import Settings
from tests.webhook.inputs import intents
from webhook.digest import ALWAYS, FILLS, Reads, digest_of, facts, reads_of
from webhook.layout import DECISIONS, Input, decision
from webhook.mutate import CONCERNS, input_of
from webhook.mutate.concern import Concern

SETTINGS: Final = Settings()
TRIES: Final = 150
"""Pairs of golden objects for each concern and each decision."""


def names(kind: type) -> set[str]:
    """Return the fields of a class that digests cover."""
    return {one.name for one in fields(kind) if one.metadata.get("digest", True)}


ROWS: Final = {one.name: one.reads for one in CONCERNS} | {
    name: reads for name, (reads, _) in DECISIONS.items()
}


@pytest.mark.parametrize("reads", ROWS.values(), ids=ROWS)
def test_reads_name_fields_that_a_digest_covers(reads: Reads) -> None:
    assert set(reads.intent) <= names(Intent) - {"templates", "skip", ALWAYS}
    assert set(reads.template) <= names(Template) - {"engine", "field"}
    assert set(reads.engine) <= names(Engine)
    assert set(reads.layout) <= {one.name for one in fields(Decision)}


def mixed(one: Any, other: Any, kept: set[str], chance: random.Random) -> Any:
    """Return a value with some fields of another, but for the kept ones."""
    swapped = [name for name in sorted(names(type(one)) - kept) if chance.random() < 0.5]
    return replace(one, **{name: getattr(other, name) for name in swapped})


def hybrid(one: Intent, other: Intent, reads: Reads, chance: random.Random) -> Intent:
    """Return an Intent that differs from the first one in fields that are not read."""
    reads = reads_of(reads, facts(one))
    blocks = BLOCKS if set(reads.engine) & set(FILLS.engine) else ()
    words = {word for word in other.skip if word not in reads.skip} | {
        word for word in one.skip if word in reads.skip
    }
    valued = [name for name, value in reads.values if value in (getattr(one, name), getattr(other, name))]
    kept = {*reads.intent, *valued, *blocks, "templates", "skip", ALWAYS}
    made: Intent = mixed(one, other, kept, chance)
    templates = []
    for mine, theirs in zip(one.templates, other.templates, strict=True):
        template: Template = mixed(mine, theirs, {*reads.template, "engine", "field"}, chance)
        if mine.engine and theirs.engine:
            template = replace(template, engine=mixed(mine.engine, theirs.engine, set(reads.engine), chance))
        templates.append(template)
    return replace(made, templates=tuple(templates), skip=tuple(sorted(words)))


def pairs(reads: Reads, seed: str) -> Iterator[tuple[Intent, Intent]]:
    """Yield golden Intents, each with one that differs in fields that are not read."""
    chance = random.Random(seed)  # noqa: S311 - a test
    for _ in range(TRIES):
        one = chance.choice(intents())
        yield one, hybrid(one, chance.choice(alike(fielded(one))), reads, chance)


def fielded(intent: Intent) -> tuple[str, ...]:
    return tuple(template.field for template in intent.templates)


@cache
def alike(fields: tuple[str, ...]) -> list[Intent]:
    """Return the golden Intents that have just these templates."""
    return [intent for intent in intents() if fielded(intent) == fields]


@pytest.mark.parametrize("concern", CONCERNS, ids=lambda one: one.name)
def test_a_mutator_depends_on_what_it_reads(concern: Concern) -> None:
    compared = 0
    for one, other in pairs(concern.reads, concern.name):
        given = input_of(one, SETTINGS)
        again = input_of(other, SETTINGS, decided=decided(given))
        if decision(again) == decision(given) and (concern.name in given.concerns) == (
            concern.name in again.concerns
        ):
            compared += 1
            digests = (
                digest_of(concern.reads, facts(author), decision(each))
                for author, each in ((one, given), (other, again))
            )
            assert len(set(digests)) == 1
            assert written(concern, again) == written(concern, given)

    assert compared > TRIES // 3


def decided(given: Input) -> dict[str, Any]:
    """Return the decisions as a record has them."""
    return {one.name: getattr(decision(given), one.name) for one in fields(Decision)}


def written(concern: Concern, given: Input) -> Any:
    return concern.mutate(given) if concern.name in given.concerns else {}


@pytest.mark.parametrize("name", DECISIONS)
def test_a_decision_depends_on_what_it_reads(name: str) -> None:
    reads, taken = DECISIONS[name]
    for one, other in pairs(reads, name):
        given = input_of(one, SETTINGS)
        known = {} if name == "launcher" else {"launcher": decision(given).launcher}
        again = input_of(other, SETTINGS, decided=known)
        if all(getattr(decision(again), field) == value for field, value in known.items()):
            for field in taken:
                assert getattr(decision(again), field) == getattr(decision(given), field)
