"""What may be set in the chart: one table, from which values.yaml, its schema and its documentation are made.

A default that the base has too is read from there.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import yaml

from fusioninfer.settings import SettingsFile
from intent import Object
from tests.manifests.objects import at, container, find

TITLES: Final = frozenset({"title", "description", "default"})
"""What a model's schema says beside what it asks."""


@dataclass(frozen=True, slots=True)
class Value:
    """One row: where it stands, its default, what it may be, and what it is for."""

    path: str
    default: Any
    schema: Object
    meaning: str


def _settings_schema() -> Object:
    """Give the schema of the settings file: the model's, without its titles."""
    made = SettingsFile.model_json_schema()
    fields = {
        name: {key: value for key, value in field.items() if key not in TITLES}
        for name, field in made["properties"].items()
    }
    return {"type": "object", "additionalProperties": False, "properties": fields}


_TEXT: Final[Object] = {"type": "string"}
_SWITCH: Final[Object] = {"type": "boolean"}
_OBJECT: Final[Object] = {"type": "object"}
_OBJECTS: Final[Object] = {"type": "array", "items": {"type": "object"}}
_COUNT: Final[Object] = {"type": "integer", "minimum": 0}
_ACTIONS: Final[Object] = {
    "type": "array",
    "minItems": 1,
    "uniqueItems": True,
    "items": {"enum": ["Deny", "Warn", "Audit"]},
    # The API server refuses the two together: they would say the same twice.
    "not": {"allOf": [{"contains": {"const": "Deny"}}, {"contains": {"const": "Warn"}}]},
}
_PORTS: Final[Object] = {
    "type": "array",
    "minItems": 1,
    "items": {"type": "integer", "minimum": 1, "maximum": 65535},
}
_BINDING: Final = find("ValidatingAdmissionPolicyBinding", "backstop.fusioninfer.io")
_API_PORTS: Final = at(find("NetworkPolicy", "fusioninfer-sync"), ("spec", "egress", 0, "ports"))

VALUES: Final = (
    Value("image.repository", "fusioninfer", _TEXT, "where you pushed the image"),
    Value("image.tag", "", _TEXT, "tag, or `tag@sha256:...`; empty: the version of the chart"),
    Value(
        "image.pullPolicy",
        "",
        {"enum": ["", "Always", "IfNotPresent", "Never"]},
        "empty: Kubernetes' own default",
    ),
    Value("imagePullSecrets", [], _OBJECTS, "Secrets for the registry"),
    Value(
        "webhook.replicas",
        at(find("Deployment", "fusioninfer-webhook"), ("spec", "replicas")),
        _COUNT,
        "replicas of the webhook",
    ),
    Value(
        "webhook.resources",
        container("fusioninfer-webhook")["resources"],
        _OBJECT,
        "resources of its container",
    ),
    Value(
        "sync.replicas",
        at(find("Deployment", "fusioninfer-sync"), ("spec", "replicas")),
        _COUNT,
        "replicas of the loop; one works at a time",
    ),
    Value(
        "sync.resources", container("fusioninfer-sync")["resources"], _OBJECT, "resources of its container"
    ),
    Value("sync.observeOnly", False, _SWITCH, "whether it writes nothing, and says what it would write"),
    Value("priorityClassName", "", _TEXT, "of all pods"),
    Value("nodeSelector", {}, _OBJECT, "of all pods"),
    Value("tolerations", [], _OBJECTS, "of all pods"),
    Value("settings", {}, _settings_schema(), "the settings file (`manifests/base/settings.yaml`)"),
    Value(
        "files",
        {},
        {"type": "object", "additionalProperties": _TEXT},
        "texts that lie beside it, by file name: what `settings.engines` names",
    ),
    Value(
        "certificates.mode",
        "cert-manager",
        {"enum": ["cert-manager", "self-signed", "provided"]},
        "`cert-manager`; `self-signed`: the loop keeps them; "
        "`provided`: a Secret `fusioninfer-webhook-tls` and a `caBundle` of your own",
    ),
    Value(
        "certificates.caBundle", "", _TEXT, "base64 of the PEM that trusts the certificate, where `provided`"
    ),
    Value("networkPolicy.enabled", True, _SWITCH, "whether NetworkPolicies are made"),
    Value(
        "networkPolicy.apiServerPorts",
        [each["port"] for each in _API_PORTS],
        _PORTS,
        "where the API server listens",
    ),
    Value(
        "backstop.actions",
        _BINDING["spec"]["validationActions"],
        _ACTIONS,
        "what becomes of objects that opt in and are not expanded",
    ),
    Value(
        "monitoring.enabled",
        False,
        _SWITCH,
        "whether a ServiceMonitor, alerts and a dashboard are made; needs the Prometheus operator",
    ),
)


def values_yaml(start: str) -> str:
    """Write values.yaml: each value below what it means."""
    lines = [start]
    said: tuple[str, ...] = ()
    for value in VALUES:
        *parents, name = value.path.split(".")
        lines += _parents(tuple(parents), said)
        said = tuple(parents)
        indent = "  " * len(parents)
        lines.append(f"{indent}# {value.meaning}\n{indent}{name}: {json.dumps(value.default)}\n")
    return "".join(lines)


def _parents(wanted: tuple[str, ...], said: tuple[str, ...]) -> Iterator[str]:
    if wanted != said:
        yield from (f"{name}:\n" for name in wanted)


def schema() -> Object:
    """Give the JSON schema of the values."""
    whole = _closed()
    for value in VALUES:
        *parents, name = value.path.split(".")
        place = whole
        for parent in parents:
            place = place["properties"].setdefault(parent, _closed())
        place["properties"][name] = value.schema
    # Helm puts `global` there for whoever uses the chart as a part of another.
    whole["properties"]["global"] = _OBJECT
    return {"$schema": "https://json-schema.org/draft-07/schema#", **whole}


def _closed() -> Object:
    return {"type": "object", "additionalProperties": False, "properties": {}}


def table() -> list[dict[str, str]]:
    """Give the table of values of the documentation."""
    return [
        {"value": f"`{one.path}`", "default": f"`{_short(one.default)}`", "what it is": one.meaning}
        for one in VALUES
    ]


def _short(default: Any) -> str:
    return yaml.safe_dump(default, default_flow_style=True, width=1000).removesuffix("...\n").strip()
