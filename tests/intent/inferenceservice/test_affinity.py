"""`acceleratorTypes` narrows the nodes of a role, whatever its author requires of them besides."""

import copy
from typing import Any, Final

import pytest

from intent import Object
from intent.inferenceservice.affinity import REQUIRED, NodeLabels, restrict
from intent.inferenceservice.members import leader_worker_sets
from intent.inferenceservice.read import read
from tests.builders.isvc import decoder, isvc, prefiller, worker
from tests.builders.lws import changed, template

GPUS: Final = NodeLabels("gpu", ("H100", "H200"))
ASKED: Final[Object] = {"key": "gpu", "operator": "In", "values": ["H100", "H200"]}
ZONE: Final[Object] = {"key": "zone", "operator": "In", "values": ["a"]}
NAMED: Final[Object] = {"key": "metadata.name", "operator": "In", "values": ["node-1"]}
TYPES: Final[Object] = {"labelKey": "gpu", "labelValues": ["H100", "H200"]}


def terms(*given: Any) -> list[Any]:
    """Return the terms that a template with these terms gets."""
    node = {REQUIRED: {"nodeSelectorTerms": list(given)}} if given else {}
    made = restrict({"spec": {"affinity": {"nodeAffinity": node}}}, GPUS)
    found: list[Any] = made["spec"]["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]
    return found


def test_without_terms_there_is_one() -> None:
    assert terms() == [{"matchExpressions": [ASKED]}]


def test_every_term_gets_the_requirement_so_that_none_widens_the_choice() -> None:
    assert terms({"matchExpressions": [ZONE]}, {"matchFields": [NAMED]}) == [
        {"matchExpressions": [ZONE, ASKED]},
        {"matchFields": [NAMED], "matchExpressions": [ASKED]},
    ]


@pytest.mark.parametrize("empty", [{}, None, {"matchExpressions": []}, {"matchFields": None}])
def test_a_term_that_matches_no_node_still_matches_none(empty: Any) -> None:
    assert terms(empty, {"matchExpressions": [ZONE]}) == [empty, {"matchExpressions": [ZONE, ASKED]}]


def test_a_requirement_that_is_there_is_not_repeated() -> None:
    assert terms({"matchExpressions": [ASKED]}) == [{"matchExpressions": [ASKED]}]


def test_other_rules_of_affinity_stay() -> None:
    preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": {}}]}
    whole = {"spec": {"affinity": {"nodeAffinity": copy.deepcopy(preferred), "podAffinity": {"x": 1}}}}

    affinity = restrict(whole, GPUS)["spec"]["affinity"]

    assert affinity["podAffinity"] == {"x": 1}
    assert affinity["nodeAffinity"] == {
        **preferred,
        REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [ASKED]}]},
    }


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"spec": None},
        {"spec": "x"},
        {"spec": {"affinity": 1}},
        {"spec": {"affinity": {"nodeAffinity": []}}},
        {"spec": {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": {}}}}}},
        {
            "spec": {
                "affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [1, {"matchExpressions": 2}]}}}
            }
        },
    ],
)
def test_a_template_of_the_wrong_shape_is_left_to_the_schema(wrong: Object) -> None:
    assert restrict(copy.deepcopy(wrong), GPUS) == wrong


def test_without_the_field_a_template_stays_as_it_is() -> None:
    assert restrict(template(), None) == template()


def test_the_pods_of_leader_and_workers_are_restricted_and_those_of_other_roles_are_not() -> None:
    service, errors = read(isvc(prefiller(worker=template(), acceleratorTypes=TYPES), decoder()))
    assert service is not None
    assert errors == ()

    prefill, decode = (lws["spec"]["leaderWorkerTemplate"] for lws in leader_worker_sets(service))

    assert {"affinity" in prefill[one]["spec"] for one in ("leaderTemplate", "workerTemplate")} == {True}
    assert "affinity" not in decode["workerTemplate"]["spec"]


