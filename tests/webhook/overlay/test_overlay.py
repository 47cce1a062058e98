"""Overlays: merge, put, combine and patch, by example. The laws are in tests/laws."""

from typing import Any

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st

from intent.tree import merge
from webhook.overlay.overlay import Contradiction, combine
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
        ({"a/b": {"c~d": 1}}, {"a/b": {"c~d": 2}}, {"a/b": {"c~d": 2}}),
        ({"a": 1}, {"a": True}, {"a": True}),
        ({"a": None}, {"a": {"b": 1}}, {"a": {"b": 1}}),
    ],
)
def test_merge_and_patch_agree(live: Any, overlay: Any, merged: Any) -> None:
    assert merge(live, overlay) == merged
    assert jsonpatch.apply_patch(live, patch(live, merged)) == merged


@pytest.mark.parametrize(
    ("live", "wanted"),
    [
        ([1, 2, 3], [3, 1]),
        ([1, 2, 3], [1, 2, 3, 4]),
        ([1, 2, 3], [4, 5, 1, 6, 3]),
        ([2, 1], []),
        ([], [1]),
        ([1, 1, 2], [2, 1]),
        ([1, 2], [2, 2]),
    ],
)
def test_a_patch_makes_any_list_from_any_other(live: list[int], wanted: list[int]) -> None:
    one, other = (
        {"ports": [{"containerPort": port, "name": str(at)} for at, port in enumerate(ports)]}
        for ports in (live, wanted)
    )

    assert jsonpatch.apply_patch(one, patch(one, other)) == other


def test_a_patch_leaves_another_spelling_of_a_quantity() -> None:
    assert patch({"limits": {"memory": "1024Mi"}}, {"limits": {"memory": "1Gi"}}) == []


def test_a_patch_does_not_take_true_for_one() -> None:
    assert patch({"a": 1}, {"a": True}) == [{"op": "replace", "path": "/a", "value": True}]


def test_put_keeps_the_authors_values() -> None:
    made = put({"spec": {"schedulerName": "mine"}}, {"spec": {"schedulerName": "volcano", "x": 1}}, ())

    assert (made.put_on, made.was) == ({"spec": {"x": 1}}, {"spec": {"x": None}})


def test_put_keeps_an_authors_item_unchanged() -> None:
    original = {"env": [{"name": "IP", "value": "9"}]}

    made = put(original, {"env": [{"name": "IP", "valueFrom": {"fieldRef": {}}}]}, ())

    assert made == (original, {}, {}, ())


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


def maps(optional: dict[str, Any], **required: Any) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(required, optional=optional)


def items(item: st.SearchStrategy[Any], key: str) -> st.SearchStrategy[Any]:
    return st.lists(item, min_size=1, max_size=2, unique_by=lambda one: one[key])


PORTS = maps({"protocol": st.just("TCP"), "name": st.just("x")}, containerPort=st.sampled_from([80, 81]))
CONTAINERS = maps(
    {"command": st.just(["x"]), "image": st.just("x"), "ports": items(PORTS, "containerPort")},
    name=st.sampled_from(["a", "b"]),
)
SPECS = maps(
    {
        "schedulerName": st.just("x"),
        "dnsPolicy": st.none(),
        "labels": st.dictionaries(st.sampled_from("ab"), st.just("x"), min_size=1, max_size=2),
        "containers": items(CONTAINERS, "name"),
    }
)


@given(SPECS, SPECS)
def test_the_result_of_put_is_the_original_with_what_was_injected(wish: Any, original: Any) -> None:
    made = put(original, wish, frozenset({"command"}))

    assert made.result == merge(original, made.put_on)
    assert jsonpatch.apply_patch(original, made.operations) == made.result
