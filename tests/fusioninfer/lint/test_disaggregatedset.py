"""DisaggregatedSets in files: their LeaderWorkerSets as LWS's controller makes them, checked and expanded."""

from typing import Any

import pytest

from fusioninfer.lint.documents import Document
from fusioninfer.lint.offline import Composition, compose
from intent import Object
from intent.annotations import GROUP_NAME, PREFIX, REVISION, SLICE
from intent.disaggregatedset import leader_worker_sets
from tests.builders.lws import template
from tests.sync.samples import SETTINGS


def role(name: str, component_type: str, **annotations: str) -> Object:
    """Return a role of two pods."""
    stamped = {"service": "svc", "component-type": component_type} | annotations
    return {
        "name": name,
        "metadata": {"annotations": {PREFIX + key: value for key, value in stamped.items()}},
        "spec": {"replicas": 1, "leaderWorkerTemplate": {"size": 2, "workerTemplate": template()}},
    }


def disaggregated_set(*roles: Object) -> Object:
    return {
        "apiVersion": "disaggregatedset.x-k8s.io/v1",
        "kind": "DisaggregatedSet",
        "metadata": {"name": "ds", "namespace": "llm"},
        "spec": {"roles": list(roles) or [role("prefill", "prefiller"), role("decode", "decoder")]},
    }


def composed(*objects: Object) -> Composition:
    return compose([Document("f.yaml", number, one) for number, one in enumerate(objects, 1)], SETTINGS)


def found(made: Composition) -> list[tuple[str, str]]:
    return [(one.error.code, one.error.path) for one in made.found if one.error.severity == "error"]


def named(made: Composition, kind: str) -> list[Any]:
    return [obj for obj in made.objects if obj["kind"] == kind]


def test_each_role_becomes_an_expanded_leaderworkerset_of_one_gang() -> None:
    made = composed(disaggregated_set())

    sets, (group,) = named(made, "LeaderWorkerSet"), named(made, "PodGroup")
    (revision,) = {lws["metadata"]["labels"][REVISION] for lws in sets}
    assert [lws["metadata"]["name"] for lws in sets] == [f"ds-{revision}-prefill", f"ds-{revision}-decode"]
    assert group["metadata"]["name"] == f"svc-{revision}"
    for lws in sets:
        metadata = lws["spec"]["leaderWorkerTemplate"]["workerTemplate"]["metadata"]
        assert metadata["annotations"][GROUP_NAME] == f"svc-{revision}"
        assert metadata["labels"][REVISION] == revision
    assert not found(made)


def test_the_labels_are_those_of_the_controller() -> None:
    (_, prefill), _ = leader_worker_sets(disaggregated_set())
    revision = prefill["metadata"]["labels"][REVISION]

    expected = {
        "app": "ds-prefill",
        "disaggregatedset.x-k8s.io/name": "ds",
        "disaggregatedset.x-k8s.io/role": "prefill",
        REVISION: revision,
    }
    assert prefill["metadata"]["labels"] == expected
    assert prefill["spec"]["leaderWorkerTemplate"]["workerTemplate"]["metadata"]["labels"] == expected


def test_a_revision_covers_the_templates_and_not_the_annotations() -> None:
    before, edited, rolled = disaggregated_set(), disaggregated_set(), disaggregated_set()
    edited["spec"]["roles"][0]["metadata"]["annotations"][PREFIX + "strategy"] = "pd-disaggregation"
    rolled["spec"]["roles"][0]["spec"]["leaderWorkerTemplate"]["size"] = 4

    def revision(obj: Object) -> str:
        return str(leader_worker_sets(obj)[0][1]["metadata"]["labels"][REVISION])

    assert revision(edited) == revision(before)
    assert revision(rolled) != revision(before)


def test_an_error_has_the_path_of_its_role() -> None:
    wrong = disaggregated_set(role("prefill", "prefiller"), role("decode", "decoder", launcher="magic"))

    assert [path for _, path in found(composed(wrong))] == [
        "spec.roles[1].metadata.annotations[fusioninfer.io/launcher]"
    ]


