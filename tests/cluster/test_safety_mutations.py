"""Each mutation has a scenario that catches it, and fails if what it changes is no longer there."""

import pytest

from tests.cluster.safety.mutations import MUTATIONS, replace_cells
from tests.cluster.safety.scenarios import SCENARIOS
from tests.cluster.safety.witness import Seen


def test_each_mutation_has_a_scenario() -> None:
    assert {mutation.scenario for mutation in MUTATIONS.values()} <= SCENARIOS.keys()


def test_cells_of_a_frozen_row_are_replaced() -> None:
    row = Seen("pods", "name", "uid")

    replace_cells(row, name="other")

    assert row == Seen("pods", "other", "uid")


def test_a_cell_that_is_gone_is_named() -> None:
    with pytest.raises(AttributeError, match="Seen has no colour"):
        replace_cells(Seen("pods", "name", "uid"), colour="red")
