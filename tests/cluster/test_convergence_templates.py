"""The law of convergence with templates on the real API server: edited, deleted, hidden from the webhook.

The sequences are those of `python -m tests.laws.convergence --templates` with the same seed; `make soak
SOAK=convergence` runs many.
"""

from pathlib import Path
from typing import Final

import pytest

from tests.cluster.convergence.lockstep import Result
from tests.cluster.convergence.report import SEED, fail_if_any, numbers, results
from tests.cluster.convergence.servers import OTHERS, serving
from tests.cluster.testbed.cluster import Cluster
from tests.laws.convergence.templated import drawn_templated
from tests.laws.convergence.templates import LIBRARIES, TEMPLATES

FEW: Final = (16, 47, 49)
"""Of seed 1. Together they have every version of the templates, and another webhook before and after ours."""


@pytest.fixture(scope="module")
def found(templated: Cluster, helm: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Result]:
    """Run the sequences."""
    with serving(templated, helm, tmp_path_factory.mktemp("clients"), templates=True) as servers:
        return results(servers, [(number, drawn_templated(SEED, number)) for number in numbers(FEW)])


def test_the_sequences_have_all_templates_and_every_place_of_another_webhook() -> None:
    sequences = [drawn_templated(1, number) for number in FEW]
    steps = [step for one in sequences for step in one.steps if step.client == TEMPLATES]

    assert {step.value for step in steps} == LIBRARIES.keys()
    assert {one.other for one in sequences} == set(OTHERS)


def test_every_step_equals_the_simulated_one_and_both_objects_converge(found: list[Result]) -> None:
    fail_if_any([one for one in found if one.differences or one.violation])
