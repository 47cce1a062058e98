"""Every part in this process runs, with next to nothing to measure.

Nothing here times anything. The parts on real components are tried in tests/cluster/bench_check.py.
"""

from tests.bench import stages
from tests.bench.run import QUICK, Run


def test_the_stages_are_measured_and_have_goals() -> None:
    rows = list(stages.measure(Run(QUICK)))

    assert any(one.verdict for one in rows)
    assert all(one.value > 0 for one in rows)
