"""The installed CustomResourceDefinition matches the models and is valid for the API server."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, get_args

import pytest

from intent import Object, yaml
from intent.annotations import STRATEGIES
from intent.inferenceservice.crd import crd
from intent.inferenceservice.v1alpha1 import ENGINE_FIELDS, ROUTER_FIELDS, Role, Strategy

FILE: Final = Path(__file__).parents[3] / "manifests" / "base" / "inferenceservice.crd.yaml"
START: Final = "# made from intent/inferenceservice by `make golden`\n"
NOT_STRUCTURAL: Final = {"$ref", "$defs", "anyOf", "allOf", "title", "default", "const", "deprecated"}
"""Keywords that a structural schema must not have, and defaults."""


def test_the_manifest_matches_the_models(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--refresh"):
        FILE.write_text(START + yaml.dump(crd()), encoding="utf-8")

    assert FILE.read_text(encoding="utf-8") == START + yaml.dump(crd())


def nodes(schema: Object) -> Iterator[Object]:
    """Yield a schema and all nested ones: of fields, items and map values."""
    yield schema
    below = (*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties"))
    for node in below:
        if isinstance(node, dict):
            yield from nodes(node)


def whole() -> Object:
    (version,) = crd()["spec"]["versions"]
    schema: Object = version["schema"]["openAPIV3Schema"]
    return schema


def test_the_schema_is_structural() -> None:
    for node in nodes(whole()):
        assert "type" in node
        assert not NOT_STRUCTURAL & node.keys()


def test_templates_and_routes_keep_every_field() -> None:
    fields = whole()["properties"]["spec"]["properties"]["roles"]["items"]["properties"]

    keep = {name for name, node in fields.items() if "x-kubernetes-preserve-unknown-fields" in node}
    assert keep == {"template", "httproute", "gateway"}


def test_every_field_has_a_description() -> None:
    fields = [(name, field) for node in nodes(whole()) for name, field in node.get("properties", {}).items()]

    assert [name for name, field in fields if "description" not in field] == [
        "apiVersion",
        "kind",
        "metadata",
    ]


def rules(node: Any) -> list[str]:
    return [rule["rule"] for rule in node["x-kubernetes-validations"]]


@pytest.mark.parametrize("field", [*ENGINE_FIELDS, *ROUTER_FIELDS])
def test_a_field_of_another_component_type_is_refused_by_a_rule(field: str) -> None:
    role = whole()["properties"]["spec"]["properties"]["roles"]["items"]

    assert any(f"has(self.{field})" in rule for rule in rules(role))


def test_every_field_of_a_role_is_common_or_of_one_component_type() -> None:
    known = {field.alias or name for name, field in Role.model_fields.items()}

    assert known == {"name", "componentType", *ENGINE_FIELDS, *ROUTER_FIELDS}


def test_the_strategies_are_those_of_the_annotation() -> None:
    assert get_args(Strategy) == STRATEGIES