@pytest.mark.parametrize(
    ("path", "value", "where", "says"),
    [
        ("labelKey", "a b", "acceleratorTypes.labelKey", "must be the key of a label"),
        ("labelKey", "", "acceleratorTypes.labelKey", "must not be empty"),
        ("labelValues", [], "acceleratorTypes.labelValues", "must have at least 1 item"),
        ("labelValues", ["a b"], "acceleratorTypes.labelValues[0]", "must be the value of a label"),
        ("labelValues", ["a", "a"], "acceleratorTypes.labelValues[1]", "must be listed once"),
        ("labelValue", ["a"], "acceleratorTypes.labelValue", "did you mean labelValues?"),
    ],
)
def test_a_label_that_no_node_has_is_refused(path: str, value: Any, where: str, says: str) -> None:
    found = read(
        changed(isvc(worker(acceleratorTypes=TYPES)), f"spec.roles.0.acceleratorTypes.{path}", value)
    )[1]

    assert any(one.path == f"spec.roles[0].{where}" and says in one.message for one in found)


@pytest.mark.parametrize("field", ["template", "worker"])
def test_a_node_selector_that_excludes_all_types_is_refused(field: str) -> None:
    fields = {"template": template(), "worker": template(), "acceleratorTypes": TYPES}
    whole = isvc(worker(**fields | {field: template(nodeSelector={"gpu": "A100"})}))

    (error,) = read(whole)[1]

    assert (error.code, error.path) == ("FI730", f"spec.roles[0].{field}.spec.nodeSelector[gpu]")
    assert "H100, H200" in error.message


def affinity(*given: Any) -> Object:
    """Return a pod template that requires one of these terms of its nodes."""
    return template(affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(given)}}})


def on_label(operator: str, *values: str) -> Object:
    """Return a term about the label."""
    return {"matchExpressions": [{"key": "gpu", "operator": operator, "values": list(values)}]}


ONLY_A100: Final = on_label("In", "A100")


@pytest.mark.parametrize(
    ("given", "is_refused"),
    [
        ([ONLY_A100], True),
        ([on_label("NotIn", "H100", "H200")], True),
        ([on_label("DoesNotExist")], True),
        ([ONLY_A100, on_label("DoesNotExist")], True),
        ([{"matchExpressions": [ASKED, *ONLY_A100["matchExpressions"]]}], True),
        ([on_label("NotIn", "H100")], False),
        ([on_label("Exists")], False),
        ([on_label("Gt", "1")], False),
        ([ONLY_A100, {"matchExpressions": [ZONE]}], False),
        ([{"matchFields": [NAMED]}], False),
        ([{"matchExpressions": [{"key": "gpu", "operator": ["In"], "values": 1}, 3]}, 2], False),
    ],
)
@pytest.mark.parametrize("field", ["template", "worker"])
def test_an_affinity_that_excludes_all_types_is_refused(
    field: str,
    given: list[Any],
    is_refused: bool,  # noqa: FBT001 - a column
) -> None:
    fields = {"template": template(), "worker": template(), "acceleratorTypes": TYPES}
    whole = isvc(worker(**fields | {field: affinity(*given)}))

    found = {one.path: one.code for one in read(whole)[1]}

    where = f"spec.roles[0].{field}.spec.affinity.nodeAffinity.{REQUIRED}"
    assert found == ({where: "FI730"} if is_refused else {})


def test_a_node_selector_that_chooses_one_of_the_types_is_accepted() -> None:
    assert (
        read(isvc(worker(template=template(nodeSelector={"gpu": "H200"}), acceleratorTypes=TYPES)))[1] == ()
    )


@pytest.mark.parametrize("given", [[], [{}], [None, {"matchExpressions": []}]])
@pytest.mark.parametrize("field", ["template", "worker"])
def test_terms_to_which_nothing_can_be_added_are_an_error(given: list[Any], field: str) -> None:
    path = f"spec.roles.0.{field}.spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms"
    role = worker(acceleratorTypes=TYPES, worker=template())

    (error,) = read(changed(isvc(role), path, given))[1]

    shown = path.replace(".0.", "[0].")
    assert (error.path, error.code) == (shown, "FI730")
    assert "remove the list" in error.message


@pytest.mark.parametrize("given", [None, [{}, {"matchExpressions": [ZONE]}]])
def test_terms_that_get_the_requirement_are_no_error(given: Any) -> None:
    node = {REQUIRED: {"nodeSelectorTerms": given}}
    role = worker(acceleratorTypes=TYPES, template=template(affinity={"nodeAffinity": node}))

    assert read(isvc(role))[1] == ()
