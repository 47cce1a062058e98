"""Fields of a template that are reverted, or are a file's."""

from typing import Any, Final

import pytest

from webhook.overlay.merge3 import Sides, merge3
from webhook.overlay.written import Unread

BOTH: Final = {"pool": "x", "disk": "y"}
MAIN: Final = {"name": "vllm", "image": "a"}
INIT: Final = {"name": "wait", "image": "i"}


@pytest.mark.parametrize(
    ("live", "ours", "file", "left"),
    [
        pytest.param(BOTH, {}, Unread(BOTH), {}, id="a call of this write may have injected both"),
        pytest.param(BOTH, None, Unread(BOTH), BOTH, id="there was no such map of its author's"),
        pytest.param({"pool": "x"}, {}, Unread(pool="x"), {"pool": "x"}, id="one field is gone"),
        pytest.param(BOTH, {}, {"pool": "x"}, {"pool": "x"}, id="the file is known, with its values"),
    ],
)
def test_an_apply_of_a_map_with_one_owner_shows_names_and_no_values(
    live: Any, ours: Any, file: Any, left: Any
) -> None:
    assert merge3("nodeSelector", Sides(BOTH, ours, live, file), {}) == left


@pytest.mark.parametrize(
    ("live", "file", "copy", "wanted"),
    [
        ({"a": 1, "b": 2}, {"a": 1}, {"a": 1, "b": 2}, {"a": 1}),
        ({"a": 1, "b": 3}, {"a": 1}, {"b": 2}, {"a": 1, "b": 3}),
        ({"a": 1, "b": 2}, {"a": 1, "b": 2}, {"b": 2}, {"a": 1, "b": 2}),
        (
            {"containers": [MAIN], "initContainers": [INIT]},
            {"containers": [MAIN]},
            {"containers": [MAIN], "initContainers": [INIT]},
            {"containers": [MAIN]},
        ),
        ({"containers": ["x", 7]}, {"containers": [MAIN]}, {"containers": "y"}, {"containers": ["x", 7]}),
        ({"env": [{"name": ["A"]}]}, {"env": []}, {"env": [{}]}, {"env": [{"name": ["A"]}]}),
    ],
)
def test_what_was_added_as_a_whole_is_removed_but_for_what_a_file_holds(
    live: Any, file: Any, copy: Any, wanted: Any
) -> None:
    """So is the rest of a leader's template that was made, when the file has one of its own."""
    assert merge3("", Sides(copy, None, live, file), {}) == wanted


OWN: Final = {"name": "A", "value": "1"}
LOG: Final = {"name": "LOG", "value": "2"}


@pytest.mark.parametrize(
    ("ours", "live", "left"),
    [([OWN], [LOG], None), ([], [LOG], []), (None, [LOG], None), ([OWN], [], [])],
)
def test_a_list_that_only_injected_items_are_left_of_is_no_empty_list_of_its_author(
    ours: Any, live: Any, left: Any
) -> None:
    base = [LOG, *([] if ours is None else ours)]

    assert merge3("env", Sides(base, ours, live), {}) == left


def test_what_another_webhook_adds_to_an_injected_container_goes_with_it() -> None:
    sidecar = {"name": "proxy", "image": "proxy:1"}
    edited = {**sidecar, "env": [{"name": "REGION", "value": "eu"}]}

    assert merge3("", Sides({"containers": [sidecar]}, {}, {"containers": [edited]}), {}) == {}
