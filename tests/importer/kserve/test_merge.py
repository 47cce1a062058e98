"""The merge of KServe, row by row; `tests/cluster/test_kserve.py` compares the result with its controller."""

from typing import Any, Final

import pytest

from importer.leaves import plain, tagged
from importer.merge import KSERVE, merged

ROWS: Final[list[tuple[str, Any, Any, Any]]] = [
    ("a later value wins", {"a": 1}, {"a": 2}, {"a": 2}),
    ("absent fields stay", {"a": 1, "b": 1}, {"a": 2}, {"a": 2, "b": 1}),
    (
        "a zero value never wins",
        {"x": "v", "n": 3, "b": True},
        {"x": "", "n": 0, "b": False},
        {"x": "v", "n": 3, "b": True},
    ),
    ("an empty list never wins", {"args": ["a"]}, {"args": []}, {"args": ["a"]}),
    ("null never wins", {"a": 1}, {"a": None}, {"a": 1}),
    ("an empty object adds nothing", {"router": {"a": 1}}, {"router": {}}, {"router": {"a": 1}}),
    ("an empty object counts by itself", {}, {"worker": {}}, {"worker": {}}),
    ("a pointer to zero wins", {"replicas": 3}, {"replicas": 0}, {"replicas": 0}),
    ("a pointer to false wins", {"runAsNonRoot": True}, {"runAsNonRoot": False}, {"runAsNonRoot": False}),
    ("a key of a map has any value", {"labels": {"a": "b"}}, {"labels": {"a": ""}}, {"labels": {"a": ""}}),
    ("args are replaced", {"args": ["a", "b"]}, {"args": ["c"]}, {"args": ["c"]}),
    (
        "tolerations are replaced",
        {"tolerations": [{"key": "a"}]},
        {"tolerations": [{"key": "b"}]},
        {"tolerations": [{"key": "b"}]},
    ),
    (
        "containers are merged by name, and the later ones come first",
        {"containers": [{"name": "main", "image": "i"}, {"name": "side"}]},
        {"containers": [{"name": "own"}, {"name": "main", "args": ["a"]}]},
        {"containers": [{"name": "own"}, {"name": "main", "image": "i", "args": ["a"]}, {"name": "side"}]},
    ),
    (
        "init containers are merged by name",
        {"initContainers": [{"name": "load", "image": "i"}]},
        {"initContainers": [{"name": "load", "args": ["a"]}]},
        {"initContainers": [{"name": "load", "image": "i", "args": ["a"]}]},
    ),
    (
        "ports are merged by number alone",
        {"ports": [{"containerPort": 1, "protocol": "TCP"}]},
        {"ports": [{"containerPort": 1, "protocol": "UDP"}]},
        {"ports": [{"containerPort": 1, "protocol": "UDP"}]},
    ),
    (
        "a source replaces a value, since the API server denies both",
        {"env": [{"name": "A", "value": "1"}]},
        {"env": [{"name": "A", "valueFrom": {"fieldRef": {}}}]},
        {"env": [{"name": "A", "valueFrom": {"fieldRef": {}}}]},
    ),
]


@pytest.mark.parametrize(
    ("below", "above", "expected"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS]
)
def test_a_row(below: Any, above: Any, expected: Any) -> None:
    assert plain(merged(KSERVE, tagged(0, below), tagged(1, above))) == expected
