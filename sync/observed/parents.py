"""What gateways answer: `status.parents` of an HTTPRoute and of an InferencePool.

Only what speaks of the present generation counts; an answer without `observedGeneration`, which
the Gateway API requires (GEP-1364), speaks of none.
"""

from dataclasses import dataclass
from typing import Any

from intent import Object
from intent.shapes import listed, mapping, number, text
from sync.observed.condition import ObservedCondition, conditions, current


@dataclass(frozen=True, slots=True)
class Parent:
    """A reference to a Gateway, or to one of its listeners (`ParentReference` of the Gateway API)."""

    namespace: str
    name: str
    section: str = ""
    port: int = 0
    kind: str = "Gateway"

    @property
    def gateway(self) -> tuple[str, str]:
        """Namespace and name of the Gateway."""
        return self.namespace, self.name

    def __str__(self) -> str:
        """Name it as people do."""
        listener = self.section or (str(self.port) if self.port else "")
        return f"{self.kind} {self.namespace}/{self.name}{f' ({listener})' if listener else ''}"


@dataclass(frozen=True, slots=True)
class ParentStatus:
    """What one controller says to one parent."""

    parent: Parent
    accepted: ObservedCondition | None = None
    resolved: ObservedCondition | None = None
    """`ResolvedRefs`."""


def references(value: Any, namespace: str) -> tuple[Parent, ...]:
    """Read `spec.parentRefs`."""
    return tuple(_parent(one, namespace) for one in listed(value) if isinstance(one, dict))


def answers(value: Any, namespace: str, generation: int) -> tuple[ParentStatus, ...]:
    """Read `status.parents` of an object of this generation."""
    return tuple(_answer(one, namespace, generation) for one in listed(value) if isinstance(one, dict))


def _parent(ref: Object, namespace: str) -> Parent:
    return Parent(
        namespace=text(ref.get("namespace")) or namespace,
        name=text(ref.get("name")),
        section=text(ref.get("sectionName")),
        port=number(ref.get("port")),
        kind=text(ref.get("kind")) or "Gateway",
    )


def _answer(one: Object, namespace: str, generation: int) -> ParentStatus:
    said = current(conditions(one.get("conditions")), generation)
    parent = _parent(mapping(one.get("parentRef")), namespace)
    return ParentStatus(parent, said.get("Accepted"), said.get("ResolvedRefs"))
