"""InferenceServices of the upstream project: what is kept, renamed and left out."""

from typing import Any, Final

import pytest

from importer.table import ImportResult, import_all
from intent import Object
from tests.builders.imported import errors

IMAGE: Final = "vllm/vllm-openai:v0.11.0"
MODEL: Final = "Qwen/Qwen3-8B"


def role(kind: str, *args: str, **fields: Any) -> Object:
    resources = {"requests": {"cpu": "8", "memory": "64Gi"}, "limits": {"nvidia.com/gpu": "8"}}
    engine = {"name": "vllm", "image": IMAGE, "args": ["--model", MODEL, *args], "resources": resources}
    return {"name": kind, "componentType": kind, "template": {"spec": {"containers": [engine]}}, **fields}


def service(*roles: Object, **spec: Any) -> Object:
    return {
        "apiVersion": "fusioninfer.io/v1alpha1",
        "kind": "InferenceService",
        "metadata": {"name": "qwen"},
        "spec": {"roles": list(roles), **spec},
    }


ROUTER: Final[Object] = {
    "name": "router",
    "componentType": "router",
    "strategy": "prefix-cache",
    "httproute": {"parentRefs": [{"name": "inference-gateway"}]},
}
TRANSFER: Final = ("--kv-transfer-config", '{"kv_connector":"NixlConnector","kv_role":"kv_both"}')
SERVICES: Final[dict[str, Object]] = {
    "one node": service(ROUTER, role("worker", replicas=1)),
    "several nodes": service(
        role("worker", "--tensor-parallel-size", "32", replicas=2, multinode={"nodeCount": 4})
    ),
    "prefill and decode": service(
        ROUTER | {"strategy": "pd-disaggregation"},
        role("prefiller", *TRANSFER, replicas=2),
        role("decoder", *TRANSFER, replicas=4),
        schedulingStrategy={"schedulerName": "volcano"},
    ),
}


def outcomes(made: ImportResult) -> dict[str, tuple[str, str]]:
    return {one.path: (one.outcome.kind, one.outcome.code) for one in made.report.lines}


@pytest.mark.parametrize("obj", SERVICES.values(), ids=SERVICES)
def test_a_service_stays_what_it_is(obj: Object) -> None:
    made = import_all([obj])

    assert made.objects == (obj,)
    assert {kind for kind, _ in outcomes(made).values()} == {"kept"}
    assert errors(made.objects) == []


@pytest.mark.parametrize("name", [None, 7, "Qwen_3", "3-qwen"])
def test_a_name_that_names_no_service_is_an_error_at_its_field(name: Any) -> None:
    made = import_all([service(role("worker")) | {"metadata": {"name": name}}])

    (problem,) = made.problems
    assert (made.objects, problem.error.path, problem.error.value) == ((), "metadata.name", name)


def test_a_field_that_no_release_has_is_left_out_and_lost() -> None:
    given = service(role("worker", nope={"a": 1}), foo="bar")
    given["spec"]["roles"][0]["template"]["spec"]["nope"] = 1

    made = import_all([given])

    assert [one.path for one in made.report.lost] == [
        "spec.roles[0].template.spec.nope",
        "spec.roles[0].nope.a",
        "spec.foo",
    ]
    assert made.objects == (service(role("worker")),)


def test_what_acts_here_and_not_upstream_is_said() -> None:
    router = ROUTER | {"gateway": {"gatewayClassName": "x"}}
    made = import_all([service(router, role("worker"))])

    (line,) = [one for one in made.report.lines if one.outcome.reason]
    assert (line.path, line.outcome.kind) == ("spec.roles[0].gateway.gatewayClassName", "kept")
