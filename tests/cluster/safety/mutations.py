"""Old faults of the controller, each as a change of its code, and the scenario that catches it.

The code that is changed has no part in this: functions and rows of tables are replaced in the process
(`mutated.py`). Each mutation looks for what it changes, so that one whose place is gone fails alone.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any, Final

import orjson
from msgspec import Raw

from kube.wire import WatchEvent

_OBJECT: Final = b'"object":'
"""The key of the object in the line of a watch, which ends with the brace behind it."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """How a fault is put back, and in which of `SCENARIOS` it does harm."""

    put_back: Callable[[], None]
    scenario: str
    is_unpruned: bool = False
    """Whether it needs a definition that keeps any field of a template, as those before the schemas did."""


def _sync(name: str) -> Any:
    """Import a module of the controller."""
    return import_module(f"sync.{name}")


def replace_cells(row: Any, **cells: Any) -> None:
    """Change cells of a frozen row that many tables share."""
    for name, value in cells.items():
        if not hasattr(row, name):
            raise AttributeError(f"{type(row).__name__} has no {name}; the mutation must be written anew")
        object.__setattr__(row, name, value)


def _replaced(owner: Any, name: str, change: Callable[[Any], Any]) -> None:
    """Replace a function by a change of it."""
    setattr(owner, name, change(getattr(owner, name)))


def unsealed() -> None:
    """Write rendered LeaderWorkerSets so that they are stored without an answer of admission."""
    replace_cells(_sync("kinds").LWS, seal=lambda wanted: wanted)


def presumptuous() -> None:
    """Write them also where injection is disabled."""
    unsealed()
    replace_cells(_sync("kinds").LWS, blocked=lambda _stored, _asked: "")


def unproved() -> None:
    """Delete what is not wanted without reading its owners."""

    async def allows_deletion(_self: Any, row: Any) -> bool:
        return bool(row.applied)

    _replaced(_sync("live").OwnerCheck, "allows_deletion", lambda _allows: allows_deletion)


def not_found_is_absent() -> None:
    """Forget all objects of a kind when its list is answered with 404, and read nothing before a deletion."""

    async def fail(self: Any, why: str, *, denied: bool, namespace: str = "") -> None:  # noqa: ARG001 - as the other
        await self.keep_only(frozenset(), namespace)

    unproved()
    _replaced(_sync("watch.cache").Cache, "fail", lambda _fail: fail)


def replicas_dropped() -> None:
    """Leave out `replicas` that nobody else owns."""
    replace_cells(_sync("kinds").LWS, kept_fields=())


def late_roles_required() -> None:
    """Require each declared role also after the gate opened."""
    plan = _sync("parts.gang")

    def change(opened: Any) -> Any:
        def declared(situation: Any, members: Any) -> Any:
            found = opened(situation, members)
            return found if found is None else plan.declared_roles(members) or found

        return declared

    _replaced(plan, "_opened", change)


def one_budget_for_the_lease() -> None:
    """Give reading and writing the Lease together less than the time between two tries."""

    def change(attempt: Any) -> Any:
        async def hurried(self: Any, seconds: float) -> Any:
            return await attempt(self, min(seconds, self.leadership.timing.retry_period * 0.75))

        return hurried

    _replaced(_sync("lease").Elector, "_try", change)


def every_kind_needed() -> None:
    """Do nothing until every kind could be listed."""

    def change(fail: Any) -> Any:
        async def denials(self: Any, why: str, *, denied: bool, namespace: str = "") -> None:
            if denied:
                await fail(self, why, denied=denied, namespace=namespace)

        return denials

    _replaced(_sync("watch.cache").Cache, "fail", change)
    _sync("controller").LISTED_WITHIN = math.inf


def owned_by_label() -> None:
    """Take an object that lost our label for somebody else's."""

    def change(is_ours: Any) -> Any:
        return lambda kind, row, *of: bool(row.service) and is_ours(kind, row, *of)

    _replaced(_sync("decide"), "is_ours", change)


def status_is_news() -> None:
    """Reconcile a service again after each status write, and write each new wording of a refusal."""
    _replaced(
        _sync("observed.inferenceservice").CachedInferenceService,
        "__eq__",
        lambda same: lambda one, other: same(one, other) is True and one.status == other.status,
    )
    _replaced(
        _sync("decide").ApplyHistory, "reword_in", lambda _left: lambda _self, _asked, _shape, _now: 0.0
    )


def nothing_without(row: str) -> None:
    """Want nothing of any service while a kind is not served, by the name of its row."""

    def change(prune: Any) -> Any:
        async def pruned(self: Any, state: Any, snapshot: Any, desired: Any, unapplied: Any) -> Any:
            if self.caches[getattr(_sync("kinds"), row).kind].availability.scopes[""].absent:
                desired = replace(desired, objects=(), held_objects=frozenset(), held=frozenset())
            return await prune(self, state, snapshot, desired, unapplied)

        return pruned

    _replaced(_sync("controller").Controller, "prune", change)


def depth_unbounded() -> None:
    """Read and compare whatever an author nested, and let what that raises end the process."""

    def whole(line: bytes) -> WatchEvent:
        return WatchEvent(
            orjson.loads(line)["type"], Raw(line.rstrip()[line.index(_OBJECT) + len(_OBJECT) : -1])
        )

    _replaced(import_module("kube.client"), "read_event", lambda _read: whole)
    inferenceservice = _sync("observed.inferenceservice")
    _replaced(
        inferenceservice, "_digested", lambda _digested: lambda _obj, _metadata, _status: ((b"", b""), ())
    )
    _replaced(
        inferenceservice.CachedInferenceService,
        "__eq__",
        lambda same: lambda one, other: same(one, other) is True and one.value == other.value,
    )
    _replaced(
        _sync("watch.cache").Cache, "project", lambda _project: lambda self, obj: self.kind.project(obj)
    )


MUTATIONS: Final[Mapping[str, Mutation]] = {
    "written without admission": Mutation(unsealed, "configurations deleted, restarted"),
    "written though injection is disabled": Mutation(presumptuous, "inject on sets"),
    "deleted without a live read": Mutation(unproved, "list empty: leaderworkersets"),
    "404 is absence": Mutation(not_found_is_absent, "404 on leaderworkersets"),
    "replicas dropped": Mutation(replicas_dropped, "replicas let go"),
    "late roles required": Mutation(late_roles_required, "role too large"),
    "one budget for the Lease": Mutation(one_budget_for_the_lease, "calls late"),
    "every kind needed": Mutation(every_kind_needed, "500 on httproutes from the start"),
    "owned by label": Mutation(owned_by_label, "label lost: deployments"),
    "status is news": Mutation(status_is_news, "refusals varying"),
    **{
        f"nothing without {resource}": Mutation(
            partial(nothing_without, row), f"definition remade: {resource}"
        )
        for row, resource in (("POD_GROUP", "podgroups"), ("INFERENCE_SERVICE", "inferenceservices"))
    },
    "depth unbounded": Mutation(depth_unbounded, "nested 1005", is_unpruned=True),
}
