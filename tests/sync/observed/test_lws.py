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


def test_replicas_are_those_of_the_spec() -> None:
    assert lws.project(leader_worker_set({"replicas": 4})).replicas == 4


def test_replicas_default_to_one() -> None:
    assert lws.project(leader_worker_set({})).replicas == 1


def test_a_status_of_this_generation_is_current() -> None:
    assert lws.project(leader_worker_set({}, observedGeneration=3)).current


def test_a_status_of_an_earlier_generation_is_not() -> None:
    assert not lws.project(leader_worker_set({}, observedGeneration=2)).current


def test_no_status_is_not_current() -> None:
    assert not lws.project(leader_worker_set({})).current


def test_conditions_have_the_generation_where_the_status_lacks_it() -> None:
    said = condition("Available", "True", observedGeneration=2)

    assert lws.project(leader_worker_set({}, conditions=[said])).observed == 2


def test_a_status_without_a_generation_counts_as_current() -> None:
    assert lws.project(leader_worker_set({}, replicas=1)).current


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
