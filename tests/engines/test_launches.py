"""One launch of each launcher on the real engine; `make soak SOAK=engines` has all of them."""

from pathlib import Path

import pytest

from tests.engines.cells import ran
from tests.engines.matrix import FIRST, Cell
from webhook.launchers import LAUNCHERS


@pytest.mark.parametrize("cell", FIRST, ids=lambda one: one.title)
def test_each_launcher_starts_its_engine_over_two_pods(cell: Cell, tmp_path: Path) -> None:
    assert ran(cell, tmp_path)


def test_there_is_a_launch_of_each_launcher() -> None:
    assert sorted(cell.launcher for cell in FIRST) == sorted(LAUNCHERS)
