"""DisaggregatedSets in files: their LeaderWorkerSets as LWS's controller makes them, checked and expanded."""

import copy
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from fusioninfer.cli import main
from fusioninfer.files.documents import Document
from fusioninfer.files.offline import Composition, compose
from intent import Object, yaml
from intent.annotations import GROUP_NAME, PREFIX, REVISION
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


def test_a_refresh_of_a_role_is_reported_to_take_effect_with_the_next_template() -> None:
    made = composed(disaggregated_set(role("prefill", "prefiller"), role("decode", "decoder", refresh="2")))

    (late,) = [one for one in made.found if one.error.code == "FI542"]
    assert late.error.path == "spec.roles[1].metadata.annotations[fusioninfer.io/refresh]"


def test_the_other_annotations_of_a_role_do_not_warn() -> None:
    assert "FI542" not in {one.error.code for one in composed(disaggregated_set()).found}


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


def test_files_are_not_changed() -> None:
    obj = disaggregated_set()
    before = copy.deepcopy(obj)

    composed(obj)

    assert obj == before


def test_the_command_reads_the_kind(tmp_path: Path) -> None:
    file = tmp_path / "set.yaml"
    roles = (role("prefill", "prefiller", refresh="2"), role("decode", "decoder"))
    file.write_text(yaml.dump(disaggregated_set(*roles)))

    checked = CliRunner().invoke(main, ["validate", "-f", str(file)])
    expanded = CliRunner().invoke(main, ["expand", "-f", str(file)])

    assert (checked.exit_code, "FI542" in checked.output) == (0, True)
    assert expanded.output.count("kind: LeaderWorkerSet") == 2
