"""Drawn sequences of writes violate no law.

`python -m tests.laws.convergence --seed S --only N` repeats sequence N of a seed, and shrinks it.
"""

from collections.abc import Callable, Iterator

import pytest

from tests.laws.convergence.files import File
from tests.laws.convergence.templated import drawn_templated
from tests.laws.convergence.walk import Sequence, Step, drawn, run

SEQUENCES = 125
APPLY = "server-side apply"
LORA = "sql=oci://registry/sql,law=hf://org/law:v1,maxCpuAdapters=4"
FOUND = {
    "arguments beside those of a block, after an apply": Sequence(
        File(size=1, lora=LORA), APPLY, "", (Step("edit", "append to worker"),)
    ),
    "arguments in place of another client's": Sequence(
        File(launcher="none", parallelism="tensor=4"), APPLY, "", (Step("json patch", "append to all"),)
    ),
    "a variable of the leader that the workers had too": Sequence(
        File(launcher="ray-start"),
        "helm",
        "",
        (
            Step("json patch", "leader env"),
            Step("replace by hand", "env of all"),
            Step("helm", "env", [["A", "1"]]),
        ),
    ),
    "a field of templates that the leader lost, when the workers' author empties its map": Sequence(
        File(refs="base"), APPLY, "", (Step("put", "leader node selector"), Step(APPLY, "empty", value=True))
    ),
}
"""Shrunk sequences that violated a law before their rule was mended."""


def violations(seed: int, sequences: int, draw: Callable[[int, int], Sequence] = drawn) -> Iterator[str]:
    """Yield the violations of the first sequences of a seed, each with the options that repeat it."""
    for number in range(sequences):
        sequence = draw(seed, number)
        for found in run(sequence).violations:
            steps = sequence.up_to(found.step)
            yield f"--seed {seed} --only {number}: {found.law}: {found.detail}\n{steps}"


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_the_stored_object_is_the_expansion_of_the_author_s(seed: int) -> None:
    assert list(violations(seed, SEQUENCES)) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_it_is_so_with_templates_that_change(seed: int) -> None:
    assert list(violations(seed, SEQUENCES, drawn_templated)) == []


@pytest.mark.parametrize("name", FOUND)
def test_a_sequence_that_violated_a_law_does_not_any_more(name: str) -> None:
    walk = run(FOUND[name])

    assert walk.violations == []
    assert {taken.outcome for taken in walk.taken} <= {"compared", "no write"}
