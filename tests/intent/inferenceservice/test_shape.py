"""What the schema of the definition refuses of an InferenceService, and how it is reported."""

from typing import Any

import pytest

from intent import Object
from intent.inferenceservice.shape import MOST, violated
from tests.builders.isvc import isvc, worker
from tests.builders.lws import changed

POD = "spec.roles.0.template.spec"
CONTAINER = f"{POD}.containers.0"


def said(service: Object) -> list[str]:
    return [str(one) for one in violated(service)]


@pytest.mark.parametrize(
    ("path", "value", "where", "message"),
    [
        (
            f"{CONTAINER}.resorces",
            {},
            ".containers[0].resorces",
            "unknown field; did you mean resources? (FI702)",
        ),
        (
            f"{CONTAINER}.ports",
            [{"containerPort": "8000"}],
            ".containers[0].ports[0].containerPort",
            'Invalid value: "8000": must be a whole number (FI701)',
        ),
        (POD, {}, ".containers", "is required (FI701)"),
    ],
)
def test_a_finding_names_the_field_and_the_remedy(path: str, value: Any, where: str, message: str) -> None:
    assert said(changed(isvc(), path, value)) == [f"spec.roles[0].template.spec{where}: {message}"]


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        (
            "scaling",
            {"maxReplicas": 4, "minReplica": 2},
            ".minReplica: unknown field; did you mean minReplicas? (FI702)",
        ),
        ("scaling", {"minReplicas": 2}, ".maxReplicas: is required (FI701)"),
        ("rolloutStrategy", {"type": "A"}, '.type: Invalid value: "A": must be one of RollingUpdate (FI701)'),
    ],
)
def test_scaling_and_rollouts_have_their_own_codes(field: str, value: Object, expected: str) -> None:
    assert said(isvc(worker(**{field: value}))) == [f"spec.roles[0].{field}{expected}"]


def test_the_number_of_findings_is_bounded() -> None:
    many = changed(isvc(), POD, {f"nothing{at}": at for at in range(1000)})

    assert len(said(many)) == MOST
