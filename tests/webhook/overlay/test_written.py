"""The part of an object that the writer's file holds, by last-applied-configuration and managedFields."""

import time
from typing import Any

import msgspec
import orjson
import pytest

from intent import Object
from webhook.overlay.written import LAST_APPLIED, written

SPEC = {
    "containers": [
        {"name": "vllm", "image": "a", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]},
        {"name": "proxy", "image": "b"},
    ]
}
VLLM = 'k:{"name":"vllm"}'


def entry(spec: Any, manager: str = "kubectl", operation: str = "Apply", **more: Any) -> Object:
    return {
        "manager": manager,
        "operation": operation,
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "time": "2026-01-01T00:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": spec},
        **more,
    }


def live(entries: Any, spec: Any = SPEC) -> Object:
    return {"metadata": {"managedFields": msgspec.Raw(orjson.dumps(entries))}, "spec": spec}


ENV_A = entry(
    {"f:containers": {VLLM: {".": {}, "f:name": {}, "f:env": {'k:{"name":"A"}': {".": {}, "f:value": {}}}}}}
)
LEFT: Object = {"f:containers": {VLLM: {".": {}, "f:name": {}}}}
"""What is left of the fields of `ENV_A` after another client wrote the variable."""
ENV_B = entry({"f:containers": {VLLM: {"f:env": {'k:{"name":"B"}': {"f:value": {}}}}}}, "other")


def env(*names: str) -> Any:
    items = [{"name": name, "value": {"A": "1", "B": "2"}[name]} for name in names]
    return {"spec": {"containers": [{"name": "vllm", "env": items}]}}


@pytest.mark.parametrize(
    ("entries", "stored", "wanted"),
    [
        ([ENV_A], [], env("A")),
        ([ENV_A], [ENV_A], {}),
        ([ENV_A, ENV_B], [ENV_A], env("B")),
        ([entry(LEFT)], [ENV_A], {}),
        ([ENV_A], [entry(LEFT)], env("A")),
        ([{**ENV_A, "time": None}], [], env("A")),
        ([entry(LEFT, time="2026-01-01T00:00:01Z")], [ENV_A], {"spec": {"containers": [{"name": "vllm"}]}}),
        ([{**ENV_A, "operation": "Update"}], [], {}),
        ([{**ENV_A, "subresource": "status"}], [], {}),
        ([entry({"f:containers": {'k:{"name":"gone"}': {".": {}}}})], [], {"spec": {"containers": []}}),
        (
            [entry({"f:containers": {"k:no JSON": {}, 'k:{"name":["x"]}': {}, "v:x": {}}})],
            [],
            {"spec": {"containers": []}},
        ),
        ([entry({"f:none": {}, "f:containers": 7}), 7, None, "x", [ENV_A]], [], {"spec": {"containers": []}}),
        ([entry(7)], [], {"spec": {}}),
        ([entry({})], [], {"spec": {}}),
        ([entry({"f:containers": {}})], [], {"spec": {"containers": []}}),
        ([{**ENV_A, "fieldsV1": 7}], [], {}),
        ({"a": 1}, [], {}),
        ("x", 7, {}),
    ],
)
def test_an_apply_with_a_new_time_or_more_fields_is_the_file(entries: Any, stored: Any, wanted: Any) -> None:
    assert written(live(entries), live(stored)) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (orjson.dumps({"spec": {"replicas": 1}}).decode(), {"spec": {"replicas": 1}}),
        (orjson.dumps({"spec": {"replicas": 2}}).decode(), {"spec": {}}),
        (
            orjson.dumps(
                {"spec": {"replicas": 1}, "metadata": {"annotations": {"fusioninfer.io/expansion": "r"}}}
            ).decode(),
            {},
        ),
        ("old", {}),
        ("no JSON", {}),
        ("[1]", {}),
        ('{"spec":' * 5_000, {}),
        ('"\\ud800"', {}),
        (7, {}),
    ],
)
def test_a_changed_last_applied_configuration_is_the_file(text: Any, wanted: Any) -> None:
    now = {
        "metadata": {"annotations": {LAST_APPLIED: text, "fusioninfer.io/expansion": "r"}},
        "spec": {"replicas": 1},
    }
    old = {"metadata": {"annotations": {LAST_APPLIED: "old"}}}

    assert written(now, old) == wanted


def test_the_cost_of_many_entries_is_proportional() -> None:
    one = entry({"f:containers": {VLLM: {".": {}}, 'k:{"name":"proxy"}': {".": {}}}})
    now, old = (live([{**one, "manager": f"{of}{at}"} for at in range(5_000)]) for of in "ab")
    since = time.thread_time()

    written(now, old)

    assert time.thread_time() - since < 0.5
