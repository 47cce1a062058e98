"""The rows of the concerns: each is complete, and true of its mutator."""

from collections import Counter
from typing import Any

import pytest

from intent.annotations import PARTS
from intent.settings import Settings
from tests.webhook.inputs import intents
from webhook import layout
from webhook.mutate import CONCERNS, ORDER, REPLACEABLE, WRITABLE, expansion, input_of, wishes
from webhook.mutate.concern import Concern, Paths, union
from webhook.overlay.overlay import fits
from webhook.overlay.record import Record, read, write

each_concern = pytest.mark.parametrize("concern", CONCERNS, ids=lambda one: one.name)


def outside(overlay: Any, paths: Paths | None, at: str = "") -> list[str]:
    """Return the paths of an overlay that are not among the given ones."""
    if paths is None:
        return []
    if isinstance(overlay, list):
        return [path for item in overlay for path in outside(item, paths, at)]
    if not isinstance(overlay, dict):
        return [at]
    return [
        path
        for key, value in overlay.items()
        for path in (outside(value, paths[key], f"{at}.{key}") if key in paths else [f"{at}.{key}"])
        if value is not None or key not in paths
    ]


@each_concern
def test_a_mutator_writes_only_the_paths_of_its_row(concern: Concern) -> None:
    overlays = [wishes(input_of(intent, Settings()), (concern,))[concern.name] for intent in intents()]

    assert any(overlays)
    assert [path for overlay in overlays for path in outside(overlay, concern.writes)] == []


@each_concern
def test_a_record_may_hold_what_a_mutator_writes(concern: Concern) -> None:
    overlays = [wishes(input_of(intent, Settings()), (concern,))[concern.name] for intent in intents()]

    assert [overlay for overlay in overlays if not fits(overlay, concern.writes)] == []


def test_a_path_that_no_row_has_is_found() -> None:
    assert outside(
        {"spec": {"containers": [{"name": "a", "x": 1}]}}, {"spec": {"containers": {"name": None}}}
    ) == [".spec.containers.x"]


def test_names_and_codes_are_unique() -> None:
    names = Counter(concern.name for concern in CONCERNS)
    codes = Counter(rule.code for concern in CONCERNS for rule in concern.rules)

    assert max((names | codes).values()) == 1


@each_concern
def test_a_concern_has_the_name_of_its_mutator(concern: Concern) -> None:
    assert concern.mutate.__name__ == concern.name


@each_concern
def test_a_concern_has_rules_and_a_way_out(concern: Concern) -> None:
    assert (bool(concern.rules), bool(concern.opt_out), bool(concern.writes)) == (True, True, True)
    assert [rule.code for rule in concern.rules if not (rule.fields and rule.reason and rule.causes)] == []


def test_the_words_of_skip_are_those_of_the_rows() -> None:
    words = {concern.skip for concern in CONCERNS} - {""}

    assert words | {"port"} == set(PARTS)  # a part of two concerns


def test_the_layout_names_concerns_that_exist() -> None:
    known = {layout.LAUNCH, layout.SPLIT, layout.PROBES, layout.STARTUP, layout.SIDECAR}

    assert known <= {concern.name for concern in CONCERNS}


def test_only_the_known_fields_replace_a_value_of_the_author() -> None:
    probes = {"readinessProbe", "livenessProbe", "startupProbe", "postStart", "preStop"}

    assert {"command", "args", "port", *probes} == REPLACEABLE


def test_a_value_in_one_tree_is_a_value_in_their_union() -> None:
    assert union({"a": {"b": None}}, {"a": None}) == {"a": None}
    assert union({"a": {"b": None}}, {"a": {"c": None}}) == {"a": {"b": None, "c": None}}


def test_a_recorded_expansion_has_the_order_of_a_new_one() -> None:
    made = [expansion(intent, Settings()) for intent in intents()]
    again = [read(write(one, {}), WRITABLE, ORDER) for one in made]

    assert [one.expansion.wish for one in again if isinstance(one, Record)] == [one.wish for one in made]
