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
from tests.builders.lws import lws
from tests.builders.patience import PATIENCE
from tests.builders.reviews import review
from tests.webhook.server.answers import Sooner, broken, busy, endless, ends, slow, twice
from webhook import review as reviews
from webhook.server import offload
from webhook.server.callers import Callers, Peer
from webhook.server.offload import Offload, namespace
from webhook.server.shares import FullError

SENT = orjson.dumps(review(lws()))
API = Peer(is_known=True)


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second process is nice: beside busy ones it gets a fortieth of a core."""
    monkeypatch.setattr(offload, "SECONDS", 10 * PATIENCE)
    monkeypatch.setattr(offload, "START_SECONDS", 10 * PATIENCE)


def body(name: str) -> bytes:
    return orjson.dumps(review(lws(), namespace=name))


def started() -> Offload:
    return Offload({"/mutate": partial(reviews.mutate, settings=Settings())})


def test_the_namespace_is_read_from_the_request() -> None:
    assert (namespace(body("a")), namespace(b"{}"), namespace(b"x" * 8192 + body("a"))) == (b"a", b"", b"")


def test_a_namespace_inside_a_name_is_ignored() -> None:
    named = review({"metadata": {"name": '"namespace":"b"'}}, namespace="a")

    assert namespace(orjson.dumps(named, option=orjson.OPT_SORT_KEYS)) == b"a"


async def test_after_an_expensive_request_its_namespace_is_offloaded() -> None:
    found = Offload({})
    found.note(API, body("a"), 0.001)
    assert not found.takes(API, body("a"))

    found.note(API, body("a"), 0.1)

    assert (found.takes(API, body("a")), found.takes(API, body("b"))) == (True, False)
    assert found.takes(API, b"x" * (offload.LARGE + 1))


async def test_the_namespaces_that_are_remembered_of_a_caller_are_bounded_and_its_own() -> None:
    one, other = Peer(), Peer()
    offload.learn(other, b"n0", 0.0, is_large=False)
    for at in range(offload.NAMESPACES + 10):
        offload.learn(one, b"n%d" % at, 0.0, is_large=False)

    assert (len(one.pairs), len(other.pairs)) == (offload.NAMESPACES, 1)


async def test_a_new_namespace_of_an_unknown_caller_is_offloaded_until_it_was_cheap_once() -> None:
    found, caller = started(), Peer()
    assert (found.takes(caller, SENT), found.takes(API, SENT)) == (True, False)

    await found.review("/mutate", caller, SENT)
    await found.close()

    assert (found.takes(caller, SENT), found.takes(caller, body("b")), found.takes(Peer(), SENT)) == (
        False,
        True,
        True,
    )


@pytest.mark.parametrize("number", [1, 30])
async def test_the_surprises_of_all_unknown_callers_take_a_hundredth_of_the_time_and_one_of_each(
    monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """They have each namespace be cheap once, now or before, then expensive, and connect anew."""
    took, spent, now, held = 0.05, 0.0, 0.0, [(0.0, Peer())]
    loop = asyncio.get_running_loop()
    monkeypatch.setattr(loop, "call_later", lambda after, _call, peer: held.append((now + after, peer)))
    monkeypatch.setattr(offload, "monotonic", lambda: now)
    found, callers, other = Offload({}), Callers(), Peer(pairs={b"other": offload.CHEAP})
    for now in range(0, 600, 10):
        held = [(until, peer) for until, peer in held if until > now]
        before, later, *new = map(body, (f"{now}", f"{now + 50}", *(f"{now}-{at}" for at in range(4))))
        for at in range(number):
            caller = callers.accepted(f"10.0.0.{at}")
            for sent in (later, *new):
                if found.takes(caller, sent):
                    offload.learn(caller, namespace(sent), 0.001, is_large=False)
            for sent in (before, *new):
                if not found.takes(caller, sent):
                    found.note(caller, sent, took)
                    spent += took

    most = offload.SURPRISES * (600 + offload.SURPRISED_SECONDS) + number * took
    assert 0.8 * most < spent <= most
    assert not found.takes(other, body("other"))


async def test_a_request_that_ended_the_process_does_not_count_as_cheap() -> None:
    found, caller = Offload({"/ends": ends}), Peer()

    answer = await found.review("/ends", caller, SENT)
    await found.close()

    assert (answer.outcome, found.takes(caller, SENT)) == ("lost", True)


async def test_a_review_ends_after_a_second_of_cpu_and_the_process_goes_on() -> None:
    answers: Any = {"/mutate": reviews.mutate, "/endless": endless, "": Sooner()}
    found, caller = Offload(answers), Peer()

    slow = await found.review("/endless", caller, SENT)
    pid = found.process and found.process.pid
    next_one = await found.review("/mutate", caller, SENT)

    assert (slow.outcome, next_one.outcome) == ("slow", "patched")
    assert (found.process and found.process.pid, found.takes(caller, SENT)) == (pid, True)
    await found.close()


async def test_the_niceness_of_the_process_counts_and_no_signal_of_a_terminal_ends_it() -> None:
    """Outside of containers, Linux compares the niceness of processes of one session only."""
    found = started()

    await found.review("/mutate", API, SENT)
    pid = found.process.pid if found.process else 0
    same = os.getsid(pid) == os.getsid(0), os.getpgid(pid) == os.getpgid(0)
    nicer = os.getpriority(os.PRIO_PROCESS, pid) > os.getpriority(os.PRIO_PROCESS, 0)
    await found.close()

    assert (*same, nicer) == (True, False, True)


async def test_the_second_process_returns_the_same_answer() -> None:
    found = started()

    answer = await found.review("/mutate", API, SENT)
    wrong = await found.review("/mutate", API, b"[")
    await found.close()

    assert (answer.outcome, answer.body) == ("patched", reviews.mutate(SENT).body)
    assert wrong.outcome == "malformed"


async def test_a_cheap_request_that_waits_for_a_busy_node_does_not_count_as_expensive() -> None:
    """Otherwise one expensive request keeps its namespace with hostile ones, as long as the node is busy."""
    found = Offload({"/mutate": slow})
    found.note(API, SENT, 1.0)
    before = dict(API.pairs)

    answer = await found.review("/mutate", API, SENT)
    await found.close()

    assert (answer.outcome, API.pairs) == ("allowed", before)


async def test_an_expensive_request_to_the_process_is_remembered_for_another_minute() -> None:
    found = Offload({"/mutate": busy})
    found.note(API, SENT, 1.0)
    before = dict(API.pairs)

    await found.review("/mutate", API, SENT)
    await found.close()

    assert API.pairs[namespace(SENT)] > before[namespace(SENT)]


async def test_the_process_runs_the_code_of_this_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder `webhook` in the working directory may be another release, or another project."""
    (tmp_path / "webhook").mkdir()
    (tmp_path / "webhook" / "worker.py").write_text("raise SystemExit")
    monkeypatch.chdir(tmp_path)
    found = started()

    answer = await found.review("/mutate", API, SENT)
    await found.close()

    assert answer.outcome == "patched"


