"""Every part runs, with next to nothing to measure; and an answer that is wrong ends it.

Nothing here times anything. The parts on real components are tried in tests/cluster/bench_check.py.
"""

from base64 import b64encode

import orjson
import pytest

from tests.bench import server, sizes, stages, worst
from tests.bench.__main__ import PARTS
from tests.bench.report import WrongAnswerError
from tests.bench.run import QUICK, Run
from tests.bench.servers import NOTHING
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
