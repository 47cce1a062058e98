"""The parts of the bench that need real components run, with next to nothing to measure. Nothing is timed.

`make soak SOAK=bench` runs it.
"""

import pytest

from tests.bench import api, controller, stages
from tests.bench.report import GOALS, Row
from tests.bench.run import QUICK, Run
from tests.cluster.testbed.cluster import Cluster


@pytest.fixture(scope="module")
def rows(cluster: Cluster) -> list[Row]:  # noqa: ARG001 - where that can be had, the bench starts its own
    return [*api.measure(Run(QUICK)), *controller.measure(Run(QUICK))]


def test_every_goal_is_of_something_that_is_measured(rows: list[Row]) -> None:
    assert GOALS.keys() - stages.OUTCOMES.keys() == {one.name for one in rows if one.verdict}


def test_a_write_that_does_not_concern_us_costs_us_nothing(rows: list[Row]) -> None:
    plain = next(one for one in rows if one.name == "CPU of a plain CREATE")

    assert (plain.beside["calls"], plain.beside["calls_of_lws"]) == (0.0, 2.0)


def test_a_write_that_does_is_two_calls_of_each(rows: list[Row]) -> None:
    create = next(one for one in rows if one.name == "CPU of a CREATE")

    assert (create.beside["calls"], create.beside["calls_of_lws"]) == (2.0, 2.0)
