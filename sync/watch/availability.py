"""Whether the objects of a kind are known, namespace by namespace where only some are watched.

One answer is no proof that a kind is not served: API servers answer 404 while they start, and proxies do at
any time. So a kind counts as unavailable, or as not served, after several failed lists in a row.
"""

import asyncio
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

ENOUGH: Final = 3
"""Failed lists in a row after which a kind counts as unavailable, or as not served."""
NOT_LISTED: Final = "it has not been listed yet"
EVERYWHERE: Final = ""
"""The scope that has the objects of all namespaces."""


@dataclass(slots=True)
class Scope:
    """Whether the objects of one namespace are known, or those of all (`EVERYWHERE`).

    A namespace has a scope of its own where only some are watched: its admins may remove permissions there.
    """

    trouble: str = NOT_LISTED
    """Why the objects are not known; empty if they are. Rows that were known before stay."""
    failures: int = 0
    """Failed lists in a row."""
    denials: int = 0
    """Failed lists in a row because the API server's discovery lacks the kind."""
    heard: float = field(default_factory=time.monotonic)
    """When the API server last answered its list or its watch, on the clock of `time.monotonic`."""

    @property
    def absent(self) -> bool:
        """Whether the API server does not serve the kind."""
        return self.denials >= ENOUGH


@dataclass(slots=True)
class Availability:
    """The scopes of one kind."""

    scopes: dict[str, Scope] = field(default_factory=lambda: {EVERYWHERE: Scope()})
    """By namespace."""
    trouble: str = NOT_LISTED
    """Why the objects of a scope are not known; empty if all are."""
    recovered: Callable[[], None] = lambda: None
    """Called when the objects of the kind become known; nothing is, until this process is the leader."""
    settled: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once each scope is known, or unavailable: further waiting does not help."""

    @property
    def heard(self) -> float:
        """When the API server last answered for the scope that it has not answered for the longest time."""
        return min(scope.heard for scope in self.scopes.values())

    def trouble_in(self, namespace: str) -> str:
        """Return why the objects of a namespace are not known; empty if they are."""
        found = self.scopes.get(namespace) or self.scopes.get(EVERYWHERE)
        return found.trouble if found else ""

    def divide(self, namespaces: Iterable[str]) -> None:
        """Expect the objects of these namespaces, each listed on its own."""
        self.scopes = {namespace: Scope() for namespace in namespaces}

    def hear(self, namespace: str) -> None:
        """Record that the API server answered for a scope, whatever it said."""
        self.scopes[namespace].heard = time.monotonic()

    def fail(self, namespace: str, why: str, *, denied: bool) -> bool:
        """Record a failed list; `denied`: the API server's discovery lacks the kind.

        Returns whether it makes the kind unavailable.
        """
        scope = self.scopes[namespace]
        scope.failures, scope.denials = scope.failures + 1, scope.denials + 1 if denied else 0
        is_new = scope.trouble in {"", NOT_LISTED} and scope.failures >= ENOUGH and not scope.absent
        if is_new:
            scope.trouble = why
            self._settle()
        return is_new

    def become_known(self, namespace: str, *, absent: bool = False) -> None:
        """Record that all objects of a scope are stored; `absent`: the kind is not served, it may come later.

        Services that waited for that are reconciled.
        """
        scope = self.scopes[namespace]
        had_trouble, scope.trouble = bool(scope.trouble), ""
        if not absent:  # so that one failure of another sort makes it unavailable
            scope.failures = scope.denials = 0
        self._settle()
        if had_trouble:
            self.recovered()

    def _settle(self) -> None:
        self.trouble = next((scope.trouble for scope in self.scopes.values() if scope.trouble), "")
        if all(scope.trouble != NOT_LISTED for scope in self.scopes.values()):
            self.settled.set()
