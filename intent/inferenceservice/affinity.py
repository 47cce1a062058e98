"""Required node affinity in a pod template, in addition to what its author requires.

A node must match one of the `nodeSelectorTerms`, and all requirements of that term (Kubernetes
`core/v1` `NodeSelector`). So a further requirement belongs to every term; a term of its own would widen the
choice. A term without requirements matches no node, and stays as it is.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from intent import Object
from intent.shapes import listed, mapping, text

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


_MEETS: Final[Mapping[str, Callable[[str, list[Any]], bool]]] = {
    "In": lambda value, values: value in values,
    "NotIn": lambda value, values: value not in values,
    "DoesNotExist": lambda _value, _values: False,
}
"""Whether a node that has a value of the label meets a requirement on it; every node meets other operators,
as far as is known here."""


def excluding(template: Object, labels: NodeLabels) -> Iterator[tuple[str, Any]]:
    """Yield what no node with the labels meets: the path in the template, and the value there.

    One term that such a node may match is enough.
    """
    spec = mapping(template.get("spec"))
    asked = mapping(spec.get("nodeSelector")).get(labels.key)
    if isinstance(asked, str) and asked not in labels.values:
        yield f"spec.nodeSelector[{labels.key}]", asked
    required = mapping(mapping(mapping(spec.get("affinity")).get("nodeAffinity")).get(REQUIRED))
    terms = [term for term in listed(required.get("nodeSelectorTerms")) if _requires(term)]
    if terms and not any(_is_met(term, labels) for term in terms):
        yield f"spec.affinity.nodeAffinity.{REQUIRED}", None


def without_requirements(template: Object) -> Iterator[str]:
    """Yield the path of terms of which none has a requirement: no node matches, whatever is added to them."""
    path = ("spec", "affinity", "nodeAffinity", REQUIRED)
    required = template
    for field in path:
        required = mapping(required.get(field))
    terms = required.get("nodeSelectorTerms")
    if isinstance(terms, list) and not any(map(_requires, terms)):
        yield f"{'.'.join(path)}.nodeSelectorTerms"


def _is_met(term: Object, labels: NodeLabels) -> bool:
    """Return whether one value of the label meets every requirement of a term."""
    requirements = [mapping(one) for one in listed(term.get("matchExpressions"))]
    asked = [
        (_MEETS[one["operator"]], listed(one.get("values")))
        for one in requirements
        if one.get("key") == labels.key and text(one.get("operator")) in _MEETS
    ]
    return any(all(meets(value, values) for meets, values in asked) for value in labels.values)


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
