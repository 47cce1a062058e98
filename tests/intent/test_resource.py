"""Whole objects against the schemas of their kinds. The real API server is asked in tests/cluster."""

from typing import Any, Final

import pytest

from intent import Object
from intent.resource import KINDS, kind_of, violations_of
from tests.builders.lws import changed, lws

ROLE: Final[Object] = {"leaderWorkerTemplate": {"workerTemplate": {"spec": {"containers": [{"name": "a"}]}}}}
SET: Final[Object] = {
    "apiVersion": "disaggregatedset.x-k8s.io/v1",
    "kind": "DisaggregatedSet",
    "metadata": {"name": "s"},
    "spec": {"roles": [{"name": "p", "spec": ROLE}, {"name": "d", "spec": ROLE}]},
}
GROUP: Final = "spec.leaderWorkerTemplate"


def found(obj: Object) -> list[tuple[str, str]]:
    kind = kind_of(obj)
    assert kind is not None
    return [(one.path, one.message) for one in violations_of(obj, kind)]


def test_valid_objects_have_no_violations() -> None:
    assert [found(lws()), found(SET)] == [[], []]


def test_an_object_of_another_kind_has_none_of_ours() -> None:
    assert kind_of({"apiVersion": "serving.kserve.io/v1beta1", "kind": "InferenceService"}) is None
    assert kind_of({"apiVersion": ["leaderworkerset.x-k8s.io/v1"], "kind": "LeaderWorkerSet"}) is None


def test_any_version_of_a_kind_is_known() -> None:
    assert [kind_of({"apiVersion": f"{one.group}/v9", "kind": one.name}) for one in KINDS] == [*KINDS]


@pytest.mark.parametrize(
    ("path", "value", "at", "message"),
    [
        (f"{GROUP}.size", "2", f"{GROUP}.size", "must be a whole number"),
        ("metadata.name", "A", "metadata.name", "must be a DNS-1123 subdomain"),
        ("metadata.nmae", "a", "metadata.nmae", "unknown field"),
        (
            "metadata.managedFields",
            [{"fieldsV1": {"f:spec": {}}, "added": 1}],
            "metadata.managedFields[0].added",
            "unknown field",
        ),
        ("sepc", {}, "sepc", "unknown field"),
    ],
)
def test_a_violation_has_its_path(path: str, value: Any, at: str, message: str) -> None:
    ((where, said),) = found(changed(lws(), path, value))

    assert (where, said[: len(message)]) == (at, message)


@pytest.mark.parametrize("value", [None, [], "a", 1, {"name": 1}, {"labels": []}, {"name": []}])
def test_metadata_of_any_type_is_read(value: Any) -> None:
    obj = {**lws(), "metadata": value}

    assert [path.partition(".")[0] for path, _ in found(obj)][:1] == ["metadata"]
