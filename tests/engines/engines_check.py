"""Real engines under the launches that admission writes: `make soak SOAK=engines`."""

import sys
from pathlib import Path
from typing import Final

import pytest

from tests.builders.patience import PATIENCE
from tests.cluster.testbed.processes import alive
from tests.cluster.testbed.wait import until
from tests.engines.cells import SECONDS, answered, begun, heard, ran
from tests.engines.matrix import CELLS, HARMS, Cell, Harm
from tests.soak import SUMMARY
from webhook.check import check

READY: Final[dict[Cell, float]] = {}
"""After how many seconds the group of a cell was ready: a wrong launch gets as long after its last word."""


def _cells(*outcomes: str) -> pytest.MarkDecorator:
    chosen = [one for one in CELLS if one.outcome in outcomes]
    return pytest.mark.parametrize("cell", chosen, ids=lambda one: one.title)


@_cells("runs")
def test_a_completion_comes_from_every_place_that_serves(cell: Cell, tmp_path: Path) -> None:
    READY[cell] = ran(cell, tmp_path)


@_cells("refused", "not on a CPU")
def test_an_engine_says_why_it_does_not_run_and_admission_says_so_first(cell: Cell, tmp_path: Path) -> None:
    with begun(cell, tmp_path) as there:
        heard(there, cell.said)
        until(lambda: not all(map(alive, there.pods)), "a pod ends", seconds=SECONDS, every=1)
        found = [one.code for one in check(there.lws)]

    assert cell.outcome == "not on a CPU" or cell.code in found


@pytest.mark.parametrize("harm", HARMS, ids=lambda one: one.title)
def test_a_wrong_launch_does_not_pass(harm: Harm, tmp_path: Path) -> None:
    seconds = READY.get(harm.cell, PATIENCE)
    with begun(harm.cell, tmp_path, harm.done) as there:
        heard(there, harm.said)
        with pytest.raises(AssertionError, match=harm.fails) as failed:
            answered(there, harm.cell, seconds)
    sys.stdout.write(f"\n{SUMMARY}{harm.title}: fails, {str(failed.value)[:120]}\n")
