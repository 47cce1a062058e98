"""The report of an import has each leaf of the input once, with an outcome that is true."""

import json
from typing import Any, Final

from hypothesis import given
from hypothesis import strategies as st

from importer.leaves import Leaf, Origin, leaves, origins, plain, tagged, written
from importer.report import (
    NO_COUNTERPART,
    UNKNOWN,
    Imported,
    Outcome,
    OutcomeRule,
    as_data,
    as_text,
    dropped,
    report,
    rule,
)
from importer.table import import_all
from intent import Object

KEYS: Final = st.sampled_from(["a", "b", "spec", "x.y/z", "status", "metadata"])
VALUES: Final = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(KEYS, below, max_size=3),
    max_leaves=12,
)
OBJECTS: Final = st.dictionaries(KEYS, VALUES, max_size=4)
SECRET: Final[Object] = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "token", "uid": "u", "annotations": {"a.b/c": "d"}},
    "data": {},
    "status": {"phase": "x"},
}


@given(value=VALUES)
def test_a_tree_has_the_leaves_of_its_object_at_their_places(value: Any) -> None:
    tree = tagged(3, value)

    assert plain(tree) == value
    assert list(origins(tree)) == [Origin(3, path) for path, _ in leaves(value)]
    assert all(leaf.origins == (Origin(3, path),) for path, leaf in leaves(tree))


@given(
    objects=st.lists(OBJECTS, max_size=3),
    known=st.lists(st.tuples(KEYS, KEYS | st.just("*")), max_size=4),
)
def test_each_leaf_is_reported_once(objects: list[Object], known: list[tuple[str, str]]) -> None:
    rules = tuple(OutcomeRule(path, dropped(NO_COUNTERPART, "x")) for path in known)
    outputs = tuple(tagged(at, one)["spec"] for at, one in enumerate(objects) if one.get("spec"))
    lines = report(objects, Imported(outputs, dict.fromkeys(range(len(objects)), rules))).lines

    expected = [(at, written(path)) for at, one in enumerate(objects) for path, _ in leaves(one)]
    assert [(one.document, one.path) for one in lines] == expected


def outcomes(imported: Imported, *objects: Object) -> dict[str, Outcome]:
    return {one.path: one.outcome for one in report(objects, imported).lines}


def test_a_leaf_at_its_own_place_is_kept_and_elsewhere_is_translated() -> None:
    tree = tagged(0, {"spec": {"a": 1, "b": 2, "c": 3}})["spec"]
    output = {"kind": "X", "spec": {"a": tree["a"], "b": tree["b"].having(5), "d": [tree["c"], tree["a"]]}}

    found = outcomes(Imported((output,)), {"spec": {"a": 1, "b": 2, "c": 3}})

    assert found == {
        "spec.a": Outcome("kept", ("X: spec.a", "X: spec.d[1]")),
        "spec.b": Outcome("translated", ("X: spec.b",)),
        "spec.c": Outcome("translated", ("X: spec.d[0]",)),
    }


def test_the_longest_rule_counts_and_a_leaf_without_one_is_lost() -> None:
    rules = (
        rule("spec.*", dropped(NO_COUNTERPART, "all")),
        rule("spec.a.b", Outcome("default", reason="b")),
        rule("spec.a.b.c.d", dropped(NO_COUNTERPART, "deeper")),
    )

    found = outcomes(Imported(rules={0: rules}), {"spec": {"a": {"b": 1}, "c": 2}, "x": []})

    assert [(path, one.reason, one.is_lost) for path, one in found.items()] == [
        ("spec.a.b", "b", False),
        ("spec.c", "all", True),
        ("x", "no rule of the import knows the field", True),
    ]
    assert found["x"].code == UNKNOWN


def test_a_value_of_ours_has_no_origin() -> None:
    assert outcomes(Imported(({"a": Leaf(1), "b": 2},)), {"a": 1})["a"].code == UNKNOWN


def test_an_object_of_no_system_stays_without_the_parts_of_a_cluster() -> None:
    made = import_all([SECRET])

    assert made.objects == (
        {key: value for key, value in SECRET.items() if key != "status"}
        | {"metadata": {"name": "token", "annotations": {"a.b/c": "d"}}},
    )
    assert {one.path: one.outcome.kind for one in made.report.lines} == {
        "apiVersion": "kept",
        "kind": "kept",
        "metadata.name": "kept",
        "metadata.uid": "dropped",
        "metadata.annotations[a.b/c]": "kept",
        "data": "kept",
        "status.phase": "dropped",
    }
    assert not made.report.lost


def test_text_and_json_have_the_same_lines() -> None:
    made = import_all([SECRET, {"kind": "Secret\n", "a": 1}])
    given_objects = [SECRET, {"kind": "Secret\n", "a": 1}]
    lines = list(as_text(made.report, given_objects, ["a.yaml", "b.yaml"]))
    data = json.loads(json.dumps(as_data(made.report, given_objects, ["a.yaml", "b.yaml"])))

    assert len(lines) - 3 == len(data["fields"]) == 9
    assert data["summary"] == {"kept": 5, "translated": 0, "default": 0, "dropped": 4, "lost": 2}
    assert lines[-1] == "9 fields: 5 kept, 0 translated, 0 default, 4 dropped; 2 lost"
    assert lines[8] == r"Secret\n, b.yaml:"
    assert lines[9] == "  lost       kind: the object cannot be imported (FI967)"
