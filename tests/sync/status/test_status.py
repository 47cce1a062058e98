"""The status as a whole: its times, its generation, and when it is written."""

from dataclasses import replace

from intent.errors import FieldError
from sync.status import differs, status, undated
from tests.sync.status.samples import (
    D0,
    LATER,
    NOW,
    P0,
    RULE,
    condition,
    routes,
    seen,
    service,
    waiting,
)

SHORT = seen(P0, D0, waiting("decode", 1, 4))


def test_every_condition_speaks_of_the_generation() -> None:
    made = status(seen(), {}, NOW)

    assert {one["observedGeneration"] for one in made["conditions"]} == {made["observedGeneration"]} == {3}


def test_conditions_stand_in_a_fixed_order() -> None:
    made = status(seen(), {}, NOW)

    assert [one["type"] for one in made["conditions"]] == [
        *("Initialized", "Scheduled", "RoutesReady", "Ready", "Active", "Progressing", "Failed")
    ]


def test_a_status_that_stays_keeps_its_time() -> None:
    before = status(seen(), {}, NOW)

    assert condition("Scheduled", SHORT, before, LATER)["lastTransitionTime"] == NOW


def test_a_status_that_changes_gets_a_new_time() -> None:
    before = status(seen(), {}, NOW)

    assert condition("Active", SHORT, before, LATER)["lastTransitionTime"] == LATER


def test_a_new_generation_alone_changes_no_time() -> None:
    before = status(seen(), {}, NOW)
    again = seen(service=replace(service(), generation=4))

    assert condition("Ready", again, before, LATER)["lastTransitionTime"] == NOW


def test_a_time_that_is_none_is_replaced() -> None:
    before = {"conditions": [condition("Ready", seen()) | {"lastTransitionTime": "yesterday"}]}

    assert condition("Ready", seen(), before, LATER)["lastTransitionTime"] == LATER


def test_a_message_is_cut_where_it_gets_long() -> None:
    long = FieldError("spec", None, "no " * 1000, "FI108")

    assert len(condition("Failed", seen(errors=(long,)))["message"]) == 1024


def test_the_same_rows_change_nothing() -> None:
    before = status(seen(routes=routes()), {}, NOW)

    assert not differs(status(seen(routes=routes()), before, LATER), before)


def test_conditions_of_others_change_nothing() -> None:
    before = status(seen(), {}, NOW)
    others = {"type": "Theirs", "status": "True"}

    assert not differs(
        status(seen(), before, LATER), before | {"conditions": [others, *before["conditions"]]}
    )


def test_without_its_times_a_status_says_the_same_later() -> None:
    assert undated(status(SHORT, {}, LATER)) == undated(status(SHORT, {}, NOW))


def test_without_its_times_a_status_still_says_what_changed() -> None:
    assert undated(status(SHORT, {}, NOW)) != undated(status(seen(), {}, NOW))


def test_a_finding_changes_something() -> None:
    before = status(seen(), {}, NOW)

    assert differs(status(seen(errors=(RULE,)), before, LATER), before)


def test_a_url_that_is_gone_changes_something() -> None:
    before = status(seen(), {}, NOW) | {"url": "http://old"}

    assert differs(status(seen(), before, LATER), before)
