"""Findings about the rollout strategy of a role."""

import pytest

from catalog.schemas import ROLLOUT, schemas
from hack.upstream import nodes
from intent import Object
from intent.rollout import OF_ROLLOUT, least_unavailable
from intent.schema import violations
from tests.builders.autoscaling import BROKEN_ROLLOUTS, GOOD_ROLLOUTS, rolling


def said(strategy: Object) -> list[str]:
    found = violations(strategy, schemas()[ROLLOUT].root, "r", OF_ROLLOUT)
    return [one.path for one in found]


def test_every_rule_is_about_a_field() -> None:
    assert OF_ROLLOUT.keys() <= {path for path, _ in nodes(schemas()[ROLLOUT].root)}


@pytest.mark.parametrize("strategy", GOOD_ROLLOUTS.values(), ids=GOOD_ROLLOUTS)
def test_a_valid_strategy_is_accepted(strategy: Object) -> None:
    assert said(strategy) == []


@pytest.mark.parametrize(("strategy", "path"), BROKEN_ROLLOUTS.values(), ids=BROKEN_ROLLOUTS)
def test_an_invalid_strategy_is_reported_at_its_field(strategy: Object, path: str) -> None:
    assert said(strategy) == [f"r{path}"]


@pytest.mark.parametrize(
    ("strategy", "replicas", "expected"),
    [
        (rolling(maxUnavailable="25%"), 2, 0),
        (rolling(maxUnavailable="25%"), 4, 1),
        (rolling(maxUnavailable="25%", maxSurge=0), 3, 0),
        (rolling(maxUnavailable="25%", maxSurge=1), 2, None),
        (rolling(maxUnavailable=0), 2, None),
        (rolling(maxUnavailable="0%"), 2, None),
        (rolling(maxUnavailable="many"), 2, None),
        (rolling(), 2, None),
        ({}, 2, None),
    ],
)
def test_a_share_is_rounded_down(strategy: Object, replicas: int, expected: int | None) -> None:
    assert least_unavailable(strategy, replicas) == expected
