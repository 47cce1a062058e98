"""The leader's template of a file that was merged into a copy of the workers' template."""

from typing import Any

import pytest

from webhook.overlay.taken_over import Around, taken_over

MAIN = {"name": "vllm", "image": "a"}
INIT = {"name": "wait", "image": "i"}


@pytest.mark.parametrize(
    ("live", "around", "wanted"),
    [
        ({"a": 1, "b": 2}, Around({"a": 1}, {"a": 1, "b": 2}), {"a": 1}),
        ({"a": 1, "b": 3}, Around({"a": 1}, {"b": 2}), {"a": 1, "b": 3}),
        ({"a": 1, "b": 2}, Around({"a": 1}, {"b": 2}, workers={"b": 2}), {"a": 1, "b": 2}),
        ({"a": 1, "b": 2}, Around({"a": 1}, {"b": 2}, {"b": 2}, {"b": 2}), {"a": 1}),
        (
            {"containers": [MAIN, INIT]},
            Around({"containers": [MAIN]}, {"containers": [INIT]}),
            {"containers": [MAIN]},
        ),
        (
            {"containers": ["x", 7]},
            Around({"containers": [MAIN]}, {"containers": "y"}),
            {"containers": ["x", 7]},
        ),
        ({"env": [{"name": ["A"]}]}, Around({"env": []}, {"env": [{}]}), {"env": [{"name": ["A"]}]}),
    ],
)
def test_the_rest_of_the_copy_is_removed(live: Any, around: Around, wanted: Any) -> None:
    assert taken_over(live, around) == wanted