async def test_a_bug_is_reported_without_the_object() -> None:
    found = Offload({"/mutate": broken})

    answer = await found.review("/mutate", API, b"secret")
    await found.close()

    assert (answer.outcome, b"KeyError" in answer.body, b"secret" in answer.body) == (
        "bug",
        True,
        False,
    )


async def order(monkeypatch: pytest.MonkeyPatch, sent: list[tuple[Peer, str]], **turns: int) -> bytes:
    """Return in which order requests of namespaces are answered that take so many turns."""
    asked: list[bytes] = []

    def exchange(_process: Any, sent: Any) -> tuple[str, bytes, float]:
        name = namespace(sent[1]) if isinstance(sent, tuple) else b""
        asked.append(name)
        return "allowed", b"", offload.EXPENSIVE_SECONDS * turns.get(name.decode(), 1)

    monkeypatch.setattr(offload, "_exchange", exchange)
    found = started()
    await asyncio.gather(*(found.review("/mutate", peer, body(name)) for peer, name in sent))
    await found.close()
    return b"".join(asked)


@pytest.mark.parametrize("known", [True, False])
async def test_callers_take_turns_and_namespaces_too(monkeypatch: pytest.MonkeyPatch, *, known: bool) -> None:
    one, other = Peer(), Peer(is_known=known)
    sent = [(one, name) for name in "aaaab"] + [(other, name) for name in "cd"]

    assert await order(monkeypatch, sent) == (b"cdabaaa" if known else b"acbdaaa")


