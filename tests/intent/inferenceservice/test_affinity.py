"""`acceleratorTypes` narrows the nodes of a role, whatever its author requires of them besides."""

import copy
from typing import Any, Final

import pytest

from intent import Object
from intent.container import REQUIRED
from intent.inferenceservice.affinity import restrict
from intent.inferenceservice.members import leader_worker_sets
from intent.inferenceservice.read import read
from intent.inferenceservice.v1alpha1 import AcceleratorTypes
from tests.builders.isvc import decoder, isvc, prefiller, worker
from tests.builders.lws import template

ASKED: Final[Object] = {"key": "gpu", "operator": "In", "values": ["H100", "H200"]}
ZONE: Final[Object] = {"key": "zone", "operator": "In", "values": ["a"]}
NAMED: Final[Object] = {"key": "metadata.name", "operator": "In", "values": ["node-1"]}
TYPES: Final[Object] = {"labelKey": "gpu", "labelValues": ["H100", "H200"]}
GPUS: Final = AcceleratorTypes.model_validate(TYPES)


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


@pytest.mark.parametrize("given", [None, [{}, {"matchExpressions": [ZONE]}]])
def test_terms_that_get_the_requirement_are_no_error(given: Any) -> None:
    node = {REQUIRED: {"nodeSelectorTerms": given}}
    role = worker(acceleratorTypes=TYPES, template=template(affinity={"nodeAffinity": node}))

    assert read(isvc(role))[1] == ()
