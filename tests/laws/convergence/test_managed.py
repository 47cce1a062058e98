"""Owners of fields, and server-side apply, are those of the API server."""

import copy
from typing import Any

import pytest

from intent import Object
from tests.laws.convergence.clients import client_side_apply, edit, server_side_apply
from tests.laws.convergence.fields import compare, decoded, encoded, field_set, merge, remove, without_nulls
from tests.laws.convergence.managed import (
    KEEPER,
    LAST_APPLIED,
    SCALER,
    apply,
    managers_of,
    scaled,
    update,
    without_managers,
)

ME = ("kubectl", "Apply")


def lws(containers: list[Object] | None, *, annotations: Object | None = None, **spec: Any) -> Object:
    group: Object = {"workerTemplate": {"spec": {"containers": containers, **spec}}} if containers else {}
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "x", **({"annotations": annotations} if annotations else {})},
        "spec": {"leaderWorkerTemplate": group},
    }


def engine(**fields: Any) -> Object:
    return {"name": "vllm", **fields}


def worker(live: Object) -> Any:
    return live["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]


def mutated(live: Object, **fields: Any) -> Object:
    """Add fields to the engine, as a webhook does: they have no owner."""
    whole = copy.deepcopy(live)
    worker(whole)["containers"][0] |= fields
    return whole


def test_a_set_has_leaves_atomic_values_and_items() -> None:
    pod = {"containers": [engine(args=["a"], env=[{"name": "A", "value": "1"}])], "nodeSelector": {"a": "b"}}
    vllm = ("containers", (("name", "vllm"),))
    variable = (*vllm, "env", (("name", "A"),))

    assert field_set(pod) == {
        ("nodeSelector",),
        vllm,
        (*vllm, "name"),
        (*vllm, "args"),
        variable,
        (*variable, "name"),
        (*variable, "value"),
    }


def test_the_key_of_a_port_has_its_default_protocol() -> None:
    found = encoded(field_set({"ports": [{"containerPort": 80}]}))

    assert found == {
        "f:ports": {'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}}},
    }


def test_fields_survive_their_encoded_form() -> None:
    fields = field_set(lws([engine(args=["a"], ports=[{"containerPort": 80}])], annotations={"a/b": "c"}))

    assert decoded(encoded(fields)) == fields


@pytest.mark.parametrize(
    ("live", "config", "merged"),
    [
        ("ab", "ab", "ab"),
        ("ab", "ba", "ba"),
        ("ab", "b", "ab"),
        ("ab", "c", "abc"),
        ("ab", "cb", "acb"),
        ("oab", "ba", "oba"),
        ("aob", "abc", "aobc"),
        ("", "ab", "ab"),
    ],
)
def test_items_of_a_configuration_keep_their_order_among_those_of_others(
    live: str, config: str, merged: str
) -> None:
    one, other = ({"env": [{"name": name} for name in names]} for names in (live, config))

    assert "".join(item["name"] for item in merge(one, other)["env"]) == merged


def test_removing_all_fields_of_a_map_removes_the_map() -> None:
    value = {"a": {"b": 1}, "c": {"d": 1, "e": 2}}

    left = remove(value, frozenset({("a", "b"), ("c", "d")}))

    assert (left, without_nulls(left)) == ({"a": None, "c": {"e": 2}}, {"c": {"e": 2}})


def test_an_applied_file_keeps_what_a_webhook_added() -> None:
    stored = mutated(apply(None, lws([engine(args=["a"])])), env=[{"name": "OURS"}], args=["ray"])

    again = apply(stored, lws([engine(args=["a"])]))

    assert worker(again)["containers"] == [engine(args=["a"], env=[{"name": "OURS"}])]


def test_a_field_that_is_no_longer_applied_is_removed() -> None:
    stored = apply(None, lws([engine(args=["a"], image="i")]))

    again = apply(stored, lws([engine(image="i")]))

    assert worker(again)["containers"] == [engine(image="i")]


def test_an_item_that_is_no_longer_applied_is_removed_with_the_fields_that_a_webhook_added() -> None:
    stored = apply(None, lws([engine(), {"name": "proxy", "image": "envoy"}]))
    worker(stored)["containers"][1]["env"] = [{"name": "OURS"}]

    again = apply(stored, lws([engine()]))

    assert worker(again)["containers"] == [engine()]


def test_a_field_with_another_owner_stays() -> None:
    stored = apply(None, lws([engine(image="i")], schedulerName="mine"))
    assert stored["spec"]["replicas"] == 1
    assert ("spec", "replicas") not in managers_of(stored)[ME]
    wanted = copy.deepcopy(stored)
    worker(wanted)["schedulerName"] = "theirs"
    edited = edit(stored, wanted)
    assert edited is not None

    again = apply(edited, lws([engine(image="i")]))

    assert worker(again)["schedulerName"] == "theirs"


def test_a_forced_conflict_takes_the_field_from_its_owner() -> None:
    stored = apply(None, lws([engine(image="i")], schedulerName="mine"))
    assert stored["spec"]["replicas"] == 1
    assert ("spec", "replicas") not in managers_of(stored)[ME]
    wanted = copy.deepcopy(stored)
    worker(wanted)["schedulerName"] = "theirs"
    edited = edit(stored, wanted)
    assert edited is not None
    path = ("spec", "leaderWorkerTemplate", "workerTemplate", "spec", "schedulerName")
    assert path in managers_of(edited)["kubectl-edit", "Update"]
    assert path not in managers_of(edited)[ME]

    again = apply(edited, lws([engine(image="i")], schedulerName="mine"))

    assert worker(again)["schedulerName"] == "mine"
    assert path in managers_of(again)[ME]
    assert ("kubectl-edit", "Update") not in managers_of(again)


def test_defaults_have_an_owner_after_an_update_and_none_after_an_apply() -> None:
    file = lws([engine(image="i")])
    size = ("spec", "leaderWorkerTemplate", "size")

    updated, applied = update(None, file, "controller"), apply(None, file)

    assert updated["spec"] == applied["spec"]
    assert size in managers_of(updated)["controller", "Update"]
    assert size not in managers_of(applied)[ME]


def test_the_first_field_of_an_empty_map_does_not_change_the_map() -> None:
    empty: Object = {"spec": {"metadata": {}}}
    filled: Object = {"spec": {"metadata": {"labels": {}}}}
    labels = frozenset({("spec", "metadata", "labels")})

    assert compare(empty, filled) == (labels, frozenset())
    assert compare(filled, empty) == (frozenset(), labels)


def test_a_scale_is_an_entry_of_its_subresource() -> None:
    live = scaled(update(None, lws([engine()]), "controller"), 3)

    [entry] = [one for one in live["metadata"]["managedFields"] if one["manager"] == "kubectl"]
    assert (entry["operation"], entry["subresource"]) == ("Update", "scale")
    assert entry["fieldsV1"] == {"f:spec": {"f:replicas": {}}}


def test_zero_replicas_of_a_scale_have_no_owner() -> None:
    stored = update(None, lws([engine()]), "controller")

    none = scaled(stored, 0)

    assert none["spec"]["replicas"] == 0
    assert owners_of_replicas(none) == []
    assert owners_of_replicas(scaled(none, 3)) == [], "a scale adds no owner where there is none"


def test_a_scale_without_a_change_takes_replicas_from_an_update_but_not_from_an_apply() -> None:
    file = lws([engine()])
    file["spec"]["replicas"] = 2
    updated, applied = update(None, file, "controller"), apply(None, file)

    assert owners_of_replicas(scaled(updated, 2)) == []
    assert owners_of_replicas(scaled(applied, 2)) == [ME]
    assert owners_of_replicas(scaled(applied, 3)) == [SCALER]
    assert owners_of_replicas(scaled(scaled(applied, 3), 3)) == [SCALER]


def owners_of_replicas(live: Object) -> list[tuple[str, str]]:
    return [one for one, fields in managers_of(live).items() if ("spec", "replicas") in fields]


def test_a_server_side_apply_keeps_the_annotation_of_client_side_apply_by_a_manager_of_its_own() -> None:
    stored = client_side_apply(None, lws([engine()]))

    applied = server_side_apply(stored, lws([engine(image="i")]))

    assert applied is not None
    annotation = ("metadata", "annotations", LAST_APPLIED)
    owners = managers_of(applied)
    assert [one for one, fields in owners.items() if annotation in fields] == [KEEPER]


def test_the_last_annotation_of_an_applier_takes_the_record_of_a_webhook_with_it() -> None:
    stored = apply(None, lws([engine()], annotations={"fusioninfer.io/service": "svc"}))
    stored["metadata"]["annotations"]["fusioninfer.io/expansion"] = "record"

    kept = apply(stored, lws([engine()], annotations={"team": "a"}))
    gone = apply(stored, lws([engine()]))

    assert kept["metadata"]["annotations"] == {"fusioninfer.io/expansion": "record", "team": "a"}
    assert "annotations" not in gone["metadata"]


def test_a_field_that_a_webhook_added_has_no_owner() -> None:
    stored = mutated(apply(None, lws([engine(image="i")])), args=["ray"])
    wanted = copy.deepcopy(stored)
    worker(wanted)["schedulerName"] = "theirs"

    edited = edit(stored, wanted)

    assert edited is not None
    owned = frozenset[Any]().union(*managers_of(edited).values())
    assert not any("args" in path for path in owned)


def test_fields_of_client_side_apply_move_to_server_side_apply() -> None:
    stored = client_side_apply(None, lws([engine(image="i", args=["a"])], annotations={"team": "a"}))

    applied = server_side_apply(stored, lws([engine(image="i")], annotations={"team": "a"}))

    assert applied is not None
    assert worker(applied)["containers"] == [engine(image="i")]
    assert list(managers_of(applied)) == [ME, KEEPER]
    assert '"args"' not in applied["metadata"]["annotations"][LAST_APPLIED]


def test_the_same_file_applied_again_changes_nothing() -> None:
    file = lws([engine(image="i", ports=[{"containerPort": 80}])])
    stored = apply(None, file)

    assert server_side_apply(stored, file) is None
    assert without_managers(apply(stored, file)) == without_managers(stored)
