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
    absent: bool = False
    """Whether the API server does not serve the kind."""
    failures: int = 0
    """Failed lists in a row."""
    denials: int = 0
    """Failed lists in a row because the API server's discovery lacks the kind."""
    heard: float = field(default_factory=time.monotonic)
    """When the API server last answered its list or its watch, on the clock of `time.monotonic`."""

    @property
    def settled(self) -> bool:
        """Whether the objects are known, or the kind is unavailable."""
        return self.trouble != NOT_LISTED


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
    def absent(self) -> bool:
        """Whether the API server does not serve the kind."""
        return all(scope.absent for scope in self.scopes.values())

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

    def listed(self, namespace: str) -> None:
        """Record that a list was read, and its objects are stored."""
        scope = self.scopes[namespace]
        scope.absent, scope.failures, scope.denials = False, 0, 0
        self._become_known(scope)

    def fail(self, namespace: str, why: str, *, denied: bool) -> bool:
        """Record a failed list; return whether it makes the kind unavailable.

        `denied`: the API server's discovery lacks the kind.
        """
        scope = self.scopes[namespace]
        scope.failures, scope.denials = scope.failures + 1, scope.denials + 1 if denied else 0
        if scope.denials >= ENOUGH or scope.failures < ENOUGH:
            return False
        is_new, scope.absent = scope.trouble in {"", NOT_LISTED}, False
        scope.trouble = why if is_new else scope.trouble
        self._settle()
        return is_new

    def become_absent(self, namespace: str) -> None:
        """Record that the API server does not serve the kind, so there are no objects; it may come later."""
        self.scopes[namespace].absent = True
        self._become_known(self.scopes[namespace])

    def _become_known(self, scope: Scope) -> None:
        """Record that the objects are known; services that waited for that are reconciled."""
        had_trouble, scope.trouble = bool(scope.trouble), ""
        self._settle()
        if had_trouble:
            self.recovered()

    def _settle(self) -> None:
        self.trouble = next((scope.trouble for scope in self.scopes.values() if scope.trouble), "")
        if all(one.settled for one in self.scopes.values()):
            self.settled.set()
