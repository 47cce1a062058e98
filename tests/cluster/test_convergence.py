"""The law of convergence on the real API server, with the real kubectl and Helm (`convergence`).

The sequences are those of `python -m tests.laws.convergence` with the same seed; `make soak SOAK=convergence`
runs many.
"""

from pathlib import Path
from typing import Final

import pytest

from tests.cluster.convergence.lockstep import Result
from tests.cluster.convergence.report import SEED, fail_if_any, numbers, results
from tests.cluster.convergence.servers import OTHERS, serving
from tests.cluster.testbed.cluster import Cluster
from tests.laws.convergence.clients import BY_HAND, SCALE, TOOLS
from tests.laws.convergence.walk import drawn

FEW: Final = (8, 12, 15, 18, 29, 58, 69, 82, 88, 97, 98, 99, 191)
"""Of seed 1. Together they have every client, and another webhook before and after ours. In the last ones
files and `kubectl annotate` take our annotations away."""


@pytest.fixture(scope="module")
def found(admission: Cluster, helm: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Result]:
    """Run the sequences."""
    with serving(admission, helm, tmp_path_factory.mktemp("clients")) as servers:
        return results(servers, [(number, drawn(SEED, number)) for number in numbers(FEW)])


def test_the_sequences_have_every_client_and_every_place_of_another_webhook() -> None:
    sequences = [drawn(1, number) for number in FEW]

    assert {step.client for one in sequences for step in one.steps} == {*TOOLS, *BY_HAND, SCALE}
    assert {one.other for one in sequences} == set(OTHERS)
    assert {"opted_in", "opt out"} <= {step.change for one in sequences for step in one.steps}


def test_every_step_equals_the_simulated_one_and_both_objects_converge(found: list[Result]) -> None:
    fail_if_any([one for one in found if one.differences or one.violation])