def test_two_sets_of_one_service_have_their_own_gangs_and_no_conflict() -> None:
    other = disaggregated_set()
    other["metadata"]["name"] = "ds2"
    other["spec"]["roles"][0]["spec"]["leaderWorkerTemplate"]["size"] = 4

    made = composed(disaggregated_set(), other)

    assert len(named(made, "PodGroup")) == 2
    assert "FI401" not in {one.error.code for one in made.found}


def test_a_set_without_our_annotations_stays_plain() -> None:
    plain = disaggregated_set()
    for one in plain["spec"]["roles"]:
        del one["metadata"]

    made = composed(plain)

    assert made.found == ()
    assert {obj["kind"] for obj in made.objects} == {"LeaderWorkerSet"}


@pytest.mark.parametrize(
    "spec",
    [None, {}, {"roles": 5}, {"roles": [5, {}, {"name": 1}, {"name": "x", "spec": 3, "metadata": []}]}],
)
def test_garbage_raises_nothing(spec: Any) -> None:
    composed(disaggregated_set() | {"spec": spec})


# --- LWS 0.10: slices, placementPolicy, roles[].scaling ----------------------------------------------

EXCLUSIVE = {"type": "ExclusiveSlice", "topology": "example.com/rack"}
EXTERNAL = {"scaling": {"mode": "External"}}
LWS, GROUP = "leaderworkerset.sigs.k8s.io", "spec.leaderWorkerTemplate"


def of_0_10(*roles: Object, **spec: Any) -> Object:
    obj = disaggregated_set(*roles)
    return obj | {"spec": obj["spec"] | spec}


def later(made: Composition) -> list[str]:
    """Return the fields of which only a warning says that they are of a later release."""
    assert {one.error.severity for one in made.found if one.error.code == "FI925"} <= {"warning"}
    return [one.error.path for one in made.found if one.error.code == "FI925"]


