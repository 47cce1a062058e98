"""Every part in this process runs, with next to nothing to measure.

Nothing here times anything. The parts on real components are tried in tests/cluster/bench_check.py.
"""

import pytest

from tests.bench import sizes, stages, worst
from tests.bench.__main__ import PARTS
from tests.bench.run import QUICK, Run


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
