"""The sizes of engines against claimed devices (DRA) whose template is in the files: warnings."""

from typing import Any, Final

import pytest

from fusioninfer.lint.documents import Document
from fusioninfer.lint.offline import compose
from intent import Object
from tests.builders.lws import container, lws, template
from tests.sync.samples import SETTINGS

CLAIM: Final = {"name": "gpus", "resourceClaimTemplateName": "gpus"}
SECOND: Final[Object] = {"name": "s", "image": "s", "resources": {"claims": [{"name": "gpus"}]}}


def claims(*requests: tuple[str, Any]) -> Object:
    """Return a template of claims, of classes and their numbers."""
    asked = [{"exactly": {"deviceClassName": name, "count": count}} for name, count in requests]
    metadata, spec = {"name": "gpus"}, {"spec": {"devices": {"requests": asked}}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": metadata,
        "spec": spec,
    }


def group(
    tensor: int, *others: Object, claim: Object | None = None, limits: Object | None = None, **pod: Any
) -> Object:
    """Return a group of two pods that claim devices."""
    resources = {"requests": {"cpu": "8", "memory": "64Gi"}, "claims": [claim or {"name": "gpus"}]}
    resources |= {"limits": limits} if limits else {}
    engine = container(args=["--model", "org/M", "-tp", str(tensor)], resources=resources)
    return lws(worker=template(engine, *others, **({"resourceClaims": [CLAIM]} | pod)))


FOUR: Final = claims(("gpu.nvidia.com", 4))
SIZES: Final[dict[str, tuple[list[Object], set[str]]]] = {
    "too large": ([group(16), FOUR], {"FI307"}),
    "across pods": ([group(8), FOUR], {"FI502"}),
    "idle": ([group(2), claims(("gpu.amd.com", 4))], {"FI501"}),
    "beside those of a network": ([group(16), claims(("gpu.nvidia.com", 4), ("nic", 1))], {"FI307"}),
    "no template": ([group(16)], set()),
    "a number that is not known": ([group(16), claims(("gpu.nvidia.com", "all"))], set()),
    "two classes": ([group(16), claims(("gpu.nvidia.com", 4), ("gpu.amd.com", 4))], set()),
    "two containers": ([group(16, SECOND), FOUR], set()),
    "an init container": ([group(16, initContainers=[SECOND]), FOUR], set()),
    "a claim that no container has": ([group(8, resourceClaims=[CLAIM, CLAIM | {"name": "b"}]), FOUR], set()),
    "one request of a claim": ([group(8, claim={"name": "gpus", "request": "a"}), FOUR], set()),
    "limits beside claims": ([group(16, limits={"nvidia.com/gpu": "8"}), FOUR], {"FI502"}),
    "all beside a number": ([group(16), claims(("gpu.nvidia.com", 4), ("gpu.nvidia.com", "all"))], set()),
}


@pytest.mark.parametrize("name", SIZES)
def test_sizes_are_compared_with_claimed_devices_of_the_files(name: str) -> None:
    objects, expected = SIZES[name]

    made = compose([Document("f.yaml", at, one) for at, one in enumerate(objects, 1)], SETTINGS)

    found = {one.error for one in made.found}
    assert {one.code for one in found} == expected, [*map(str, found)]
    assert {one.severity for one in found} <= {"warning"}
