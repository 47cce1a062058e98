"""The leader's template of a file that was merged into a copy of the workers' template."""

from typing import Any

import pytest

from webhook.overlay.taken_over import Counterparts, taken_over

MAIN = {"name": "vllm", "image": "a"}
INIT = {"name": "wait", "image": "i"}


@pytest.mark.parametrize(
    ("live", "around", "wanted"),
    [
        ({"a": 1, "b": 2}, Counterparts({"a": 1}, {"a": 1, "b": 2}), {"a": 1}),
        ({"a": 1, "b": 3}, Counterparts({"a": 1}, {"b": 2}), {"a": 1, "b": 3}),
        ({"a": 1, "b": 2}, Counterparts({"a": 1}, {"b": 2}, workers={"b": 2}), {"a": 1, "b": 2}),
        ({"a": 1, "b": 2}, Counterparts({"a": 1}, {"b": 2}, {"b": 2}, {"b": 2}), {"a": 1}),
        (
            {"containers": [MAIN, INIT]},
            Counterparts({"containers": [MAIN]}, {"containers": [INIT]}),
            {"containers": [MAIN]},
        ),
        (
            {"containers": ["x", 7]},
            Counterparts({"containers": [MAIN]}, {"containers": "y"}),
            {"containers": ["x", 7]},
        ),
        ({"env": [{"name": ["A"]}]}, Counterparts({"env": []}, {"env": [{}]}), {"env": [{"name": ["A"]}]}),
    ],
)
def test_the_rest_of_the_copy_is_removed(live: Any, around: Counterparts, wanted: Any) -> None:
    assert taken_over(live, around) == wanted
