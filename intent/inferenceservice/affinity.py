"""Required node affinity in a pod template, in addition to what its author requires.

A node must match one of the `nodeSelectorTerms`, and all requirements of that term (Kubernetes
`core/v1` `NodeSelector`). So a further requirement belongs to every term; a term of its own would widen the
choice. A term without requirements matches no node, and stays as it is.
"""

from dataclasses import dataclass
from typing import Any

from intent import Object
from intent.container import REQUIRED


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
    """Return a pod template that requires labels of its nodes too. It is not changed.

    A value of the wrong type stays as it is: the schema reports it.
    """
    spec = template.get("spec")
    if labels is None or not isinstance(spec, dict):
        return template
    return {**template, "spec": _below(spec, ("affinity", "nodeAffinity", REQUIRED), labels.requirement)}


def _below(node: Object, path: tuple[str, ...], requirement: Object) -> Object:
    """Return an object with a requirement in the terms below a path."""
    if not path:
        terms = node.get("nodeSelectorTerms")
        if not isinstance(terms, list | None):
            return node
        own = [_with(term, requirement) for term in terms or ()]
        added = [{"matchExpressions": [requirement]}] if terms is None else []
        return {**node, "nodeSelectorTerms": own + added}
    below = node.get(path[0])
    if not isinstance(below, dict | None):
        return node
    return {**node, path[0]: _below(below or {}, path[1:], requirement)}


def _with(term: Any, requirement: Object) -> Any:
    """Return a term with a requirement; one that has none matches no node, and stays."""
    if not isinstance(term, dict) or not (term.get("matchExpressions") or term.get("matchFields")):
        return term
    expressions = term.get("matchExpressions") or []
    is_there = not isinstance(expressions, list) or requirement in expressions
    return term if is_there else {**term, "matchExpressions": [*expressions, requirement]}
