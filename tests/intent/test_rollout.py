"""The rules of rollout strategies, which no schema has. LeaderWorkerSet itself is asked in tests/cluster."""

import pytest

from catalog.schemas import schemas
from hack.upstream import nodes
from intent import Object
from intent.inferenceservice.embedded import EMBEDDED
from intent.rollout import least_unavailable
from intent.schema import violations
from tests.builders.autoscaling import BROKEN_ROLLOUTS, GOOD_ROLLOUTS, rolling

ROW = EMBEDDED["rolloutStrategy"]


def paths(spec: Object) -> set[str]:
    """Return the fields of all violations."""
    return {one.path for one in violations(spec, ROW.schema.root, "r", ROW.rules)}


@pytest.mark.parametrize("field", EMBEDDED)
def test_every_rule_is_about_a_field(field: str) -> None:
    row = EMBEDDED[field]

    assert row.rules.keys() <= {path for path, _ in nodes(schemas()[row.name].root)}


@pytest.mark.parametrize("spec", GOOD_ROLLOUTS.values(), ids=GOOD_ROLLOUTS)
def test_a_valid_strategy_is_accepted(spec: Object) -> None:
    assert paths(spec) == set()


@pytest.mark.parametrize(("spec", "where"), BROKEN_ROLLOUTS.values(), ids=BROKEN_ROLLOUTS)
def test_an_invalid_strategy_is_reported_at_its_field(spec: Object, where: str) -> None:
    assert paths(spec) == {f"r{where}"}


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
