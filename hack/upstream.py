"""Generation of `catalog/schemas.json` from upstream's Go modules: their definitions, and OpenAPI documents.

Left out, besides descriptions:

- Defaults: the API server would store them in the author's object.
- What needs these defaults: CEL rules, `oneOf`, required fields with a default, and keys of lists that are
  absent unless defaulted. A list with such a key becomes atomic. Kubernetes' own types have empty defaults
  (`""`, `0`, `{}`), which change nothing: such a field stays required.
- How lists of Kubernetes' own types are patched.
- `anyOf` of integer and string, which `x-kubernetes-int-or-string` says already.
- That a path of an Ingress requires a backend: one without leads to the service's own Service.

Narrowed: the pattern of quantities (`intent.shapes`).

A schema that is part of another one stands in the file once.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from catalog.schemas import (
    AUTOSCALER,
    DISAGGREGATED_SET,
    GATEWAY,
    HTTP_ROUTE,
    INGRESS,
    LEADER_WORKER_SET,
    OBJECT_META,
    POD_TEMPLATE,
    REF,
    ROLLOUT,
)
from intent import Object, shapes

RULES: Final = "x-kubernetes-validations"
LIST_TYPE: Final = "x-kubernetes-list-type"
LIST_KEYS: Final = "x-kubernetes-list-map-keys"
PATCHES: Final = ("x-kubernetes-patch-merge-key", "x-kubernetes-patch-strategy")
LEFT_OUT: Final = frozenset({"description", "default", "anyOf", "oneOf", RULES, *PATCHES})
WIDTH: Final = 110


PRESERVED: Final = "x-kubernetes-preserve-unknown-fields"
QUANTITY: Final = "io.k8s.apimachinery.pkg.api.resource.Quantity"
ANY_QUANTITY: Final = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
OPAQUE: Final[dict[str, Object]] = {
    QUANTITY: {
        "pattern": ANY_QUANTITY,
        "x-kubernetes-int-or-string": True,
    },
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1": {"type": "object", PRESERVED: True},
}
"""Types with a JSON form of their own, as controller-gen writes them
(`sigs.k8s.io/controller-tools` `pkg/crd/known_types.go`)."""


class Origin(NamedTuple):
    """Where upstream defines a type: the folder of the testbed's go.mod, the module, file, and fields."""

    component: str
    module: str
    file: str
    fields: tuple[str, ...]
    """Of an OpenAPI document, the name of the type."""
    without: tuple[str, ...] = ()
    """Fields that are left out."""
    optional: tuple[str, ...] = ()
    """Fields that are not required at any depth."""


_BASES: Final = "config/crd/bases/"
_LWS: Final = f"{_BASES}leaderworkerset.x-k8s.io_leaderworkersets.yaml"
_GATEWAY_API: Final = "config/crd/experimental/gateway.networking.k8s.io_"
ORIGINS: Final = {
    POD_TEMPLATE: Origin(
        *("lws", "sigs.k8s.io/lws", _LWS), ("spec", "leaderWorkerTemplate", "workerTemplate")
    ),
    HTTP_ROUTE: Origin(
        *("gateway-api", "sigs.k8s.io/gateway-api", f"{_GATEWAY_API}httproutes.yaml"), ("spec",)
    ),
    GATEWAY: Origin(*("gateway-api", "sigs.k8s.io/gateway-api", f"{_GATEWAY_API}gateways.yaml"), ("spec",)),
    AUTOSCALER: Origin(
        *("kubernetes", "k8s.io/kubernetes", "api/openapi-spec/v3/apis__autoscaling__v2_openapi.json"),
        ("io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerSpec",),
        without=("scaleTargetRef",),
    ),
    ROLLOUT: Origin(*("lws", "sigs.k8s.io/lws", _LWS), ("spec", "rolloutStrategy")),
    LEADER_WORKER_SET: Origin("lws", "sigs.k8s.io/lws", _LWS, ("spec",)),
    DISAGGREGATED_SET: Origin(
        *("lws", "sigs.k8s.io/lws", f"{_BASES}disaggregatedset.x-k8s.io_disaggregatedsets.yaml"), ("spec",)
    ),
    OBJECT_META: Origin(
        *("kubernetes", "k8s.io/kubernetes", "api/openapi-spec/v3/apis__autoscaling__v2_openapi.json"),
        ("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",),
    ),
    INGRESS: Origin(
        *("kubernetes", "k8s.io/kubernetes", "api/openapi-spec/v3/apis__networking.k8s.io__v1_openapi.json"),
        ("io.k8s.api.networking.v1.IngressSpec",),
        optional=("backend",),
    ),
}
"""The experimental channel of the Gateway API includes the standard one."""


