"""The status as a whole: its times, its generation, and when it differs."""

from dataclasses import replace

import pytest

from intent import Object
from intent.errors import FieldError
from sync.status import differs, status, without_times
from sync.status.conditions import JUDGES
from sync.status.reasons import Verdict
from tests.builders.counted import counted
from tests.hostile.names import HOSTILE
from tests.sync.status.samples import (
    D0,
    DECODE,
    LATER,
    NOW,
    P0,
    condition,
    group,
    lws,
    seen,
    service,
    waiting,
)

SHORT = seen(P0, D0, waiting("decode", 1, 4))


def test_only_a_changed_condition_gets_a_new_time() -> None:
    before = status(seen(), {}, NOW)
    again = seen(service=replace(service(), generation=4))

    assert condition("Scheduled", SHORT, before, LATER)["lastTransitionTime"] == NOW
    assert condition("Ready", again, before, LATER)["lastTransitionTime"] == NOW
    assert condition("Active", SHORT, before, LATER)["lastTransitionTime"] == LATER


def test_a_long_message_is_truncated() -> None:
    long = FieldError("spec", None, "no " * 1000, "FI108")

    assert len(condition("Failed", seen(errors=(long,)))["message"]) == 1024


def test_a_message_controls_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(JUDGES, "Failed", lambda _seen: Verdict("PodsFailing", HOSTILE))

    message = condition("Failed", seen())["message"]

    assert message.isprintable()
    assert "u202e" in message


def test_conditions_of_other_writers_change_nothing() -> None:
    before = status(seen(), {}, NOW)
    others = {"type": "Theirs", "status": "True"}

    assert not differs(
        status(seen(), before, LATER), before | {"conditions": [others, *before["conditions"]]}
    )


def test_a_condition_of_an_earlier_release_is_removed_though_nothing_else_changes() -> None:
    before = status(seen(), {}, NOW)
    earlier = {"type": "Progressing", "status": "True", "reason": "ReplicasNotReady"}

    assert differs(status(seen(), before, LATER), before | {"conditions": [*before["conditions"], earlier]})


def test_without_its_times_only_a_changed_status_differs() -> None:
    assert without_times(status(SHORT, {}, LATER)) == without_times(status(SHORT, {}, NOW))
    assert without_times(status(SHORT, {}, NOW)) != without_times(status(seen(), {}, NOW))


@pytest.mark.parametrize("old", [{"url": "http://old"}, {"addresses": [{"name": "a", "url": "http://old"}]}])
def test_a_removed_address_changes_the_status(old: Object) -> None:
    before = status(seen(), {}, NOW) | old
    after = status(seen(), before, LATER)

    assert differs(after, before)


def calls(pods: int) -> int:
    """Count the calls of functions in one status of two roles with so many pods."""
    groups = pods // 2 // DECODE.nodes
    roles = tuple(replace(DECODE, name=name, replicas=groups) for name in ("prefill", "decode"))
    made = (group(role.name, at, role.nodes) for role in roles for at in range(groups))
    sets = {role.name: lws(role.name, replicas=groups) for role in roles}
    observed = seen(*made, service=service(*roles), sets=sets)
    with counted() as files:
        status(observed, {}, NOW)
    return files.total()


def test_a_status_takes_time_in_proportion_to_the_pods() -> None:
    """Each pod event of a rollout causes one."""
    calls(8)  # functions remember some results
    few, many = calls(64), calls(1024)

    assert many <= 16 * few
    assert many <= 15 * 1024
