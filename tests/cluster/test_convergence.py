"""The law of convergence on the real API server, with the real kubectl and Helm (`convergence`).

The sequences are those of `python -m tests.laws.convergence --seed 1`; the long form is
`python -m tests.cluster.convergence`.
"""

from pathlib import Path
from typing import Final

import pytest

from tests.cluster.convergence.lockstep import Result
from tests.cluster.convergence.report import results, summary
from tests.cluster.convergence.servers import OTHERS, serving
from tests.cluster.testbed.cluster import Cluster
from tests.laws.convergence.clients import BY_HAND, SCALE, TOOLS
from tests.laws.convergence.walk import drawn

SEED: Final = 1
NUMBERS: Final = (8, 12, 15, 18, 29, 58, 69, 82, 88, 97, 98, 99, 191)
"""Together they have every client, and another webhook before and after ours. In the last ones files and
`kubectl annotate` take our annotations away."""


@pytest.fixture(scope="module")
def found(admission: Cluster, helm: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Result]:
    """Run the sequences, and print what they showed."""
    with serving(admission, helm, tmp_path_factory.mktemp("clients")) as servers:
        known = list(results(servers, [(number, drawn(SEED, number)) for number in NUMBERS]))
    print(*summary(SEED, known), sep="\n")  # noqa: T201 - pytest shows it where a test fails
    return known


def test_the_sequences_have_every_client_and_every_place_of_another_webhook() -> None:
    sequences = [drawn(SEED, number) for number in NUMBERS]

    assert {step.client for one in sequences for step in one.steps} == {*TOOLS, *BY_HAND, SCALE}
    assert {one.other for one in sequences} == set(OTHERS)
    assert {"opted_in", "opt out"} <= {step.change for one in sequences for step in one.steps}


def test_every_step_equals_the_simulated_one(found: list[Result]) -> None:
    differing = [one for one in found if one.differences]

    fail_if_any(differing)


def test_both_objects_converge(found: list[Result]) -> None:
    violating = [one for one in found if one.violation]

    fail_if_any(violating)


def fail_if_any(wrong: list[Result]) -> None:
    """Fail with the whole sequences, and with how to repeat them."""
    if wrong:
        texts = [f"python -m tests.cluster.convergence --seed {SEED} {one}" for one in wrong]
        pytest.fail("\n\n".join(texts), pytrace=False)
