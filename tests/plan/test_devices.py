"""Which devices a pod claims (DRA), of each form of a claim and of a request."""

from typing import Any, Final

import pytest

from intent import Object
from plan.amounts import PODS
from plan.demand import COUNTED as ONLY
from plan.demand import PodShape, pod_shape

CLASS: Final = "gpu.nvidia.com"
FOUR: Final = {"name": "gpu", "exactly": {"deviceClassName": CLASS, "count": 4}}
OWN: Final = {"name": "gpus", "resourceClaimTemplateName": "gpus"}
NOT_COUNTED: Final = f"claim gpus: {ONLY}"


def made(*requests: Any) -> Object:
    """Return a ResourceClaimTemplate."""
    return {"spec": {"spec": {"devices": {"requests": list(requests)}}}}


def of(*requests: Any) -> PodShape:
    """Return what a pod is read as that claims devices with a template."""
    return claiming([OWN], {("llm", "gpus"): made(*requests)})


def claiming(claims: list[Object], templates: Any, home: str = "llm") -> PodShape:
    return pod_shape({"spec": {"resourceClaims": claims}}, templates, home)


def counted(shape: PodShape) -> dict[str, int]:
    """Return the requests of a pod but itself."""
    return {name: amount for name, amount in shape.demand.requests if name != PODS}


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

    found = of(*requests)

    assert (counted(found), found.unknown) == (expected, ())
    assert found.unmodelled == ("selectors and constraints of resource claims (DRA)",)


UNKNOWN: Final[dict[str, Object]] = {
    "all": exactly(allocationMode="All"),
    "all, v1beta1": {"name": "gpu", "deviceClassName": CLASS, "allocationMode": "All"},
    "no number": exactly(count="four"),
    "alternatives": {"name": "gpu", "firstAvailable": [{"name": "a", "deviceClassName": CLASS, "count": 4}]},
    "an administrator": exactly(adminAccess=True),
    "a part of a device": exactly(capacity={"requests": {"memory": "1Gi"}}),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_accelerators_of_no_number_are_not_known_beside_others(name: str) -> None:
    assert of(FOUR, UNKNOWN[name]).unknown == (NOT_COUNTED,)


def test_devices_of_another_class_are_beside_those_that_count() -> None:
    found = of(FOUR, exactly(deviceClassName="rdma"))

    assert (counted(found), found.unknown) == ({CLASS: 4000}, ())
    assert "claims (DRA) beside its accelerators, such as those of networks" in found.unmodelled


OTHERS: Final[dict[str, tuple[Object, Any]]] = {
    "a claim that pods may share": (
        {"name": "gpus", "resourceClaimName": "shared"},
        {("llm", "shared"): made(FOUR)},
    ),
    "no template": (OWN, {("other", "gpus"): made(FOUR)}),
    "no request": (OWN, {("llm", "gpus"): made()}),
    "nodes that do not say which devices they have": (OWN, {}),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_claim_without_a_template_that_counts_is_not_known(name: str) -> None:
    claim, templates = OTHERS[name]

    assert claiming([claim], templates).unknown == (NOT_COUNTED,)


def test_two_claims_count_twice() -> None:
    known = {("", "gpus"): made(FOUR)}

    assert counted(claiming([OWN, OWN | {"name": "b"}], known)) == {CLASS: 8000}


def test_a_template_of_the_namespace_wins_over_one_without() -> None:
    known = {("", "gpus"): made(exactly(count=1)), ("llm", "gpus"): made(FOUR)}

    found = [counted(claiming([OWN], known, home)) for home in ("llm", "other")]

    assert found == [{CLASS: 4000}, {CLASS: 1000}]
