"""Calls of the testbed to an API server: what is repeated, and what is not."""

import http.client
from pathlib import Path

import pytest

from intent import Object
from tests.cluster.testbed import api
from tests.cluster.testbed.api import Api, ApiError, await_object, edit

THERE = Api("https://localhost", "token", Path("ca.crt"))
CONFLICT = ApiError(http.client.CONFLICT, {"message": "the object has been modified"})
REFUSED = ApiError(http.client.UNPROCESSABLE_ENTITY, {"message": "no"})


def answers(monkeypatch: pytest.MonkeyPatch, *given: Object | ApiError) -> list[str]:
    """Give these answers to calls, in their order; return the calls, as they come."""
    left = iter(given)
    calls: list[str] = []

    def call(_api: Api, method: str, target: str, *_more: object) -> Object:
        calls.append(f"{method} {target}")
        answer = next(left)
        if isinstance(answer, ApiError):
            raise answer
        return answer

    monkeypatch.setattr(api, "call", call)
    return calls


def test_an_edit_is_repeated_on_the_object_that_another_client_wrote(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = answers(monkeypatch, {"v": 1}, CONFLICT, {"v": 2}, {"v": 3})

    assert edit(THERE, "/x/y", lambda live: live | {"a": "b"}) == {"v": 3}
    assert calls == ["GET /x/y", "PUT /x/y"] * 2


def test_an_edit_that_is_refused_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = answers(monkeypatch, {"v": 1}, REFUSED)

    with pytest.raises(ApiError, match="422"):
        edit(THERE, "/x/y", dict)
    assert len(calls) == 2


def test_an_object_is_awaited_until_it_exists(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = ApiError(http.client.NOT_FOUND, {"message": "no such resource"})
    calls = answers(monkeypatch, absent, {"items": []}, {"items": [{"v": 1}]})

    assert await_object(THERE, "/x/y") == {"v": 1}
    assert calls == ["GET /x?fieldSelector=metadata.name%3Dy"] * 3
