"""Overlays: merge, put, compose and patch, by example. The laws are in tests/laws."""

from typing import Any

import jsonpatch
import pytest

from webhook.overlay.canonical import digest
from webhook.overlay.overlay import Contradiction, combine, compose, merge
from webhook.overlay.patch import patch
from webhook.overlay.put import put


@pytest.mark.parametrize(
    ("live", "overlay", "merged"),
    [
        ({}, {"a": {"b": 1}}, {"a": {"b": 1}}),
        ({"a": {"b": 1}}, {"a": {"c": 2}}, {"a": {"b": 1, "c": 2}}),
        ({"a": 1, "b": 2}, {"a": None}, {"b": 2}),
        ({"args": ["x"]}, {"args": ["y", "z"]}, {"args": ["y", "z"]}),
        ({"env": [{"name": "A"}]}, {"env": [{"name": "B"}]}, {"env": [{"name": "B"}, {"name": "A"}]}),
        (
            {"env": [{"name": "A"}]},
            {"env": [{"name": "A", "value": "1"}]},
            {"env": [{"name": "A", "value": "1"}]},
        ),
        (
            {"ports": [{"containerPort": 8000}]},
            {"ports": [{"containerPort": 6379}]},
            {"ports": [{"containerPort": 8000}, {"containerPort": 6379}]},
        ),
        (
            {"ports": [{"containerPort": 6379, "protocol": "TCP"}]},
            {"ports": [{"containerPort": 6379}]},
            {"ports": [{"containerPort": 6379, "protocol": "TCP"}]},
        ),
        (
            {"ports": [{"containerPort": 1}, {"containerPort": 2}, {"containerPort": 3}]},
            {"ports": [{"containerPort": 1, "$patch": "delete"}, {"containerPort": 3, "$patch": "delete"}]},
            {"ports": [{"containerPort": 2}]},
        ),
        (
            {"ports": [{"containerPort": 1}]},
            {"ports": [{"containerPort": 1, "$patch": "delete"}]},
            {"ports": []},
        ),
        (
            {"ports": [{"containerPort": 1}]},
            {"ports": [{"containerPort": 1, "$patch": "delete"}, {"$patch": "prune"}]},
            {},
        ),
        ({"m": {"a": 1}}, {"m": {"a": None, "$patch": "delete"}}, {}),
        ({"m": {"a": 1}}, {"m": {"b": 2, "$patch": "replace", "$digest": "x"}}, {"m": {"b": 2}}),
        ({"a/b": {"c~d": 1}}, {"a/b": {"c~d": 2}}, {"a/b": {"c~d": 2}}),
        ({"a": 1}, {"a": True}, {"a": True}),
        ({"a": None}, {"a": {"b": 1}}, {"a": {"b": 1}}),
    ],
)
def test_merge_and_patch_agree(live: Any, overlay: Any, merged: Any) -> None:
    assert merge(live, overlay) == merged
    assert jsonpatch.apply_patch(live, patch(live, overlay)) == merged


def test_a_patch_to_existing_values_is_empty() -> None:
    live = {"a": {"args": ["x"], "ports": [{"containerPort": 1, "protocol": "TCP"}]}}

    assert patch(live, {"a": {"args": ["x"], "ports": [{"containerPort": 1}]}}) == []


def test_a_replacement_with_the_same_digest_changes_nothing() -> None:
    there = {"spec": {"a": 1, "resources": {}}}

    assert (
        patch({"m": there}, {"m": {"$patch": "replace", "$digest": digest({"spec": {"a": 1}}), "spec": 2}})
        == []
    )


def test_put_keeps_the_authors_values() -> None:
    put_on, was = put({"spec": {"schedulerName": "mine"}}, {"spec": {"schedulerName": "volcano", "x": 1}})

    assert (put_on, was) == ({"spec": {"x": 1}}, {"spec": {"x": None}})


def test_put_keeps_an_authors_item_unchanged() -> None:
    original = {"env": [{"name": "IP", "value": "9"}]}

    assert put(original, {"env": [{"name": "IP", "valueFrom": {"fieldRef": {}}}]}) == ({}, {})


def test_put_replaces_command_and_args() -> None:
    original = {"containers": [{"name": "e", "args": ["a"]}]}

    put_on, was = put(original, {"containers": [{"name": "e", "command": ["ray"], "args": ["b"]}]})

    assert put_on == {"containers": [{"name": "e", "command": ["ray"], "args": ["b"]}]}
    assert was == {"containers": [{"name": "e", "command": None, "args": ["a"]}]}


def test_contradicting_mutators_raise() -> None:
    with pytest.raises(Contradiction):
        combine([{"a": {"b": 1}}, {"a": {"b": 2}}])


def test_combine_joins_items_by_key() -> None:
    joined = combine(
        [
            {"ports": [{"containerPort": 1, "name": "a"}]},
            {"ports": [{"containerPort": 1}, {"containerPort": 2}]},
        ]
    )

    assert joined == {"ports": [{"containerPort": 1, "name": "a"}, {"containerPort": 2}]}


def test_an_item_that_is_reverted_and_injected_again_keeps_its_position() -> None:
    live = {"ports": [{"containerPort": 1}, {"containerPort": 2}]}
    off = {"ports": [{"containerPort": 1, "$patch": "delete"}]}

    assert patch(live, compose(off, {"ports": [{"containerPort": 1}]})) == []