def test_each_slice_is_a_copy_of_all_roles_with_a_gang_of_its_own() -> None:
    made = composed(of_0_10(slices=2))

    sets = named(made, "LeaderWorkerSet")
    (revision,) = {lws["metadata"]["labels"][REVISION] for lws in sets}
    groups = [f"svc-{revision}", f"svc.1.{revision}"]
    assert [lws["metadata"]["name"] for lws in sets] == [
        f"ds-{part}-{revision}-{role}" for part in "01" for role in ("prefill", "decode")
    ]
    assert [lws["metadata"]["labels"]["app"] for lws in sets[2:]] == ["ds-1-prefill", "ds-1-decode"]
    for at, lws in enumerate(sets):
        metadata = lws["spec"]["leaderWorkerTemplate"]["workerTemplate"]["metadata"]
        assert metadata["annotations"][GROUP_NAME] == groups[at // 2]
        assert metadata["labels"][SLICE] == str(at // 2)
    assert [one["metadata"]["name"] for one in named(made, "PodGroup")] == groups


def test_slices_change_no_revision() -> None:
    revisions = {
        lws["metadata"]["labels"][REVISION]
        for obj in (disaggregated_set(), of_0_10(slices=3), of_0_10(placementPolicy=EXCLUSIVE))
        for _, lws in leader_worker_sets(obj)
    }

    assert len(revisions) == 1


@pytest.mark.parametrize(
    "obj",
    [
        of_0_10(slices=1),
        of_0_10(placementPolicy=EXCLUSIVE),
        of_0_10(role("prefill", "prefiller") | EXTERNAL, role("decode", "decoder")),
    ],
    ids=["slices", "placementPolicy", "scaling"],
)
def test_a_set_that_only_lws_0_10_takes_has_its_names(obj: Object) -> None:
    assert [lws["metadata"]["labels"][SLICE] for _, lws in leader_worker_sets(obj)] == ["0", "0"]


@pytest.mark.parametrize("count", [0, -1, 10**9, True, "2", [], None])
def test_a_number_of_slices_that_is_none_makes_few_objects(count: Any) -> None:
    assert len(leader_worker_sets(of_0_10(slices=count))) in {2, 200}


def test_the_replicas_of_an_autoscaler_are_left_out() -> None:
    obj = of_0_10(role("prefill", "prefiller") | EXTERNAL, role("decode", "decoder"))

    assert ["replicas" in lws["spec"] for _, lws in leader_worker_sets(obj)] == [False, True]


def test_fields_of_a_later_release_only_warn_and_are_checked() -> None:
    roles = (role("prefill", "prefiller"), role("decode", "decoder") | {"scaling": {"mode": "Extern"}})

    made = composed(of_0_10(*roles, slices=0, placementPolicy=EXCLUSIVE | {"spreading": []}))

    assert later(made) == ["spec.roles[1].scaling", "spec.slices", "spec.placementPolicy"]
    assert found(made) == [
        ("FI921", "spec.roles[1].scaling.mode"),
        ("FI921", "spec.slices"),
        ("FI920", "spec.placementPolicy.spreading"),
    ]
    assert made.found[2].error.message == "unknown field; remove it: there is none of this name here"


def test_what_is_found_is_said_of_one_slice() -> None:
    roles = (role("prefill", "prefiller"), role("again", "prefiller"), role("decode", "decoder"))

    made = composed(of_0_10(*roles, slices=5))

    assert sorted(found(made)) == [
        ("FI401", f"spec.roles[{at}].metadata.annotations[fusioninfer.io/role-name]") for at in (0, 1)
    ]


P, D, E = (role(kind[:-2], kind) for kind in ("prefiller", "decoder", "encoder"))
PLAIN: Object = {"name": "router", "spec": D["spec"]}


def but(one: Object, **spec: Any) -> Object:
    return one | {"spec": one["spec"] | spec}


RELATIVES: dict[str, tuple[Object, set[str], int]] = {
    "the sample of LWS": (of_0_10(PLAIN, PLAIN | {"name": "decode"}, slices=2), set(), 0),
    "an encoder first": (of_0_10(E, P, D, slices=3), set(), 3),
    "an encoder that an autoscaler may stop": (of_0_10(P, D, but(E, replicas=0) | EXTERNAL), set(), 1),
    "only roles of autoscalers": (of_0_10(P | EXTERNAL, D | EXTERNAL), set(), 1),
    "an encoder of no type": (of_0_10(P, D, role("encode", "worker")), {"FI402"}, 1),
    "an encoder and a worker": (of_0_10(E, role("worker", "worker"), slices=2), set(), 2),
    "a role of a router": (of_0_10(P, D, PLAIN, slices=2), set(), 2),
    "roles that rest": (of_0_10(but(P, replicas=0), but(D, replicas=0), slices=2), set(), 2),
    "scaling that says nothing": (of_0_10(P | {"scaling": {}}, D | {"scaling": None}), set(), 1),
    "too many slices": (of_0_10(P, D, slices=101), {"FI921"}, 0),
}
"""Sets as people write them: the errors, and how many gangs there are."""


@pytest.mark.parametrize("name", RELATIVES)
def test_a_set_has_these_errors_and_gangs(name: str) -> None:
    obj, errors, gangs = RELATIVES[name]

    made = composed(obj)

    assert ({code for code, _ in found(made)}, len(named(made, "PodGroup"))) == (errors, gangs)


def test_a_name_that_is_too_long_is_reported_at_the_role() -> None:
    fits, tight, long = (
        role("r" * length, kind) for length, kind in ((30, "prefiller"), (36, "decoder"), (37, "decoder"))
    )

    assert found(composed(of_0_10(fits, tight, slices=2))) == []
    assert found(composed(of_0_10(fits, tight, slices=11))) == [("FI109", "spec.roles[1].name")]
    assert found(composed(of_0_10(fits, long, slices=2))) == [("FI109", "spec.roles[1].name")]


def test_more_leaderworkersets_than_a_service_may_have_are_an_error() -> None:
    assert {code for code, _ in found(composed(of_0_10(slices=65)))} == {"FI904"}


def test_the_replicas_of_a_role_are_passed_through() -> None:
    scaler = {
        "apiVersion": "disaggregatedset.x-k8s.io/v1",
        "kind": "DisaggregatedSetRoleScaler",
        "metadata": {"name": "ds-prefill", "namespace": "llm"},
        "spec": {"replicas": 3},
    }

    made = composed(scaler, disaggregated_set())

    assert (scaler in made.objects, made.skipped) == (True, (("DisaggregatedSetRoleScaler", 1),))
    assert "FI931" not in {one.error.code for one in made.found}
