"""The projection of a LeaderWorkerSet."""

from typing import Any

import pytest

from intent import Object
from intent.service.member import Member, ejected
from sync.observed import lws
from tests.sync.samples import lws as stored


def condition(kind: str, status: str, message: str = "", **fields: Any) -> Object:
    """Return a condition."""
    return {"type": kind, "status": status, "message": message, **fields}


def leader_worker_set(spec: Object, **status: Any) -> Object:
    """Return the third generation of a LeaderWorkerSet."""
    return {"metadata": {"name": "r1-decode", "generation": 3}, "spec": spec, "status": status}


@pytest.mark.parametrize(("spec", "replicas"), [({"replicas": 4}, 4), ({}, 1)])
def test_replicas_are_those_of_the_spec_or_one(spec: Object, replicas: int) -> None:
    assert lws.project(leader_worker_set(spec)).replicas == replicas


@pytest.mark.parametrize(
    ("status", "observed", "current"),
    [
        ({"observedGeneration": 3}, 3, True),
        ({"observedGeneration": 2}, 2, False),
        ({}, 0, False),
    ],
    ids=["current", "earlier", "none"],
)
def test_a_status_is_of_the_generation_that_it_names(status: Object, observed: int, *, current: bool) -> None:
    row = lws.project(leader_worker_set({}, **status))

    assert (row.observed, row.current) == (observed, current)


@pytest.mark.parametrize(("status", "updating"), [("True", True), ("False", False)])
def test_a_rolling_update_is_seen(status: str, updating: bool) -> None:  # noqa: FBT001 - a table
    said = condition("UpdateInProgress", status)

    assert lws.project(leader_worker_set({}, conditions=[said])).updating == updating


def test_what_was_ejected_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Object] = []

    def counted(obj: Object) -> Member | None:
        read.append(obj)
        return ejected(obj)

    monkeypatch.setattr(lws, "ejected", counted)

    assert lws.cached_leader_worker_set(stored()) is not None
    assert len(read) == 1
