"""Expensive requests: how they are recognised, the order of namespaces, and the end of their process."""

import asyncio
import os
import signal
import time
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pytest

from intent.settings import Settings
from tests.lws import lws
from tests.reviews import review
from webhook import review as reviews
from webhook.server import offload
from webhook.server.offload import FullError, LostError, Offload, OffloadAnswer, namespace

SENT = orjson.dumps(review(lws()))
LATER = time.monotonic() + 3600


def body(name: str) -> bytes:
    return orjson.dumps(review(lws(), namespace=name))


def started() -> Offload:
    return Offload({"/mutate": partial(reviews.mutate, settings=Settings())})


def test_the_namespace_is_read_from_the_request() -> None:
    assert (namespace(body("a")), namespace(b"{}"), namespace(b"x" * 8192 + body("a"))) == (b"a", b"", b"")


def test_a_namespace_inside_a_name_is_ignored() -> None:
    named = review({"metadata": {"name": '"namespace":"b"'}}, namespace="a")

    assert namespace(orjson.dumps(named, option=orjson.OPT_SORT_KEYS)) == b"a"


def test_after_an_expensive_request_its_namespace_is_offloaded() -> None:
    found = Offload({})
    found.note(body("a"), 0.001)
    assert not found.takes(body("a"))

    found.note(body("a"), 0.1)

    assert (found.takes(body("a")), found.takes(body("b"))) == (True, False)
    assert found.takes(b"x" * (offload.LARGE + 1))


def test_the_number_of_remembered_namespaces_is_bounded() -> None:
    found = Offload({})
    for at in range(offload.NAMESPACES + 10):
        found.note(body(f"n{at}"), 1.0)

    assert len(found.expensive) == offload.NAMESPACES
    assert found.takes(body("n1000"))


async def test_the_second_process_returns_the_same_answer() -> None:
    found = started()

    answer = await found.review("/mutate", SENT, LATER)
    wrong = await found.review("/mutate", b"[", LATER)
    await found.close()

    assert (answer.outcome, answer.content) == ("patched", reviews.mutate(SENT).body)
    assert wrong.outcome == "malformed"


async def test_a_cheap_request_that_waits_for_a_busy_node_does_not_count_as_expensive() -> None:
    """Otherwise one expensive request keeps its namespace with hostile ones, as long as the node is busy."""
    found = Offload({"/mutate": _slow})
    found.note(SENT, 1.0)
    before = dict(found.expensive)

    answer = await found.review("/mutate", SENT, LATER)
    await found.close()

    assert (answer.outcome, found.expensive) == ("allowed", before)


def _slow(_body: bytes) -> reviews.AdmissionAnswer:
    """Answer after a while in which others have the CPU."""
    time.sleep(10 * offload.EXPENSIVE_SECONDS)
    return reviews.AdmissionAnswer(b"", "allowed")


async def test_an_expensive_request_to_the_process_is_remembered_for_another_minute() -> None:
    found = Offload({"/mutate": _busy})
    found.note(SENT, 1.0)
    before = dict(found.expensive)

    await found.review("/mutate", SENT, LATER)
    await found.close()

    assert found.expensive[namespace(SENT)] > before[namespace(SENT)]


def _busy(_body: bytes) -> reviews.AdmissionAnswer:
    end = time.process_time() + 2 * offload.EXPENSIVE_SECONDS
    while time.process_time() < end:
        pass
    return reviews.AdmissionAnswer(b"", "allowed")