async def test_longer_requests_of_a_caller_take_more_of_its_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = Peer(), Peer()

    found = await order(monkeypatch, [(one, "a")] * 3 + [(other, "b")] * 6, a=3, b=0)

    assert found == b"abbbbabba"


async def test_the_time_in_which_the_process_starts_does_not_count_but_for_the_caller(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    exchange, sent = offload._exchange, []  # noqa: SLF001 - what a thread does

    def slow(process: Any, what: Any) -> Any:
        if isinstance(what, dict):
            time.sleep(6.0)
        sent.append(what)
        return exchange(process, what)

    monkeypatch.setattr(offload, "_exchange", slow)
    monkeypatch.setattr(offload, "SECONDS", 5.5)
    found = started()
    patient = asyncio.create_task(found.review("/mutate", API, SENT))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(found.review("/mutate", API, SENT), 1.0)

    assert ((await patient).outcome, len(sent)) == ("patched", 2)
    await found.close()


async def test_a_process_that_did_not_start_in_time_answers_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(offload, "START_SECONDS", 0.01)
        found = started()
        found.start()
        await asyncio.sleep(0.5)

    async with asyncio.timeout(PATIENCE):
        answers = [await found.review("/mutate", API, body(name)) for name in "ab"]
    await found.close()

    assert [one.outcome for one in answers] == ["patched", "patched"]


async def test_a_process_that_ended_is_started_again() -> None:
    found = started()
    await found.review("/mutate", API, SENT)
    assert found.process is not None
    os.kill(found.process.pid, signal.SIGKILL)
    found.process.wait()

    again = await found.review("/mutate", API, SENT)
    await found.close()

    assert again.outcome == "patched"


@pytest.mark.parametrize("fault", [ends, twice])
async def test_a_request_that_ends_the_process_has_no_answer_and_the_next_one_has(fault: Any) -> None:
    found = Offload({"/mutate": partial(reviews.mutate, settings=Settings()), "/fault": fault})
    await found.review("/mutate", API, SENT)

    async with asyncio.timeout(PATIENCE):
        answers = [await found.review(path, API, SENT) for path in ("/fault", "/mutate")]
    await found.close()

    assert [one.outcome for one in answers] == ["lost", "patched"]


async def test_a_caller_that_fills_the_queue_is_evicted_for_another() -> None:
    found, one, other = Offload({}), Peer(), Peer()
    padding = b" " * (offload.QUEUED_BYTES // 16)
    sent = [(one, "a"), *((other, f"b{at % 5}") for at in range(20)), (one, "c")]
    found.task = asyncio.create_task(asyncio.sleep(3600))  # nothing is answered
    asked = [asyncio.create_task(found.review("/mutate", peer, body(name) + padding)) for peer, name in sent]
    await asyncio.sleep(0.01)

    refused = [sent[at][0] for at, task in enumerate(asked) if task.done()]
    found.task.cancel()

    assert refused == [other] * 7
    for task in asked:
        task.cancel()


async def test_a_large_request_is_evicted_for_a_small_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offload, "QUEUED_BYTES", 4096)
    monkeypatch.setattr(offload, "LARGE", 1024)
    found = started()

    large = asyncio.create_task(found.review("/mutate", API, body("a") + b" " * 3000))
    small = asyncio.create_task(found.review("/mutate", API, body("b") + b" " * 1000))
    answers = await asyncio.gather(large, small, return_exceptions=True)
    await found.close()

    assert isinstance(answers[0], FullError)
    assert (getattr(answers[1], "outcome", ""), len(found.waiting)) == ("patched", 0)
