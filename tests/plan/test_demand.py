"""What a pod requests, as Kubernetes counts it (`k8s.io/component-helpers/resource`, `PodRequests`)."""

from typing import Any

import pytest

from intent import Object
from plan.amounts import CPU, MEMORY, PODS
from plan.demand import demand, requests
from tests.plan.services import GPU, template

CLASS = "deviceclass.resource.kubernetes.io/tpu.google.com"


def container(**resources: Any) -> Object:
    return {
        "name": "c",
        "resources": {"requests": {key.replace("gpu", GPU): value for key, value in resources.items()}},
    }


def sidecar(**resources: Any) -> Object:
    return {**container(**resources), "restartPolicy": "Always"}


CASES: dict[str, tuple[Object, dict[str, int]]] = {
    "containers run together": (
        {"containers": [container(cpu="1"), container(cpu="500m", gpu=2)]},
        {CPU: 1500, GPU: 2000},
    ),
    "init containers run one after the other, before": (
        {
            "containers": [container(cpu="1")],
            "initContainers": [container(cpu="3"), container(cpu="2", gpu=1)],
        },
        {CPU: 3000, GPU: 1000},
    ),
    "a sidecar runs beside what follows it": (
        {
            "containers": [container(cpu="1")],
            "initContainers": [container(cpu="5"), sidecar(cpu="2"), container(cpu="4")],
        },
        {CPU: 6000},
    ),
    "a sidecar runs beside the containers": (
        {"containers": [container(cpu="3")], "initContainers": [sidecar(cpu="2"), container(cpu="1")]},
        {CPU: 5000},
    ),
    "the overhead is added": (
        {"containers": [container(cpu="1")], "overhead": {"cpu": "250m", "memory": "1Ki"}},
        {CPU: 1250, MEMORY: 1024 * 1000},
    ),
    "requests of the pod replace those of its containers, for CPU and memory": (
        {"containers": [container(cpu="1", gpu=8)], "resources": {"requests": {"cpu": "6", GPU: "1"}}},
        {CPU: 6000, GPU: 8000},
    ),
    "a limit is the request where there is none": (
        {"containers": [{"resources": {"limits": {GPU: "4", "cpu": "2"}, "requests": {"cpu": "1"}}}]},
        {GPU: 4000, CPU: 1000},
    ),
    "what is not a quantity is left out": (
        {"containers": [container(cpu="many", gpu=-1), "x", None], "initContainers": {}},
        {},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_requests_are_counted_as_kubernetes_counts_them(name: str) -> None:
    spec, expected = CASES[name]

    assert requests(spec) == expected


def test_what_is_not_modelled_is_named() -> None:
    terms = [{"topologyKey": "kubernetes.io/hostname"}]
    spec = {
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}},
        "topologySpreadConstraints": [{"maxSkew": 1}],
        "resourceClaims": [{"name": "gpu"}],
        "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}],
        "priorityClassName": "unknown",
        "runtimeClassName": "gvisor",
        "schedulingGates": [{"name": "g"}],
    }

    found, alone = demand(template(8, **spec)), demand(template(0, **spec))
    by_class = demand(template(0) | {"spec": {"containers": [container(**{CLASS: "8"})]}})

    assert (bool(found.unknown), bool(alone.unknown)) == (False, True)
    assert by_class.unknown[0].startswith(f"{CLASS}: is a claim")
    assert CLASS not in dict(by_class.requests)
    assert found.unmodelled == (
        "affinity between pods",
        "topology spread constraints",
        "claims (DRA) beside its accelerators, such as those of networks",
        "scheduling gates",
        "volumes that are bound to some nodes",
        "the overhead of a RuntimeClass",
        "PriorityClass unknown, whose value is not known",
    )


def test_a_plain_pod_has_nothing_that_is_not_modelled() -> None:
    assert demand(template(8, priorityClassName="high"), {"high": 7}).unmodelled == ()
    assert demand(template(8, priorityClassName="high"), {"high": 7}).priority == 7


def test_claimed_devices_are_requests_of_their_class() -> None:
    request = {"exactly": {"deviceClassName": "gpu.amd.com", "count": 2, "selectors": [{"cel": {}}]}}
    claims = {("", "gpus"): {"spec": {"spec": {"devices": {"requests": [request]}}}}}
    asked = template(0, resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "gpus"}])

    found, unknown = demand(asked, claims=claims), demand(asked)

    assert dict(found.requests) == {"gpu.amd.com": 2000, PODS: 1000}
    assert found.unmodelled == ("selectors and constraints of resource claims (DRA)",)
    assert (bool(found.unknown), bool(unknown.unknown)) == (False, True)


def test_claimed_accelerators_of_no_known_number_are_not_known_beside_others() -> None:
    request = {"exactly": {"deviceClassName": "gpu.nvidia.com", "allocationMode": "All"}}
    claims = {("", "gpus"): {"spec": {"spec": {"devices": {"requests": [request]}}}}}
    asked = template(4, resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "gpus"}])

    assert "for no number of devices" in demand(asked, claims=claims).unknown[0]
