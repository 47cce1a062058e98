"""JSON trees: what defaulting changes is equivalent, and merging a difference makes the other object."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intent.tree import LIST_KEYS, difference, equivalent, merge

_SCALARS = st.integers(0, 2) | st.booleans() | st.text("ab", max_size=1)


def _items(field: str, below: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    key = LIST_KEYS[field][0]
    item = st.builds(lambda name, more: {**more, key: name}, st.sampled_from("xyz"), below)
    return st.lists(item, max_size=3, unique_by=lambda one: one[key])


def _objects(depth: int) -> st.SearchStrategy[Any]:
    if not depth:
        return st.dictionaries(st.sampled_from("abc"), _SCALARS, max_size=2)
    below = _objects(depth - 1)
    return st.fixed_dictionaries(
        {},
        optional={
            "a": _SCALARS,
            "args": st.lists(_SCALARS, max_size=2),
            "map": below,
            "env": _items("env", below),
            "containers": _items("containers", below),
            "volumeMounts": _items("volumeMounts", below),
        },
    )


def _sorted(value: Any, field: str = "") -> Any:
    if isinstance(value, dict):
        return {key: _sorted(item, key) for key, item in value.items()}
    if isinstance(value, list) and field in LIST_KEYS:
        return sorted((_sorted(item) for item in value), key=lambda item: str(item[LIST_KEYS[field][0]]))
    return value


@given(_objects(2), _objects(2))
def test_merging_the_difference_makes_the_other_object(one: Any, other: Any) -> None:
    assert _sorted(merge(one, difference(one, other))) == _sorted(other)


@given(_objects(2))
def test_equal_objects_have_no_difference(one: Any) -> None:
    assert difference(one, one) == {}


def test_a_list_of_other_values_than_items_is_set() -> None:
    for other in (["x"], [7], [{"name": ["x"]}]):
        assert merge({"env": [{"name": "A"}]}, difference({"env": [{"name": "A"}]}, {"env": other})) == {
            "env": other
        }


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ({"resources": {"limits": {"cpu": "1000m"}}}, {"resources": {"limits": {"cpu": "1"}}}),
        ({"resources": {"requests": {"memory": "1024Mi"}}}, {"resources": {"requests": {"memory": "1Gi"}}}),
        (
            {"resources": {"limits": {"nvidia.com/gpu": 8}}},
            {"resources": {"limits": {"nvidia.com/gpu": "8"}}},
        ),
        ({"resources": {"requests": {"cpu": 0.5}}}, {"resources": {"requests": {"cpu": "500m"}}}),
        ({"emptyDir": {"sizeLimit": "2048Mi"}}, {"emptyDir": {"sizeLimit": "2Gi"}}),
        ({"name": "c"}, {"name": "c", "resources": {}}),
        ({}, {"metadata": {"labels": {}}}),
        ({"secretKeyRef": {"key": "k"}}, {"secretKeyRef": {"key": "k", "name": ""}}),
        ({"resourceFieldRef": {"resource": "r"}}, {"resourceFieldRef": {"resource": "r", "divisor": "0"}}),
        ({"ports": [{"containerPort": 1}]}, {"ports": [{"containerPort": 1, "protocol": "TCP"}]}),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ],
)
def test_a_stored_template_is_equivalent_to_the_sent_one(sent: Any, stored: Any) -> None:
    assert equivalent(sent, stored)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"cpu": "1000m"}, {"cpu": "1"}),
        ({"limits": {"cpu": "1"}}, {"limits": {"cpu": "2"}}),
        ({"args": ["a", "b"]}, {"args": ["b", "a"]}),
        ({"protocol": "UDP"}, {}),
        ({"hostNetwork": False}, {}),
        ({"hostNetwork": True}, {"hostNetwork": 1}),
    ],
)
def test_a_semantic_difference_is_one(one: Any, other: Any) -> None:
    assert not equivalent(one, other)
