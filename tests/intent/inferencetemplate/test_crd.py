"""The CustomResourceDefinition of InferenceTemplates: upstream's pod template, as a part."""

from typing import Any, Final

import pytest

from catalog.schemas import GATEWAY, HTTP_ROUTE, POD_TEMPLATE, schemas
from hack.upstream import nodes
from intent import Object
from intent.inferencetemplate.crd import part, pod_template, schema
from intent.schema import violations
from intent.tree import KEY_DEFAULTS, MERGE_KEYS


def test_nothing_is_required_but_the_keys_of_items() -> None:
    found = {
        (path.rpartition(".")[2], *node["required"]) for path, node in nodes(schema()) if "required" in node
    }
    keys = {
        (f"{name}[]", *(key for key in keys if key not in KEY_DEFAULTS)) for name, keys in MERGE_KEYS.items()
    }

    assert found == keys | {("", "spec")}


def test_all_lists_are_atomic() -> None:
    """Server-side apply replaces them: what a template removes is not merged back."""
    lists = [node for _, node in nodes(schema()) if node.get("type") == "array"]

    assert lists
    assert all(node["x-kubernetes-list-type"] == "atomic" for node in lists)


@pytest.mark.parametrize("name", [POD_TEMPLATE, HTTP_ROUTE, GATEWAY])
def test_a_part_has_every_field_of_upstream(name: str) -> None:
    whole = schemas()[name].root

    assert [path for path, _ in nodes(part(whole))] == [path for path, _ in nodes(whole)]


PARTS: Final[dict[str, Object]] = {
    "nothing": {},
    "a container without an image": {"spec": {"containers": [{"name": "vllm"}]}},
    "no containers": {"spec": {"nodeSelector": {"a": "b"}}},
    "a probe without its handler": {
        "spec": {"containers": [{"name": "vllm", "readinessProbe": {"periodSeconds": 5}}]}
    },
    "a port as a variable": {
        "spec": {"containers": [{"name": "vllm", "ports": [{"containerPort": "$(role.port)"}]}]}
    },
    "a quantity as a variable": {
        "spec": {"containers": [{"name": "v", "resources": {"limits": {"a.io/b": "$(parallelism.tensor)"}}}]}
    },
}


@pytest.mark.parametrize("value", PARTS.values(), ids=PARTS)
def test_a_part_is_accepted(value: Object) -> None:
    assert not list(violations(value, pod_template(), "template"))


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"spec": {"containers": [{"image": "a"}]}}, "template.spec.containers[0].name"),
        ({"spec": {"terminationGracePeriodSeconds": "5s"}}, "template.spec.terminationGracePeriodSeconds"),
        ({"spec": {"overhead": {"cpu": "much"}}}, "template.spec.overhead[cpu]"),
        ({"spec": {"containerz": []}}, "template.spec.containerz"),
    ],
)
def test_a_mistake_in_a_part_is_found(value: Any, path: str) -> None:
    assert [one.path for one in violations(value, pod_template(), "template")] == [path]


def test_every_field_of_ours_has_a_description() -> None:
    spec = schema()["properties"]["spec"]
    embedded = [spec["properties"]["router"]["properties"][name] for name in ("httproute", "gateway")]
    embedded.append(spec["properties"]["pods"]["items"]["properties"]["template"])

    assert all("description" in node for node in embedded)
    below = {id(one) for node in embedded for _, one in nodes(node) if one is not node}
    fields = [
        (path, field)
        for path, node in nodes(spec)
        if id(node) not in below and node not in embedded
        for field in node.get("properties", {}).values()
    ]
    assert fields
    assert all("description" in field for _, field in fields), fields
