"""Waiting items by namespace: the first that came is the first that goes, and namespaces take turns.

However many items one namespace has, an item of another one waits for one turn of each namespace at most.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from intent.service.member import ServiceKey

V = TypeVar("V")


@dataclass(slots=True)
class Turns(Generic[V]):
    """Items by namespace and name."""

    waiting: dict[str, dict[ServiceKey, V]] = field(default_factory=dict)
    """By namespace, in the order of their turns; none is empty."""

    def __contains__(self, key: ServiceKey) -> bool:
        """Return whether an item waits."""
        return key in self.waiting.get(key[0], ())

    def put(self, key: ServiceKey, value: V) -> V | None:
        """Add an item, or replace the one of this key in its place; return the replaced value."""
        items = self.waiting.setdefault(key[0], {})
        before = items.get(key)
        items[key] = value
        return before

    def drop(self, key: ServiceKey) -> None:
        """Remove an item, if it waits."""
        items = self.waiting.get(key[0], {})
        items.pop(key, None)
        if not items:
            self.waiting.pop(key[0], None)

    def take(self, may: Callable[[str], bool] = lambda _namespace: True) -> tuple[ServiceKey, V] | None:
        """Remove and return the first item of the first namespace that may have a turn.

        That namespace then has the last turn. A namespace that is passed over keeps its place.
        """
        namespace = next(filter(may, self.waiting), None)
        if namespace is None:
            return None
        items = self.waiting.pop(namespace)
        key = next(iter(items))
        value = items.pop(key)
        if items:
            self.waiting[namespace] = items
        return key, value
