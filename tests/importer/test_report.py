"""The report of an import has each leaf of the input once, with an outcome that is true."""

import json
from typing import Any, Final

from hypothesis import given
from hypothesis import strategies as st

from importer.account import (
    Account,
    Outcome,
    kept,
    lost,
    rules,
)
from importer.leaves import Leaf, Origin, leaves, origins, plain, tagged
from importer.report import as_data, as_text, result
from importer.table import import_all
from intent import Object

KEYS: Final = st.sampled_from(["a", "b", "spec", "x.y/z", "status", "metadata"])
VALUES: Final = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(KEYS, below, max_size=3),
    max_leaves=12,
)
NOT_USED: Final = "no service in the files refers to it"
APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
SECRET: Final[Object] = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "token", "uid": "u", "annotations": {"a.b/c": "d", APPLIED: "{}"}},
    "data": {},
    "status": {"phase": "x"},
}


@given(value=VALUES)
def test_a_tree_has_the_leaves_of_its_object_at_their_places(value: Any) -> None:
    tree = tagged(3, value)

    assert plain(tree) == value
    assert list(origins(tree)) == [Origin(3, path) for path, _ in leaves(value)]
    assert all(leaf.origins == (Origin(3, path),) for path, leaf in leaves(tree))


def outcomes(account: Account, *objects: Object) -> dict[str, Outcome]:
    return {one.path: one.outcome for one in result(objects, account).lines}


def test_a_leaf_at_its_own_place_is_kept_and_elsewhere_is_translated() -> None:
    tree = tagged(0, {"spec": {"a": 1, "b": 2, "c": 3}})["spec"]
    output = {"kind": "X", "spec": {"a": tree["a"], "b": tree["b"].having(5), "d": [tree["c"], tree["a"]]}}

    found = outcomes(Account([output]), {"spec": {"a": 1, "b": 2, "c": 3}})

    assert found == {
        "spec.a": Outcome("kept"),
        "spec.b": Outcome("translated"),
        "spec.c": Outcome("translated"),
    }


def test_the_longest_rule_counts_and_a_leaf_without_one_is_lost() -> None:
    own = {"l": lost("all"), "l.a.b": Outcome("default", "b"), "l.a.b.c.d": lost("deeper")}
    account = Account()
    account.say(0, rules(own, "spec"))

    found = outcomes(account, {"spec": {"l": {"a": {"b": 1}, "c": [2]}}, "x": 0})

    assert [(path, one.reason, one.is_lost) for path, one in found.items()] == [
        ("spec.l.a.b", "b", False),
        ("spec.l.c[0]", "all", True),
        ("x", "no rule of the import knows the field", True),
    ]
    assert found["x"].code == "FI964"


def test_an_empty_value_without_a_rule_is_not_lost() -> None:
    found = outcomes(Account(), {"spec": {"a": {}, "b": [], "c": None, "d": 0, "e": ""}})

    assert [path for path, one in found.items() if one.is_lost] == ["spec.d", "spec.e"]


def test_a_value_of_ours_has_no_origin() -> None:
    assert outcomes(Account([{"a": Leaf(1), "b": 2}]), {"a": 1})["a"].code == "FI964"


def test_an_object_of_no_system_stays_without_the_parts_of_a_cluster() -> None:
    made = import_all([SECRET])

    assert made.objects == (
        {key: value for key, value in SECRET.items() if key != "status"}
        | {"metadata": {"name": "token", "annotations": {"a.b/c": "d"}}},
    )
    assert {one.path: one.outcome.kind for one in made.lines} == {
        "apiVersion": "kept",
        "kind": "kept",
        "metadata.name": "kept",
        "metadata.uid": "dropped",
        "metadata.annotations[a.b/c]": "kept",
        f"metadata.annotations[{APPLIED}]": "dropped",
        "data": "kept",
        "status.phase": "dropped",
    }
    assert not made.lost


def test_json_has_each_field_and_the_text_what_a_person_needs() -> None:
    objects = [SECRET, {"kind": "Secret\n", "a": 1}]
    made = import_all(objects)
    data = json.loads(json.dumps(as_data(made, ["a.yaml", "b.yaml"])))

    assert len(data["fields"]) == 10
    outcomes = {"kept": 5, "translated": 0, "default": 0, "dropped": 5}
    assert data["summary"] == {**outcomes, "lost": 2, "byHand": 0}
    assert list(as_text(made, ["a.yaml", "b.yaml"])) == ["2 objects: 0 lost, 0 by hand, 1 not imported"]


def test_losses_come_first_and_fields_that_share_a_reason_are_one_line() -> None:
    given_object: Object = {"kind": "X", "metadata": {"name": "x\n"}, "a": {"b": 1, "c": 2}, "d": 3, "e": 4}
    tree = {"kind": Leaf("X"), "d": Leaf(3, (Origin(0, ("d",)),))}

    account = Account([tree])
    account.stays(0, "a", "no engine is known")
    account.say(0, rules({"a": lost("why"), "d": kept("it acts")}))
    found = result([given_object], account)

    assert [one.partition(": ")[2] for one in as_text(found, ["f"])] == [
        "kind and 2 more: no rule of the import knows the field (FI964)",
        "a.b and 1 more: why (FI960)",
        "a: the launch stays: no engine is known (FI975)",
        "d: it acts",
        "2 lost, 1 by hand",
    ]
    [launch] = as_data(found, ["f"])["byHand"]
    assert (launch["field"], launch["code"]) == ("a", "FI975")


def test_what_is_not_used_is_one_line_by_its_reason() -> None:
    base = {"apiVersion": "serving.kserve.io/v1alpha2", "kind": "LLMInferenceServiceConfig"}
    unused = [base | {"metadata": {"name": name}, "spec": {"replicas": 2}} for name in "ab"]
    objects: list[Object] = [
        *unused,
        {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"},
    ]

    made = import_all(objects)

    assert (made.objects, made.problems) == ((), {})
    assert list(as_text(made, ["f", "g", "h"])) == [
        f"unused   {', '.join(f'LLMInferenceServiceConfig {name}' for name in 'ab')}: {NOT_USED}",
        "unused   Kustomization: it is for kustomize",
        "3 objects: 0 lost, 0 by hand",
    ]