def generated(source: Callable[[str, str], Path], version: Callable[[str, str], str]) -> str:
    """Return the text of the file.

    `source` finds a file of a component's module, `version` the version of the module.
    """
    roots = {
        name: structural(_original(origin, source(origin.component, origin.file)))
        for name, origin in ORIGINS.items()
    }
    found = {
        name: {
            "source": f"{origin.module} {version(origin.component, origin.module)}",
            "schema": shared(roots[name], {key: one for key, one in roots.items() if key != name}),
        }
        for name, origin in ORIGINS.items()
    }
    return laid_out(found) + "\n"


def shared(node: Object, roots: dict[str, Object]) -> Object:
    """Return a schema with references in the places of other ones."""
    for name, root in roots.items():
        if node == root:
            return {REF: name}
    inner = [key for key in ("items", "additionalProperties") if key in node]
    below: Object = {key: shared(node[key], roots) for key in inner}
    fields = {name: shared(one, roots) for name, one in node.get("properties", {}).items()}
    return {**node, **below, **({"properties": fields} if fields else {})}


def _original(origin: Origin, file: Path) -> Object:
    node = published(file, *origin.fields) if file.suffix == ".json" else defined(file, origin.fields)
    found: Object = unrequired(without(node, origin.without), origin.optional)
    return found


def without(node: Object, fields: tuple[str, ...]) -> Object:
    """Return the schema of an object without fields."""
    kept = {name: one for name, one in node["properties"].items() if name not in fields}
    required = [name for name in node.get("required", ()) if name not in fields]
    return node | {"properties": kept, "required": required}


def unrequired(node: Any, fields: tuple[str, ...]) -> Any:
    """Return a schema that requires none of these fields."""
    if not isinstance(node, dict):
        return node
    kept = {key: unrequired(one, fields) for key, one in node.items()}
    names = node.get("required")
    return (
        kept | {"required": [one for one in names if one not in fields]} if isinstance(names, list) else kept
    )


def published(file: Path, name: str) -> Object:
    """Return the schema of a type in an OpenAPI document of the API server, with references resolved."""
    known = json.loads(file.read_text(encoding="utf-8"))["components"]["schemas"]
    return resolved({"$ref": f"#/components/schemas/{name}"}, known)


def resolved(node: Object, known: dict[str, Object]) -> Object:
    """Resolve references; beside one there are only a description and a default."""
    (node,) = node.get("allOf", [node])
    if "$ref" in node:
        name = node["$ref"].rpartition("/")[2]
        return OPAQUE.get(name) or resolved(known[name], known)
    below: Object = {
        key: resolved(node[key], known) for key in ("items", "additionalProperties") if key in node
    }
    fields = {name: resolved(one, known) for name, one in node.get("properties", {}).items()}
    return {**node, **below, **({"properties": fields} if fields else {})}


def defined(file: Path, fields: tuple[str, ...]) -> Object:
    """Return the schema of a field in version v1 of a CustomResourceDefinition."""
    versions = yaml.load(file.read_text(encoding="utf-8"), yaml.CSafeLoader)["spec"]["versions"]
    (found,) = (each for each in versions if each["name"] == "v1")
    node: Object = found["schema"]["openAPIV3Schema"]
    for field in fields:
        node = node["properties"][field]
    return node


def structural(node: Object) -> Object:
    """Return a schema without what is left out."""
    kept = {key: one for key, one in node.items() if key not in LEFT_OUT}
    if kept.get("pattern") == ANY_QUANTITY:
        kept["pattern"] = shapes.QUANTITY
    if any("default" in node["items"]["properties"][key] for key in node.get(LIST_KEYS, ())):
        del kept[LIST_KEYS]
        kept[LIST_TYPE] = "atomic"
    for key in ("items", "additionalProperties"):
        if isinstance(kept.get(key), dict):
            kept[key] = structural(kept[key])
    if "properties" in kept:
        kept["properties"] = {name: structural(one) for name, one in kept["properties"].items()}
    if required := [name for name in kept.pop("required", ()) if not node["properties"][name].get("default")]:
        kept["required"] = required
    return kept


def nodes(node: Object, path: str = "") -> Iterator[tuple[str, Object]]:
    """Yield a schema and all nested ones, each with its path: `.rules[].filters[].type`."""
    yield path, node
    for name, one in node.get("properties", {}).items():
        yield from nodes(one, f"{path}.{name}")
    for key in ("items", "additionalProperties"):
        if isinstance(node.get(key), dict):
            yield from nodes(node[key], f"{path}[]")


def laid_out(value: Any, indent: int = 0) -> str:
    """Write JSON with sorted keys: in one line what fits into it, anything else with one line per key."""
    line = json.dumps(value, sort_keys=True, ensure_ascii=False)
    if not isinstance(value, dict) or len(line) + indent <= WIDTH:
        return line
    start = " " * (indent + 1)
    rows = (f"{start}{json.dumps(key)}: {laid_out(value[key], indent + 1)}" for key in sorted(value))
    return "{\n" + ",\n".join(rows) + "\n" + " " * indent + "}"
