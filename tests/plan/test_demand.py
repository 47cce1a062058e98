"""What a pod requests, as Kubernetes counts it (`k8s.io/component-helpers/resource`, `PodRequests`)."""

from typing import Any

import pytest

from intent import Object
from plan.amounts import CPU, MEMORY, PODS
from plan.demand import COUNTED, pod_shape, requests
from tests.plan.workloads import GPU, template

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

    assert requests(spec) == {**expected, PODS: 1000}


def test_what_is_not_modelled_is_named() -> None:
    terms = [{"topologyKey": "kubernetes.io/hostname"}]
    spec: dict[str, Any] = {
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}},
        "topologySpreadConstraints": [{"maxSkew": 1}],
        "resourceClaims": [{"name": "nic"}],
        "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}],
        "resources": {"requests": {"cpu": "6"}},
    }

    assert pod_shape(template(8, **spec)).unmodelled == (
        "affinity between pods",
        "topology spread constraints",
        "claims (DRA) beside its accelerators, such as those of networks",
        "volumes that are bound to some nodes",
        "requests of the pod in place of its containers'",
    )
    assert pod_shape(template(8)).unmodelled == ()


# --- claims (DRA) -------------------------------------------------------------------------------------


def claiming(gpus: int, *requests: Object) -> Any:
    """Return what a pod is read as that claims devices."""
    claims = {("", "gpus"): {"spec": {"spec": {"devices": {"requests": list(requests)}}}}}
    return pod_shape(
        template(gpus, resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "gpus"}]), claims
    )


def exactly(name: str, **fields: Any) -> Object:
    return {"exactly": {"deviceClassName": name, **fields}}


def test_claims_of_other_devices_are_not_known_unless_the_pod_has_accelerators() -> None:
    network = exactly("rdma")

    assert [bool(claiming(gpus, network).unknown) for gpus in (0, 8)] == [True, False]
    assert claiming(0, network, exactly("gpu.amd.com")).unknown == ()


def test_a_resource_of_a_device_class_is_a_claim_of_no_template() -> None:
    found = pod_shape({"spec": {"containers": [container(**{CLASS: "8"})]}})

    assert found.unknown == (f"{CLASS}: {COUNTED}",)
