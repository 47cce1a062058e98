"""Required node affinity in a pod template, in addition to what its author requires.

A node must match one of the `nodeSelectorTerms`, and all requirements of that term (Kubernetes
`core/v1` `NodeSelector`). So a further requirement belongs to every term; a term of its own would widen the
choice. A term without requirements matches no node, and stays as it is.
"""

from typing import Any

from intent import Object
from intent.container import REQUIRED
from intent.inferenceservice.v1alpha1 import AcceleratorTypes


def restrict(template: Object, types: AcceleratorTypes | None) -> Object:
    """Return a pod template that requires a label of its nodes too. It is not changed.

    A value of the wrong type stays as it is: the schema reports it.
    """
    spec = template.get("spec")
    if types is None or not isinstance(spec, dict):
        return template
    requirement = {"key": types.label_key, "operator": "In", "values": types.label_values}
    return {**template, "spec": _below(spec, ("affinity", "nodeAffinity", REQUIRED), requirement)}


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
