"""The law of a difference: merging it makes the other object."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from webhook.overlay.difference import difference
from webhook.overlay.keyed import LIST_KEYS
from webhook.overlay.overlay import merge

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
