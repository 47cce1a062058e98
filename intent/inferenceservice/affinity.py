"""Required node affinity in a pod template, in addition to what its author requires.

A node must match one of the `nodeSelectorTerms`, and all requirements of that term (Kubernetes
`core/v1` `NodeSelector`). So a further requirement belongs to every term; a term of its own would widen the
choice. A term without requirements matches no node, and stays as it is.
"""

from dataclasses import dataclass
from typing import Any, Final

from intent import Object

REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"


@dataclass(frozen=True, slots=True)
class NodeLabels:
    """A label of nodes, and its accepted values."""

    key: str
    values: tuple[str, ...]

    @property
    def requirement(self) -> Object:
        """The `NodeSelectorRequirement`."""
        return {"key": self.key, "operator": "In", "values": list(self.values)}


def restrict(template: Object, labels: NodeLabels | None) -> Object:
    """Require labels of the nodes for a pod template, which is changed.

    A value of the wrong type stays as it is: the schema reports it.
    """
    node: Any = template.get("spec") if labels else None
    for field in ("affinity", "nodeAffinity", REQUIRED):
        node = _below(node, field)
    if labels is None or not isinstance(node, dict):
        return template
    if node.get("nodeSelectorTerms") is None:
        node["nodeSelectorTerms"] = [{"matchExpressions": [labels.requirement]}]
    elif isinstance(node["nodeSelectorTerms"], list):
        for term in filter(_requires, node["nodeSelectorTerms"]):
            _add(term, labels.requirement)
    return template


def _below(node: Any, field: str) -> Any:
    """Return an object in a field of an object, which is made if the field is absent or null."""
    if not isinstance(node, dict):
        return None
    if node.get(field) is None:
        node[field] = {}
    return node[field]


def _requires(term: Any) -> bool:
    """Return whether a term has requirements."""
    return isinstance(term, dict) and bool(term.get("matchExpressions") or term.get("matchFields"))


def _add(term: Object, requirement: Object) -> None:
    expressions = term.get("matchExpressions") or []
    if isinstance(expressions, list) and requirement not in expressions:
        term["matchExpressions"] = [*expressions, requirement]
