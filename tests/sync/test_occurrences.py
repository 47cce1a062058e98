"""Events: one for what repeats, few new ones at once, and none that anything waits for."""

from dataclasses import replace
from typing import Final

import pytest

from intent import Object
from kube.client import ApiError
from kube.request import Request
from sync import events
from sync.events import AGAIN, BURST, MOST, REFILL, REPEAT, Occurrence, ServiceEvents, event_name
from tests.hostile.names import HOSTILE
from tests.sync.samples import prefill

SUBJECT: Final = prefill().subject


class Sent(list[Request]):
    """The requests that were sent; `error` is raised instead of an answer."""

    error: Exception | None = None

    async def __call__(self, request: Request) -> Object:
        self.append(request)
        if self.error:
            raise self.error
        return {}


class Clock:
    """A monotonic clock that stands still."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("sync.events.time.monotonic", made)
    return made


def happened(about: str = "", message: str = "m") -> Occurrence:
    return Occurrence(SUBJECT, "Updated", message, event_name(SUBJECT, "Updated", about))


def counts(sent: Sent) -> list[int]:
    return [request.body["count"] for request in sent if isinstance(request.body, dict)]


async def test_a_repetition_is_counted_later_in_the_same_event(clock: Clock) -> None:
    recorder, sent = ServiceEvents(), Sent()

    assert await recorder.record(sent, [happened()]) is None
    assert await recorder.record(sent, [happened(), happened(message="n")]) == 10.0
    clock.now += 10
    assert await recorder.record(sent, []) is None

    assert [request.verb for request in sent] == ["apply", "apply"]
    assert counts(sent) == [1, 3]
    assert sent[1].path == sent[0].path
    assert sent[1].body["firstTimestamp"] == sent[0].body["firstTimestamp"]  # type: ignore[index, call-overload] # the body is a map
    assert sent[1].body["message"] == "n"  # type: ignore[index, call-overload] # the body is a map


async def test_the_interval_of_repetitions_doubles(clock: Clock) -> None:
    recorder, sent, waits = ServiceEvents(), Sent(), []

    for _ in range(5):
        await recorder.record(sent, [happened()])
        waits.append(await recorder.record(sent, [happened()]))
        clock.now += waits[-1] or 0.0

    assert waits == [10.0, 20.0, 40.0, 80.0, 160.0]


async def test_what_is_remembered_is_bounded(clock: Clock) -> None:
    recorder, sent = ServiceEvents(), Sent()

    for at in range(3 * MOST):
        await recorder.record(sent, [happened(str(at))])
    held = len(recorder.events)
    for _ in range(2 * MOST):
        clock.now += REFILL
        await recorder.record(sent, [])
    clock.now += 10 * REPEAT
    await recorder.record(sent, [])

    assert (held, recorder.events) == (MOST, {})


@pytest.mark.parametrize("lasts", [False, True], ids=["what happened", "findings"])
async def test_a_service_writes_few_new_events_at_once_and_findings_first(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, *, lasts: bool
) -> None:
    monkeypatch.setattr(events, "PATIENCE", 2.0)
    recorder, sent, wait = ServiceEvents(), Sent(), 0.0
    many = [replace(happened(str(number)), lasts=lasts) for number in range(BURST + 2)]
    holding = [*many, FOUND] if lasts else [FOUND]

    await recorder.record(sent, [*many, FOUND])
    clock.now += events.PATIENCE
    for _ in range(3):
        clock.now += wait
        wait = await recorder.record(sent, holding) or 0.0

    assert (len(sent), wait) == (BURST + 2, REFILL)
    assert lasts or sent[BURST].path.endswith(FOUND.name)


async def test_what_a_pause_withholds_leaves_the_burst_to_the_resumed_service(clock: Clock) -> None:
    recorder, sent = ServiceEvents(), Sent()

    async def withhold(_request: Request) -> None:
        return None

    for _ in range(2 * BURST):
        await recorder.record(withhold, [FOUND])
        clock.now += AGAIN
    await recorder.record(sent, [FOUND])

    assert len(sent) == 1


async def test_after_a_write_without_an_answer_the_others_wait(clock: Clock) -> None:  # noqa: ARG001 - it stands still
    recorder, sent = ServiceEvents(), Sent()
    sent.error = TimeoutError()

    wait = await recorder.record(sent, [happened(str(at)) for at in range(5)])

    assert (len(sent), wait) == (1, 10.0)


async def test_a_refused_event_is_dropped(clock: Clock) -> None:
    recorder, sent = ServiceEvents(), Sent()
    sent.error = ApiError(403, {"reason": "Forbidden"})

    assert await recorder.record(sent, [happened()]) is None
    clock.now += 60
    assert await recorder.record(sent, []) is None

    assert len(sent) == 1


async def test_the_message_of_an_event_controls_no_terminal(clock: Clock) -> None:
    sent, recorder = Sent(), ServiceEvents()
    for _ in range(2):
        await recorder.record(sent, [happened(message=HOSTILE)])
        clock.now += 3600.0

    messages = [request.body["message"] for request in sent if isinstance(request.body, dict)]
    assert [one.isprintable() for one in messages] == [True, True]


FOUND: Final = Occurrence(SUBJECT, "WaitingForRole", "m", "p.1", "Warning", lasts=True)


async def test_a_finding_is_written_once_it_has_lasted_and_again_while_it_persists(clock: Clock) -> None:
    recorder, sent = ServiceEvents(), Sent()

    assert await recorder.record(sent, [FOUND]) == pytest.approx(events.PATIENCE)
    clock.now += events.PATIENCE
    for _ in range(3):
        assert await recorder.record(sent, [FOUND]) == pytest.approx(REPEAT)
    clock.now += REPEAT
    await recorder.record(sent, [FOUND])

    assert counts(sent) == [1, 2]


async def test_a_new_message_of_a_finding_that_has_long_persisted_is_written_soon(clock: Clock) -> None:
    recorder, sent = ServiceEvents(), Sent()
    for _ in range(10):
        await recorder.record(sent, [FOUND])
        clock.now += REPEAT
    await recorder.record(sent, [FOUND])
    before = len(sent)

    wait = await recorder.record(sent, [replace(FOUND, message="another")])
    clock.now += wait or 0.0
    await recorder.record(sent, [replace(FOUND, message="another")])

    assert (before, len(sent)) == (10, 11)
    assert wait == pytest.approx(2 * AGAIN)


async def test_a_finding_that_passes_at_once_is_not_written(clock: Clock) -> None:
    recorder, sent = ServiceEvents(), Sent()
    await recorder.record(sent, [FOUND])
    await recorder.record(sent, [])
    clock.now += REPEAT

    assert (await recorder.record(sent, []), sent) == (None, [])


async def test_a_refused_event_of_a_finding_is_tried_again_later_and_later(clock: Clock) -> None:
    recorder, sent, waits = ServiceEvents(), Sent(), list[float]()
    await recorder.record(sent, [FOUND])
    clock.now += events.PATIENCE
    sent.error = ApiError(403, {"reason": "Forbidden"})

    for _ in range(3):
        waits.append(await recorder.record(sent, [FOUND]) or 0.0)
        clock.now += waits[-1]
    sent.error = None
    await recorder.record(sent, [FOUND])

    assert waits == [pytest.approx(seconds) for seconds in (10.0, 20.0, 40.0)]
    assert (counts(sent), recorder.events[FOUND.name].times) == ([1] * 4, 1)