async def test_the_process_runs_the_code_of_this_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder `webhook` in the working directory may be another release, or another project."""
    (tmp_path / "webhook").mkdir()
    (tmp_path / "webhook" / "worker.py").write_text("raise SystemExit")
    monkeypatch.chdir(tmp_path)
    found = started()

    answer = await found.review("/mutate", SENT, LATER)
    await found.close()

    assert answer.outcome == "patched"


async def test_a_bug_is_reported_without_the_object() -> None:
    found = Offload({"/mutate": _broken})

    answer = await found.review("/mutate", b"secret", LATER)
    await found.close()

    assert (answer.outcome, b"KeyError" in answer.content, b"secret" in answer.content) == (
        "bug",
        True,
        False,
    )


def _broken(body: bytes) -> reviews.AdmissionAnswer:
    raise KeyError(body)


async def test_namespaces_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[bytes] = []

    async def answered(_self: Offload, waiting: offload._Waiting) -> OffloadAnswer:
        order.append(namespace(waiting.body))
        return OffloadAnswer("allowed", b"")

    monkeypatch.setattr(Offload, "_answered", answered)
    found = started()
    await asyncio.gather(*(found.review("/mutate", body(name), LATER) for name in "aaaab"))

    assert order == [b"a", b"b", b"a", b"a", b"a"]


async def test_the_queue_of_a_namespace_is_bounded() -> None:
    found = started()
    first = [asyncio.create_task(found.review("/mutate", body("a"), LATER)) for _ in range(offload.QUEUED)]
    await asyncio.sleep(0)

    with pytest.raises(FullError):
        await found.review("/mutate", body("a"), LATER)
    other = await found.review("/mutate", body("b"), LATER)
    await asyncio.gather(*first)
    await found.close()

    assert other.outcome == "patched"


async def test_the_time_that_the_process_takes_to_start_does_not_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begin = asyncio.create_subprocess_exec

    async def slow(*command: str, **options: Any) -> asyncio.subprocess.Process:
        process = await begin(*command, **options)
        await asyncio.sleep(3.0)
        return process

    monkeypatch.setattr(asyncio, "create_subprocess_exec", slow)
    monkeypatch.setattr(offload, "SECONDS", 2.0)
    patient, impatient = started(), started()

    in_time = await patient.review("/mutate", SENT, LATER)
    late = await impatient.review("/mutate", SENT, time.monotonic() + 1.0)
    await asyncio.gather(patient.close(), impatient.close())

    assert (in_time.outcome, late.outcome) == ("patched", "late")


async def test_a_request_past_its_deadline_is_not_sent_to_the_process() -> None:
    found = started()

    answer = await found.review("/mutate", SENT, time.monotonic() - 1)
    await found.close()

    assert (answer.outcome, found.process) == ("late", None)


async def test_a_process_that_ended_is_started_again() -> None:
    found = started()
    await found.review("/mutate", SENT, LATER)
    assert found.process is not None
    os.kill(found.process.pid, signal.SIGKILL)

    again = await found.review("/mutate", SENT, LATER)
    await found.close()

    assert again.outcome == "patched"


async def test_a_request_that_ends_the_process_is_tried_twice() -> None:
    found = Offload({"/mutate": partial(reviews.mutate, settings=Settings()), "/ends": _ends})
    await found.review("/mutate", SENT, LATER)

    with pytest.raises(LostError):
        await found.review("/ends", SENT, LATER)
    again = await found.review("/mutate", SENT, LATER)
    await found.close()

    assert again.outcome == "patched"


def _ends(_body: bytes) -> reviews.AdmissionAnswer:
    os._exit(1)


async def test_a_namespace_that_fills_the_queue_is_evicted_for_another() -> None:
    found = Offload({})
    padding = b" " * (offload.QUEUED_BYTES // 16)
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


async def test_a_large_request_is_evicted_for_a_small_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offload, "QUEUED_BYTES", 4096)
    found = started()

    large = asyncio.create_task(found.review("/mutate", body("a") + b" " * 3000, LATER))
    small = asyncio.create_task(found.review("/mutate", body("b") + b" " * 1000, LATER))
    answers = await asyncio.gather(large, small, return_exceptions=True)
    await found.close()

    assert isinstance(answers[0], FullError)
    assert (getattr(answers[1], "outcome", ""), found.waiting_bytes, found.queues) == ("patched", 0, {})
