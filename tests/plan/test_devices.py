"""Which devices a pod claims (DRA), of each form of a claim and of a request."""

from typing import Any, Final

import pytest

from intent import Object
from plan.devices import Devices, devices

CLASS: Final = "gpu.nvidia.com"
FOUR: Final = {"name": "gpu", "exactly": {"deviceClassName": CLASS, "count": 4}}


def made(*requests: Any, **fields: Any) -> Object:
    """Return a ResourceClaimTemplate."""
    return {"spec": {"spec": {"devices": {"requests": list(requests), **fields}}}}


OWN: Final = {"name": "gpus", "resourceClaimTemplateName": "gpus"}


def of(*requests: Any, **fields: Any) -> Devices:
    """Return what a pod claims with a template."""
    return devices({"resourceClaims": [OWN]}, {("llm", "gpus"): made(*requests, **fields)}, "llm")


def exactly(**fields: Any) -> Object:
    return {"name": "gpu", "exactly": {"deviceClassName": CLASS, **fields}}


COUNTED: Final[dict[str, tuple[list[Object], dict[str, int]]]] = {
    "v1": ([FOUR], {CLASS: 4000}),
    "v1beta1": ([{"name": "gpu", "deviceClassName": CLASS, "count": 4}], {CLASS: 4000}),
    "one by default": ([exactly()], {CLASS: 1000}),
    "the default mode": ([exactly(allocationMode="ExactCount", count=8)], {CLASS: 8000}),
    "several requests": ([FOUR, exactly(count=2)], {CLASS: 6000}),
    "several classes": ([FOUR, exactly(deviceClassName="gpu.amd.com")], {CLASS: 4000, "gpu.amd.com": 1000}),
    "no administrator": ([exactly(adminAccess=False)], {CLASS: 1000}),
}


@pytest.mark.parametrize("name", COUNTED)
def test_a_number_of_devices_of_a_known_class_is_counted(name: str) -> None:
    requests, expected = COUNTED[name]

    assert of(*requests) == Devices(expected)


UNKNOWN: Final[dict[str, tuple[list[Any], str]]] = {
    "all": ([exactly(allocationMode="All")], "request gpu is for no number of devices"),
    "all, v1beta1": (
        [{"name": "x", "deviceClassName": CLASS, "allocationMode": "All"}],
        "request x is for no number of devices",
    ),
    "another mode": ([exactly(allocationMode="Most", count=4)], "is for no number of devices"),
    "no number": ([exactly(count="four")], "is for no number of devices"),
    "alternatives": (
        [{"name": "gpu", "firstAvailable": [{"name": "a", "deviceClassName": CLASS, "count": 4}]}],
        "request gpu has alternatives (firstAvailable)",
    ),
    "an administrator": ([exactly(adminAccess=True, allocationMode="All")], "request gpu shares devices"),
    "a part of a device": ([exactly(capacity={"requests": {"memory": "1Gi"}})], "request gpu shares devices"),
    "another class": ([exactly(deviceClassName="rdma")], "request gpu is of class rdma"),
    "one of two": ([FOUR, exactly(deviceClassName="rdma")], "request gpu is of class rdma"),
    "no request": ([], "no ResourceClaimTemplate gpus with requests"),
    "no object": (["x"], "request  is of class , and"),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_is_no_number_of_known_devices_is_not_known(name: str) -> None:
    requests, expected = UNKNOWN[name]

    (found,) = of(*requests).unknown

    assert found.startswith("claim gpus: ")
    assert expected in found


@pytest.mark.parametrize("name", ["all", "alternatives", "a part of a device"])
def test_accelerators_of_a_number_that_is_not_known_make_the_others_not_known(name: str) -> None:
    (request,), _ = UNKNOWN[name]

    assert of(FOUR, request).counted == {}


def test_an_administrator_takes_no_devices_of_others() -> None:
    (request,), _ = UNKNOWN["an administrator"]

    assert of(FOUR, request).counted == {CLASS: 4000}


def test_a_claim_that_pods_may_share_is_not_known() -> None:
    shared = {"name": "gpus", "resourceClaimName": "shared"}

    found = devices({"resourceClaims": [shared]}, {("llm", "shared"): made(FOUR)}, "llm")

    assert found.counted == {}
    assert "claim gpus: the pod names no ResourceClaimTemplate for it" in found.unknown[0]


def test_a_claim_of_a_container_that_the_pod_does_not_have_is_not_known() -> None:
    containers = [{"resources": {"claims": [{"name": "gpus"}]}}]

    for field in ("containers", "initContainers"):
        assert devices({field: containers}, {}, "").unknown[0].startswith("claim gpus: ")


def test_a_claim_counts_once_whichever_containers_use_it_and_two_claims_twice() -> None:
    both = [{"resources": {"claims": [{"name": "gpus", "request": "gpu"}]}}] * 2
    known = {("", "gpus"): made(FOUR)}

    one = devices({"containers": both, "resourceClaims": [OWN]}, known, "llm")
    two = devices({"containers": both, "resourceClaims": [OWN, OWN | {"name": "b"}]}, known, "llm")

    assert (one, two) == (Devices({CLASS: 4000}), Devices({CLASS: 8000}))


TEMPLATES: Final[dict[str, tuple[list[str], int]]] = {
    "its own namespace": (["llm"], 4000),
    "no namespace": ([""], 4000),
    "another namespace": (["other"], 0),
    "nothing": ([], 0),
}


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_is_of_the_namespace_or_of_none(name: str) -> None:
    homes, expected = TEMPLATES[name]

    found = devices({"resourceClaims": [OWN]}, {(home, "gpus"): made(FOUR) for home in homes}, "llm")

    assert found.counted.get(CLASS, 0) == expected
    why = "claim gpus: the files have no ResourceClaimTemplate gpus with requests in its namespace; add it"
    assert found.unknown == (() if expected else (why,))


def test_a_template_of_the_namespace_wins() -> None:
    known = {("", "gpus"): made(exactly(count=1)), ("llm", "gpus"): made(FOUR)}

    assert devices({"resourceClaims": [OWN]}, known, "llm").counted == {CLASS: 4000}


def test_nodes_that_do_not_say_which_devices_they_have_make_each_claim_not_known() -> None:
    (found,) = devices({"resourceClaims": [OWN]}, None, "llm").unknown

    assert "Node objects do not say which devices there are" in found


@pytest.mark.parametrize(
    "found", [of(exactly(selectors=[{"cel": {}}])), of(FOUR, constraints=[{"matchAttribute": "a"}])]
)
def test_selectors_and_constraints_are_counted_and_marked(found: Devices) -> None:
    assert (found.unknown, found.selected) == ((), True)
