"""The installed CustomResourceDefinitions match the models and are valid for the API server."""

import json
import re
from collections.abc import Callable
from typing import Final, get_args

import pytest

from catalog.schemas import schemas
from hack.upstream import nodes
from intent import Object
from intent.annotations import STRATEGIES
from intent.inferenceservice.crd import EMBEDDED, crd
from intent.inferenceservice.v1alpha1 import ENGINE_FIELDS, ROUTER_FIELDS, Role, Strategy
from intent.inferencetemplate import crd as template_crd
from intent.names import is_key_of_data, is_label, is_subdomain
from tests.builders.bounds import fields
from tests.hostile.names import IMPOSSIBLE

NOT_STRUCTURAL: Final = {"$ref", "$defs", "anyOf", "allOf", "title", "default", "const", "deprecated"}
"""Keywords that a structural schema must not have, and defaults."""


def whole() -> Object:
    (version,) = crd()["spec"]["versions"]
    schema: Object = version["schema"]["openAPIV3Schema"]
    return schema


def role() -> Object:
    found: Object = whole()["properties"]["spec"]["properties"]["roles"]["items"]
    return found


@pytest.mark.parametrize("definition", [crd, template_crd.crd])
def test_the_schema_is_structural(definition: Callable[[], Object]) -> None:
    (version,) = definition()["spec"]["versions"]
    for _, node in nodes(version["schema"]["openAPIV3Schema"]):
        assert ("type" in node) != ("x-kubernetes-int-or-string" in node)
        assert not NOT_STRUCTURAL & node.keys()


def test_no_field_keeps_what_its_schema_does_not_know() -> None:
    assert not any("x-kubernetes-preserve-unknown-fields" in node for _, node in nodes(whole()))


@pytest.mark.parametrize("field", EMBEDDED)
def test_a_spec_of_another_api_has_the_schema_of_upstream_and_names_its_version(field: str) -> None:
    node = role()["properties"][field]
    known = schemas()[EMBEDDED[field]]

    assert {key: one for key, one in node.items() if key != "description"} == known.root
    assert node["description"].endswith(f"As in {known.source}.")


@pytest.mark.parametrize(("definition", "most"), [(crd, 192), (template_crd.crd, 100)])
def test_the_definition_may_be_applied_by_any_client(definition: Callable[[], Object], most: int) -> None:
    """`kubectl apply` without `--server-side` copies it into an annotation of at most 256 KiB."""
    assert len(json.dumps(definition())) < most * 1024


def test_every_field_of_ours_has_a_description() -> None:
    ours = whole()
    of_role = ours["properties"]["spec"]["properties"]["roles"]["items"]["properties"]
    for field in EMBEDDED:
        of_role[field] = {key: one for key, one in of_role[field].items() if key != "properties"}
    fields = [(name, field) for _, node in nodes(ours) for name, field in node.get("properties", {}).items()]

    assert [name for name, field in fields if "description" not in field] == [
        "apiVersion",
        "kind",
        "metadata",
    ]


def test_every_field_of_a_role_is_common_or_of_one_component_type() -> None:
    known = {field.alias or name for name, field in Role.model_fields.items()}

    assert known == {"name", "componentType", "template", *ENGINE_FIELDS, *ROUTER_FIELDS}


def test_the_strategies_are_those_of_the_annotation() -> None:
    assert get_args(Strategy) == STRATEGIES


OF_NO_OBJECT: Final = {"model.name": "served to clients", "lora.adapters.0.name": "served to clients"}
"""Names of something else than an object."""


def test_every_name_of_an_object_has_a_pattern_that_the_readers_of_names_agree_with() -> None:
    """Where no webhook is asked, the API server refuses it; a stored one stays writable (KEP-4008)."""
    spec = whole()["properties"]["spec"]
    named = {
        ".".join(map(str, place)): node
        for place, node in fields(spec)
        if not EMBEDDED.keys() & set(map(str, place))
        and (place[-1] in {"name", "key", "secretName"} or "baseRefs" in place[-2:-1])
    }
    assert len(named) == 10
    for where, node in named.items():
        if where in OF_NO_OBJECT:
            continue
        matches = re.compile(node["pattern"].replace("$", "\\Z")).search  # Go's $ ends the text
        for name in (*IMPOSSIBLE, "a", "a.b", "0-a.b-c", "A_b", ".x", "..x"):
            known = (
                is_key_of_data
                if where.endswith("key")
                else is_label
                if "roles.0.name" in where
                else is_subdomain
            )
            fits = len(name) <= node["maxLength"] and bool(matches(name))
            assert fits is (known(name) or (not name and where.endswith("secretName"))), (where, name)
