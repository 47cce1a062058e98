"""Tables of the controller's metrics, and of rights."""

from collections.abc import Mapping
from typing import Final

from hack.manifests.objects import objects
from hack.markdown import table
from intent import Object
from sync.metrics import ControllerMetrics

AGGREGATE: Final = "rbac.authorization.k8s.io/aggregate-to-"


def metrics() -> Mapping[str, str]:
    """Return the table of metrics."""
    return {"metrics": table(_metrics())}


def _metrics() -> list[dict[str, str]]:
    made = ControllerMetrics()
    fields = [metric for name, metric in vars(made).items() if name != "registry"]
    return [
        {
            "metric": f"`{family.name}{'_total' if family.type == 'counter' else ''}`",
            "type": family.type,
            "labels": ", ".join(
                f"`{label}`" for label in vars(metric)["_labelnames"]
            ),  # shown in no other way
            "meaning": family.documentation,
        }
        for metric in fields
        for family in metric.describe()
    ]


def security() -> Mapping[str, str]:
    """Return the tables of the controller's rights, and of those that roles of Kubernetes get."""
    rights = [_right(role, rule) for role in _roles(aggregated=False) for rule in role["rules"]]
    users = [
        {
            "role": ", ".join(_aggregated(role)),
            "resources": ", ".join(rule["resources"]),
            "verbs": ", ".join(rule["verbs"]),
        }
        for role in _roles(aggregated=True)
        for rule in role["rules"]
    ]
    return {"rights": table(rights), "users": table(users)}


def _roles(*, aggregated: bool) -> list[Object]:
    """Return the roles of users, or those of the controller."""
    found = [each for each in objects("base") if "rules" in each]
    bound = {each["roleRef"]["name"] for each in objects("base") if "roleRef" in each}
    return [
        each for each in found if (_aggregated(each) if aggregated else each["metadata"]["name"] in bound)
    ]


def _aggregated(role: Object) -> list[str]:
    """Return the roles of Kubernetes to which one is added."""
    labels = role["metadata"]["labels"]
    return [name.removeprefix(AGGREGATE) for name in labels if name.startswith(AGGREGATE)]


def _right(role: Object, rule: Object) -> dict[str, str]:
    named = f" named {', '.join(rule['resourceNames'])}" if "resourceNames" in rule else ""
    return {
        "where": "in every namespace" if role["kind"] == "ClusterRole" else "in its own",
        "group": rule["apiGroups"][0] or "core",
        "resources": ", ".join(rule["resources"]) + named,
        "verbs": ", ".join(rule["verbs"]),
    }
