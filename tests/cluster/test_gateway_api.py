"""What is said of routes and gateways at admission is what the API server would say.

The schema is held against the CRDs of both channels; specs, good and broken, against a real API server.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from intent import Object
from intent.gateway_api.types import GATEWAY_SPEC, HTTP_ROUTE_SPEC
from tests.cluster.testbed.api import APPLY_PATCH, ApiError, call, path
from tests.cluster.testbed.cluster import Cluster
from tests.gateway_api import BROKEN_GATEWAYS, BROKEN_ROUTES, GOOD_GATEWAYS, GOOD_ROUTES

API_VERSION: Final = "gateway.networking.k8s.io/v1"
SPECS: Final = {"httproutes": HTTP_ROUTE_SPEC, "gateways": GATEWAY_SPEC}
KINDS: Final = {"httproutes": "HTTPRoute", "gateways": "Gateway"}
GOOD: Final = {"httproutes": GOOD_ROUTES, "gateways": GOOD_GATEWAYS}
BROKEN: Final = {"httproutes": BROKEN_ROUTES, "gateways": BROKEN_GATEWAYS}
OTHERS: Final = frozenset(
    {
        *("description", "default", "format", "oneOf", "checks"),
        *("x-kubernetes-validations", "x-kubernetes-map-type"),
    }
)
"""Words of a schema that say nothing, or what stands in `rules` here."""
OPEN: Final = ("atomic", "map")
"""Types of lists that say no more than their keys do."""


# --- the schema -------------------------------------------------------------------------------------


@pytest.mark.parametrize("resource", SPECS)
def test_the_schema_is_that_of_the_experimental_channel(
    route_definitions: tuple[str, ...], resource: str
) -> None:
    assert shape(SPECS[resource]) == shape(definition(route_definitions, "experimental", resource))


@pytest.mark.parametrize("resource", SPECS)
def test_the_standard_channel_is_a_part_of_it(route_definitions: tuple[str, ...], resource: str) -> None:
    ours = dict(leaves(shape(SPECS[resource])))
    theirs = dict(leaves(shape(definition(route_definitions, "standard", resource))))

    other = {where: value for where, value in theirs.items() if ours.get(where) != value}

    assert all(where.endswith(".type.enum") and value <= ours[where] for where, value in other.items())


def definition(definitions: tuple[str, ...], channel: str, resource: str) -> Object:
    """Return the schema of the spec that a channel installs."""
    file = Path(definitions[0]).parent / channel / f"gateway.networking.k8s.io_{resource}.yaml"
    versions = yaml.safe_load(file.read_text())["spec"]["versions"]
    (found,) = (each for each in versions if each["name"] == "v1")
    spec: Object = found["schema"]["openAPIV3Schema"]["properties"]["spec"]
    return spec


def shape(schema: Object) -> Object:
    """Return what a schema says of shapes, in one way of saying it."""
    found = {key: each for key, each in schema.items() if key not in OTHERS and each != 0}
    if found.get("x-kubernetes-list-type") in OPEN:
        del found["x-kubernetes-list-type"]
    for key in ("required", "enum"):
        if key in found:
            found[key] = frozenset(found[key])
    if "properties" in found:
        found["properties"] = {name: shape(each) for name, each in found["properties"].items()}
    for key in ("items", "additionalProperties"):
        if key in found:
            found[key] = shape(found[key])
    return found | {key: 0 for key in ("minimum",) if schema.get(key) == 0}


def leaves(value: Any, where: str = "") -> Iterator[tuple[str, Any]]:
    """Return every word with its path."""
    if not isinstance(value, dict):
        yield where, value
        return
    for key, each in value.items():
        yield from leaves(each, f"{where}.{key}")


# --- the API server ---------------------------------------------------------------------------------

CASES_GOOD: Final = [(resource, name) for resource, cases in GOOD.items() for name in cases]
CASES_BROKEN: Final = [(resource, name) for resource, cases in BROKEN.items() for name in cases]


@pytest.mark.parametrize(("resource", "name"), CASES_GOOD)
def test_accepted_configurations_are_accepted_by_the_endpoint_picker(
    routed: Cluster, resource: str, name: str
) -> None:
    applied = tried(routed, resource, GOOD[resource][name])

    assert applied["kind"] == KINDS[resource]


@pytest.mark.parametrize(("resource", "name"), CASES_BROKEN)
def test_rejected_configurations_are_rejected_by_the_endpoint_picker(
    routed: Cluster, resource: str, name: str
) -> None:
    spec, _ = BROKEN[resource][name]

    with pytest.raises(ApiError):
        tried(routed, resource, spec)


def tried(cluster: Cluster, resource: str, spec: Object) -> Object:
    """Apply a spec server-side, as the controller does, without storing it."""
    metadata = {"name": "tried", "namespace": "default"}
    body = {"apiVersion": API_VERSION, "kind": KINDS[resource], "metadata": metadata, "spec": spec}
    target = f"{path(resource, 'default', 'tried')}?fieldManager=tests&force=true&dryRun=All"
    return call(cluster.api, "PATCH", target, body, APPLY_PATCH)
