"""Every part in this process runs, with next to nothing to measure.

Nothing here times anything. The parts on real components are tried in tests/cluster/bench_check.py.
"""

from tests.bench import stages, worst
from tests.bench.run import QUICK, Run


def test_the_stages_are_measured_and_have_goals() -> None:
    rows = list(stages.measure(Run(QUICK)))

    assert any(one.verdict for one in rows)
    assert all(one.value > 0 for one in rows)


def test_every_expensive_review_has_a_row_and_the_worst_is_named() -> None:
    names = [one.name for one in worst.measure(Run(QUICK), {"one": stages.body(stages.small())})]

    assert names == ["one", worst.SPENT, worst.SECONDS]
