"""The values of the chart: one table, from which values.yaml, its schema and its documentation are generated.

A default that the base has too is read from there.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import yaml

from fusioninfer.settings import SettingsFile
from intent import Object
from tests.manifests.objects import at, container, find, parsed

TITLES: Final = frozenset({"title", "description", "default"})
"""Keys of a schema that do not restrict values."""


@dataclass(frozen=True, slots=True)
class Value:
    """One value: its path, default, schema and meaning."""

    path: str
    default: Any
    schema: Object
    meaning: str


def _settings_schema() -> Object:
    """Return the schema of the settings file, without titles."""
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
    # The API server rejects the two together, since they would report the same twice.
    "not": {"allOf": [{"contains": {"const": "Deny"}}, {"contains": {"const": "Warn"}}]},
}
_PORTS: Final[Object] = {
    "type": "array",
    "minItems": 1,
    "items": {"type": "integer", "minimum": 1, "maximum": 65535},
}
_BINDING: Final = find("ValidatingAdmissionPolicyBinding", "backstop.fusioninfer.io")
_SYNC: Final = parsed(container("fusioninfer-sync")["args"])
_API_PORTS: Final = at(find("NetworkPolicy", "fusioninfer-sync"), ("spec", "egress", 0, "ports"))

VALUES: Final = (
    Value("image.repository", "fusioninfer", _TEXT, "the image, as pushed to your registry"),
    Value("image.tag", "", _TEXT, "a tag, or `tag@sha256:...`; empty: the version of the chart"),
    Value(
        "image.pullPolicy",
        "",
        {"enum": ["", "Always", "IfNotPresent", "Never"]},
        "empty: the default of Kubernetes",
    ),
    Value("imagePullSecrets", [], _OBJECTS, "pull Secrets for the registry"),
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
        "replicas of the controller; one leads",
    ),
    Value(
        "sync.resources", container("fusioninfer-sync")["resources"], _OBJECT, "resources of its container"
    ),
    Value("sync.observeOnly", False, _SWITCH, "whether it writes nothing, and reports what it would write"),
    Value(
        "sync.gangsOnly",
        False,
        _SWITCH,
        "whether it makes neither routes nor Services, and has no permissions on their kinds",
    ),
    Value(
        "sync.namespaces",
        [],
        {"type": "array", "items": {"type": "string", "minLength": 1}},
        "the namespaces that it watches, and in which alone it has permissions; empty: all",
    ),
    Value(
        "sync.workers",
        _SYNC["workers"],
        {"type": "integer", "minimum": 1},
        "the number of services that are reconciled at once",
    ),
    Value(
        "sync.qps",
        int(_SYNC["qps"]),
        {"type": "number", "minimum": 0},
        "the maximum number of requests a second to the API server, without lists, watches and the Lease; "
        "0 is no limit",
    ),
    Value(
        "sync.logLevel",
        _SYNC["log_level"],
        {"enum": ["debug", "info", "warning", "error"]},
        "the lowest level of the log lines that are written",
    ),
    Value(
        "userRoles.aggregate",
        True,
        _SWITCH,
        "whether the ClusterRoles view, edit and admin of Kubernetes include InferenceServices",
    ),
    Value("priorityClassName", "", _TEXT, "of all pods"),
    Value("nodeSelector", {}, _OBJECT, "of all pods"),
    Value("tolerations", [], _OBJECTS, "of all pods"),
    Value("settings", {}, _settings_schema(), "the settings file (`manifests/base/settings.yaml`)"),
    Value(
        "files",
        {},
        {"type": "object", "additionalProperties": _TEXT},
        "files beside the settings file, by name: what `settings.engines` refers to",
    ),
    Value(
        "certificates.mode",
        "cert-manager",
        {"enum": ["cert-manager", "self-signed", "provided"]},
        "`cert-manager`; `self-signed`: the controller issues them; "
        "`provided`: your own Secret `fusioninfer-webhook-tls` and `caBundle`",
    ),
    Value("certificates.caBundle", "", _TEXT, "the CA bundle (PEM, base64) for the mode `provided`"),
    Value("networkPolicy.enabled", True, _SWITCH, "whether to create NetworkPolicies"),
    Value(
        "networkPolicy.apiServerPorts",
        [each["port"] for each in _API_PORTS],
        _PORTS,
        "ports of the API server",
    ),
    Value(
        "backstop.actions",
        _BINDING["spec"]["validationActions"],
        _ACTIONS,
        "actions for objects that opt in and are not expanded",
    ),
    Value(
        "monitoring.enabled",
        False,
        _SWITCH,
        "whether to create a ServiceMonitor, alerts and a dashboard; needs the Prometheus operator",
    ),
)


def values_yaml(start: str) -> str:
    """Render values.yaml, with the meaning of each value in a comment."""
    lines = [start]
    written: tuple[str, ...] = ()
    for value in VALUES:
        *parents, name = value.path.split(".")
        lines += _parents(tuple(parents), written)
        written = tuple(parents)
        indent = "  " * len(parents)
        lines.append(f"{indent}# {value.meaning}\n{indent}{name}: {json.dumps(value.default)}\n")
    return "".join(lines)


def _parents(parents: tuple[str, ...], written: tuple[str, ...]) -> Iterator[str]:
    if parents != written:
        yield from (f"{name}:\n" for name in parents)


def schema() -> Object:
    """Return the JSON schema of the values."""
    whole = _closed()
    for value in VALUES:
        *parents, name = value.path.split(".")
        place = whole
        for parent in parents:
            place = place["properties"].setdefault(parent, _closed())
        place["properties"][name] = value.schema
    # Helm sets `global` if the chart is a subchart.
    whole["properties"]["global"] = _OBJECT
    return {"$schema": "https://json-schema.org/draft-07/schema#", **whole}


def _closed() -> Object:
    return {"type": "object", "additionalProperties": False, "properties": {}}


def table() -> list[dict[str, str]]:
    """Return the rows of the documentation's table of values."""
    return [
        {"value": f"`{one.path}`", "default": f"`{_short(one.default)}`", "what it is": one.meaning}
        for one in VALUES
    ]


def _short(default: Any) -> str:
    return yaml.safe_dump(default, default_flow_style=True, width=1000).removesuffix("...\n").strip()
