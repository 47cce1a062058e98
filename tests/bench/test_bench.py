"""Every part runs, with next to nothing to measure; and an answer that is wrong ends it.

Nothing here times anything. The parts on real components are tried in tests/cluster/bench_check.py.
"""

from base64 import b64encode
from collections.abc import Iterator

import orjson
import pytest
from click.testing import CliRunner

from tests.bench import server, sizes, stages, worst
from tests.bench.__main__ import PARTS, Part, main
from tests.bench.report import Row, WrongAnswerError, expect, row
from tests.bench.run import QUICK, Run
from tests.bench.servers import NOTHING
from tests.cluster.testbed.toolchain import ModulesUnavailableError
from webhook import review
from webhook.review import AdmissionAnswer


@pytest.mark.parametrize("name", ["stages", "server"])
def test_a_part_measures_what_it_has_goals_for(name: str) -> None:
    rows = list(PARTS[name].measure(Run(QUICK)))

    assert any(one.verdict for one in rows)
    assert all(one.value > 0 for one in rows)


def test_every_kind_of_weight_has_a_row_and_the_most_expensive_is_named() -> None:
    few = dict(list(sizes.WEIGHTS.items())[:3])

    names = [one.name for one in sizes.measure(Run(QUICK), few)]

    assert names == [*few, sizes.MOST_EXPENSIVE]


def test_every_expensive_review_has_a_row_and_the_worst_is_named() -> None:
    names = [one.name for one in worst.measure(Run(QUICK), {"one": stages.body(sizes.small())})]

    assert names == ["one", worst.SPENT, worst.SECONDS]


@pytest.mark.parametrize("size", [10_000, 100_000])
@pytest.mark.parametrize("name", sizes.WEIGHTS)
def test_an_object_is_as_heavy_as_asked_for(name: str, size: int) -> None:
    weight = len(stages.body(sizes.weighted(sizes.WEIGHTS[name], size)))

    assert size * 0.8 <= weight <= size * 1.25


# --- wrong answers ----------------------------------------------------------------------------------


def test_a_server_that_allows_everything_is_found_out() -> None:
    with pytest.raises(WrongAnswerError, match="a request"):
        list(server.measure(Run(QUICK), ours=NOTHING))


def test_an_unexpected_outcome_of_a_review_is_detected() -> None:
    calls = stages.cases()
    calls["UPDATE, mutate: pinned"] = calls["CREATE, mutate: expanded"]

    with pytest.raises(WrongAnswerError, match="'patched' is not 'unchanged'"):
        stages.check(calls)


def test_a_patch_that_leads_elsewhere_is_found_out() -> None:
    calls = stages.cases()
    sent = calls["CREATE, mutate: expanded"][1]

    with pytest.raises(WrongAnswerError, match="expanded"):
        stages.check({"CREATE, mutate: expanded": (lost_operation, sent)})


def lost_operation(body: bytes) -> AdmissionAnswer:
    """Answer as /mutate does, without the last operation of the patch."""
    right = orjson.loads(review.mutate(body).body)
    operations = stages.operations(review.mutate(body))[:-1]
    right["response"]["patch"] = b64encode(orjson.dumps(operations)).decode()
    return AdmissionAnswer(orjson.dumps(right), "patched")


def wrong(_run: Run) -> Iterator[Row]:
    expect("one", "another", "an answer")
    yield row("never", "x", [1.0])


def slow(_run: Run) -> Iterator[Row]:
    yield Row("a thing", 2.0, "x", goal=1.0)


def test_a_wrong_answer_ends_the_command_with_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PARTS, "stages", Part("wrong", wrong))

    ended = CliRunner().invoke(main, ["stages"])

    assert (ended.exit_code, "wrong answer: an answer" in ended.output) == (1, True)


def absent(_run: Run) -> Iterator[Row]:
    yield from ()
    raise ModulesUnavailableError("no network")


def test_a_part_with_unavailable_components_is_reported_and_the_others_are_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(PARTS, "api", Part("absent", absent))
    monkeypatch.setitem(PARTS, "stages", Part("slow", slow))

    ended = CliRunner().invoke(main, ["api", "stages"])

    assert (ended.exit_code, "api is not measured" in ended.output, "a thing" in ended.output) == (
        2,
        True,
        True,
    )


def test_a_missed_goal_is_reported_and_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PARTS, "stages", Part("slow", slow))

    ended = CliRunner().invoke(main, ["stages"])

    assert (ended.exit_code, "missed: a thing" in ended.output) == (0, True)


def test_as_json_there_is_nothing_but_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PARTS, "stages", Part("slow", slow))

    ended = CliRunner().invoke(main, ["stages", "-o", "json"])

    assert orjson.loads(ended.stdout)["parts"]["stages"][0]["name"] == "a thing"
