"""The rules of Kubernetes about the spec of a HorizontalPodAutoscaler, for values of the right types.

The API server applies them when the autoscaler is created, and the schema has none of them.

Source: `k8s.io/kubernetes` v1.35.4 `pkg/apis/autoscaling/validation`.
"""

from typing import Any, Final

from intent import Object, quantity
from intent.names import is_label, is_label_key, is_path_segment
from intent.schema import FieldCheck, Rules
from intent.shapes import listed, mapping

SOURCES: Final = {
    "Resource": "resource",
    "ContainerResource": "containerResource",
    "Pods": "pods",
    "Object": "object",
    "External": "external",
}
"""Types of metrics, each with the only field that it must have."""
FROM_ZERO: Final = ("Object", "External")
"""Types of metrics that have a value while no pod runs."""
TARGETS: Final = ("Utilization", "Value", "AverageValue")
POLICIES: Final = ("Pods", "Percent")
SELECTIONS: Final = ("Max", "Min", "Disabled")
LONGEST_PERIOD: Final = 1800
LONGEST_WINDOW: Final = 3600
"""Seconds."""
RESOURCES: Final = ("cpu", "memory", "ephemeral-storage")
"""Resources of containers whose names have no domain; besides those that begin with `hugepages-`."""


def _one_of(field: str, known: tuple[str, ...]) -> FieldCheck:
    """Return the check of a text field."""
    message = f"{field} must be one of {', '.join(known)}"
    return lambda value: message if value.get(field, known[0]) not in known else ""


def _between(field: str, least: int, most: int) -> FieldCheck:
    """Return the check of a number; an absent one is accepted."""
    message = f"{field} must be from {least} to {most}"
    return lambda value: "" if least <= value.get(field, least) <= most else message


def _at_least(field: str, least: int) -> FieldCheck:
    """Return the check of a number without an upper limit; an absent one is accepted."""
    return lambda value: "" if value.get(field, least) >= least else f"{field} must be at least {least}"


# --- the whole ----------------------------------------------------------------------------------------


def _limits(spec: Object) -> str:
    if spec.get("minReplicas", 1) > spec["maxReplicas"]:
        return "maxReplicas must be at least minReplicas, which is 1 by default"
    return ""


def _zero(spec: Object) -> str:
    """Require for zero replicas a metric that has a value without pods."""
    kinds = {mapping(one).get("type") for one in listed(spec.get("metrics"))}
    if spec.get("minReplicas") == 0 and not kinds & set(FROM_ZERO):
        return "minReplicas must be at least 1 without a metric of type External or Object"
    return ""


# --- metrics ------------------------------------------------------------------------------------------


def _source(metric: Object) -> str:
    """Require the field of the metric's type, and no other one."""
    wanted = SOURCES.get(metric["type"])
    if wanted is None:
        return f"type must be one of {', '.join(SOURCES)}"
    if wanted not in metric:
        return f"{wanted} is required where type is {metric['type']}"
    others = [field for field in SOURCES.values() if field != wanted and field in metric]
    return f"{others[0]} must be absent where type is {metric['type']}" if others else ""


def _exactly_one(*fields: str) -> FieldCheck:
    message = f"must have exactly one of {' and '.join(fields)}"
    return lambda target: "" if sum(field in target for field in fields) == 1 else message


def _one_or_more(*fields: str) -> FieldCheck:
    message = f"must have {' or '.join(fields)}"
    return lambda target: "" if any(field in target for field in fields) else message


def _positive(field: str) -> FieldCheck:
    """Return the check of a quantity; an absent one is accepted."""
    return lambda target: f"{field} must be more than 0" if _amount(target, field, 1) <= 0 else ""


def _amount(value: Object, field: str, otherwise: int) -> Any:
    found = quantity.parse(value.get(field, otherwise))
    return otherwise if found is None else found


def _segment(field: str) -> FieldCheck:
    """Return the check of a name that becomes part of a URL."""

    def check(value: Object) -> str:
        return "" if is_path_segment(value[field]) else f"{field} must be a name, without / and %"

    return check


def _named(field: str) -> FieldCheck:
    return lambda value: "" if value[field] else f"{field} must not be empty"


def _resource(source: Object) -> str:
    """Require a resource of containers (`pkg/apis/core/validation`: `validateContainerResourceName`)."""
    name = source["name"]
    is_extended = "/" in name and not name.startswith("requests.") and is_label_key(f"requests.{name}")
    known = name in RESOURCES or name.startswith("hugepages-") or "kubernetes.io/" in name or is_extended
    fits = known and is_label_key(name)
    return "" if fits else f"name must be {', '.join(RESOURCES)}, hugepages-SIZE or DOMAIN/NAME"


def _container(source: Object) -> str:
    return "" if is_label(source["container"]) else "container must be the name of a container"


_TARGET: Final[tuple[FieldCheck, ...]] = (
    _one_of("type", TARGETS),
    _positive("value"),
    _positive("averageValue"),
    _at_least("averageUtilization", 1),
)


def _of_source(field: str, target: FieldCheck, *checks: FieldCheck) -> dict[str, tuple[FieldCheck, ...]]:
    """Return the rules about a source of metrics, and about its target."""
    path = f".metrics[].{field}"
    return {path: checks, f"{path}.target": (*_TARGET, target)}


# --- behaviour ----------------------------------------------------------------------------------------


def _has_policies(rules: Object) -> str:
    return "policies must not be empty; leave it out for the default" if rules.get("policies") == [] else ""


def _tolerance(rules: Object) -> str:
    return "tolerance must be at least 0" if _amount(rules, "tolerance", 0) < 0 else ""


def _of_direction(field: str) -> dict[str, tuple[FieldCheck, ...]]:
    """Return the rules about scaling in one direction."""
    path = f".behavior.{field}"
    return {
        path: (
            _between("stabilizationWindowSeconds", 0, LONGEST_WINDOW),
            _one_of("selectPolicy", SELECTIONS),
            _has_policies,
            _tolerance,
        ),
        f"{path}.policies[]": (
            _one_of("type", POLICIES),
            _at_least("value", 1),
            _between("periodSeconds", 1, LONGEST_PERIOD),
        ),
    }


OF_AUTOSCALER: Final[Rules] = {
    "": (_at_least("minReplicas", 0), _at_least("maxReplicas", 1), _limits, _zero),
    ".metrics[]": (_source,),
    ".metrics[].external.metric": (_segment("name"),),
    ".metrics[].object.metric": (_segment("name"),),
    ".metrics[].object.describedObject": (_segment("kind"), _segment("name")),
    ".metrics[].pods.metric": (_segment("name"),),
    **_of_source("external", _exactly_one("value", "averageValue")),
    **_of_source("object", _one_or_more("value", "averageValue")),
    **_of_source("pods", _one_or_more("averageValue")),
    **_of_source("resource", _exactly_one("averageUtilization", "averageValue"), _named("name")),
    **_of_source(
        "containerResource", _exactly_one("averageUtilization", "averageValue"), _resource, _container
    ),
    **_of_direction("scaleUp"),
    **_of_direction("scaleDown"),
}
"""The rules about the spec, by path."""
