"""Dear reviews: which they are, whose turn it is, and what becomes of them if their process ends."""

import asyncio
import os
import signal
import time
from functools import partial
from pathlib import Path

import orjson
import pytest

from intent.settings import Settings
from tests.lws import lws
from tests.reviews import review
from webhook import review as reviews
from webhook.server import aside as asides
from webhook.server.aside import Aside, FullError, LostError, namespace

SENT = orjson.dumps(review(lws()))
LATER = time.monotonic() + 3600


def body(name: str) -> bytes:
    return orjson.dumps(review(lws(), namespace=name))


def beside() -> Aside:
    return Aside({"/mutate": partial(reviews.mutate, settings=Settings())})


def test_the_namespace_is_that_of_the_request() -> None:
    assert (namespace(body("a")), namespace(b"{}"), namespace(b"x" * 8192 + body("a"))) == (b"a", b"", b"")


def test_a_name_is_no_namespace() -> None:
    named = review({"metadata": {"name": '"namespace":"b"'}}, namespace="a")

    assert namespace(orjson.dumps(named, option=orjson.OPT_SORT_KEYS)) == b"a"


def test_after_a_dear_review_those_of_its_namespace_are_dear() -> None:
    beside = Aside({})
    beside.note(body("a"), 0.001)
    assert not beside.takes(body("a"))

    beside.note(body("a"), 0.1)

    assert (beside.takes(body("a")), beside.takes(body("b"))) == (True, False)
    assert beside.takes(b"x" * (asides.LARGE + 1))


def test_not_all_namespaces_are_remembered() -> None:
    beside = Aside({})
    for at in range(asides.NAMESPACES + 10):
        beside.note(body(f"n{at}"), 1.0)

    assert len(beside.dear) == asides.NAMESPACES
    assert beside.takes(body("n1000"))


async def test_the_answer_is_the_same() -> None:
    found = beside()

    said = await found.review("/mutate", SENT, LATER)
    wrong = await found.review("/mutate", b"[", LATER)
    await found.close()

    assert (said.word, said.content) == ("patched", reviews.mutate(SENT).body)
    assert wrong.word == "malformed"


async def test_the_process_runs_the_code_of_this_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder `webhook` in the working directory is another release, or somebody else's."""
    (tmp_path / "webhook").mkdir()
    (tmp_path / "webhook" / "worker.py").write_text("raise SystemExit")
    monkeypatch.chdir(tmp_path)
    found = beside()

    said = await found.review("/mutate", SENT, LATER)
    await found.close()

    assert said.word == "patched"


async def test_a_bug_is_told_without_the_object() -> None:
    found = Aside({"/mutate": _broken})

    said = await found.review("/mutate", b"secret", LATER)
    await found.close()

    assert (said.word, b"KeyError" in said.content, b"secret" in said.content) == ("bug", True, False)


def _broken(body: bytes) -> reviews.AdmissionAnswer:
    raise KeyError(body)


async def test_namespaces_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[bytes] = []

    async def asked(_self: Aside, waiting: asides._Waiting) -> asides.Said:
        order.append(namespace(waiting.body))
        return asides.Said("allowed", b"")

    monkeypatch.setattr(Aside, "_asked", asked)
    found = beside()
    await asyncio.gather(*(found.review("/mutate", body(name), LATER) for name in "aaaab"))

    assert order == [b"a", b"b", b"a", b"a", b"a"]


async def test_one_namespace_may_not_have_too_many_wait() -> None:
    found = beside()
    first = [asyncio.create_task(found.review("/mutate", body("a"), LATER)) for _ in range(asides.QUEUED)]
    await asyncio.sleep(0)

    with pytest.raises(FullError):
        await found.review("/mutate", body("a"), LATER)
    other = await found.review("/mutate", body("b"), LATER)
    await asyncio.gather(*first)
    await found.close()

    assert other.word == "patched"


async def test_what_its_caller_waits_for_no_longer_is_not_reviewed() -> None:
    found = beside()

    said = await found.review("/mutate", SENT, time.monotonic() - 1)
    await found.close()

    assert (said.word, found.process) == ("late", None)


async def test_a_process_that_ended_costs_no_review() -> None:
    found = beside()
    await found.review("/mutate", SENT, LATER)
    assert found.process is not None
    os.kill(found.process.pid, signal.SIGKILL)

    again = await found.review("/mutate", SENT, LATER)
    await found.close()

    assert again.word == "patched"


async def test_a_review_that_ends_the_process_is_asked_again_once() -> None:
    found = Aside({"/mutate": partial(reviews.mutate, settings=Settings()), "/ends": _ends})
    await found.review("/mutate", SENT, LATER)

    with pytest.raises(LostError):
        await found.review("/ends", SENT, LATER)
    again = await found.review("/mutate", SENT, LATER)
    await found.close()

    assert again.word == "patched"


def _ends(_body: bytes) -> reviews.AdmissionAnswer:
    os._exit(1)


async def test_a_namespace_that_fills_the_queue_makes_room_for_another() -> None:
    found = Aside({})
    padding = b" " * (asides.QUEUED_BYTES // 16)
    bodies = [body("a") + padding, *(body("b") + padding for _ in range(20)), body("c") + padding]
    found.task = asyncio.create_task(asyncio.sleep(3600))  # nothing is answered
    asked = [asyncio.create_task(found.review("/mutate", one, LATER)) for one in bodies]
    await asyncio.sleep(0.01)

    waiting = {name: len(queue) for name, queue in found.queues.items()}
    refused = [one for one in asked if one.done()]
    found.task.cancel()

    assert waiting == {b"a": 1, b"b": 13, b"c": 1}
    assert [type(one.exception()) for one in refused] == [FullError] * 7
    assert found.waiting_bytes == sum(len(one.body) for queue in found.queues.values() for one in queue)
    for one in asked:
        one.cancel()


async def test_a_large_review_makes_room_for_a_small_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asides, "QUEUED_BYTES", 4096)
    found = beside()

    large = asyncio.create_task(found.review("/mutate", body("a") + b" " * 3000, LATER))
    small = asyncio.create_task(found.review("/mutate", body("b") + b" " * 1000, LATER))
    answers = await asyncio.gather(large, small, return_exceptions=True)
    await found.close()

    assert isinstance(answers[0], FullError)
    assert (getattr(answers[1], "word", ""), found.waiting_bytes, found.queues) == ("patched", 0, {})
