"""Run random sequences of writes, and report which violate the law of convergence (`walk`, `laws`).

python -m tests.laws.convergence [--sequences N] [--seed S] [--only I] [--carry-on]
                                 [--templates | --repeated | --released | --bypassed | --stale]

`make soak SOAK=convergence` runs it, and `test_law` runs some sequences. Neither accepts a violation. Edits
without a mapping, after which only the side laws are checked, are counted in the summary.

--only I       repeats one sequence of the seed
--templates    runs sequences of objects that name InferenceTemplates
--repeated     runs sequences of authors who write what was injected
--released     runs sequences with other releases (--bypassed: past the webhooks, --stale: older files too)
--carry-on     deletes and creates the object again after a violation, instead of ending the sequence
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from tests.laws.convergence.released import drawn_bypassed, drawn_released, drawn_stale
from tests.laws.convergence.repeated import drawn_repeated
from tests.laws.convergence.templated import drawn_templated
from tests.laws.convergence.walk import Sequence, Walk, drawn, run, shrunk

DRAWS: Final = {
    "templates": drawn_templated,
    "repeated": drawn_repeated,
    "released": drawn_released,
    "bypassed": drawn_bypassed,
    "stale": drawn_stale,
}


@dataclass(slots=True)
class Report:
    """What many sequences showed."""

    seed: int
    sequences: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    laws: Counter[str] = field(default_factory=Counter)
    causes: Counter[str] = field(default_factory=Counter)
    unmapped: Counter[str] = field(default_factory=Counter)
    failing: int = 0
    first: dict[str, tuple[int, Sequence]] = field(default_factory=dict)
    """The shortest sequence of each cause, with its number."""

    def add(self, number: int, sequence: Sequence, walk: Walk) -> None:
        """Count one sequence."""
        self.sequences += 1
        self.outcomes.update(outcome for _, outcome in walk.outcomes)
        self.unmapped.update(walk.unmapped)
        self.failing += bool(walk.violations)
        for at, found in enumerate(walk.violations):
            self.laws[found.law] += 1
            self.causes[found.cause] += 1
            known = self.first.get(found.cause)
            if not at and (known is None or found.step < len(known[1].steps)):
                self.first[found.cause] = (number, sequence.up_to(found.step))

    def summary(self) -> Iterator[str]:
        """Yield the lines of the summary."""
        steps = sum(self.outcomes.values())
        counts = ", ".join(f"{count} {outcome}" for outcome, count in self.outcomes.most_common())
        yield f"convergence, seed {self.seed}: {self.failing} of {self.sequences} sequences violate a law"
        yield f"{steps} steps: {counts}"
        for title, counter in (("by law", self.laws), ("edits without a mapping", self.unmapped)):
            named = ", ".join(f"{count} {name}" for name, count in counter.most_common())
            yield f"{title}: {named or 'none'}"

    def examples(self) -> Iterator[str]:
        """Yield the most frequent causes, each with its shortest sequence, shrunk."""
        counts = {cause: count for cause, count in self.causes.most_common(10) if cause in self.first}
        for cause, count in counts.items():
            number, sequence = self.first[cause]
            small = shrunk(sequence)
            detail = " ".join(found.detail for found in run(small).violations)
            steps = str(small).replace("\n", "\n    ")
            yield f"{count} times {cause}\n"
            yield f"  --seed {self.seed} --only {number}, shrunk:\n    {steps}\n  {detail}\n\n"


def main(arguments: list[str]) -> int:
    """Run the sequences that the arguments ask for; return 1 if one violates a law."""
    options = _options(arguments)
    report = Report(options.seed)
    for number in [options.only] if options.only is not None else range(options.sequences):
        draw = next((draw for name, draw in DRAWS.items() if getattr(options, name)), drawn)
        sequence = draw(options.seed, number)
        report.add(number, sequence, run(sequence, carry_on=options.carry_on))
    for text in report.examples():
        sys.stdout.write(text)
    for line in report.summary():
        sys.stdout.write(f"summary: {line}\n")
    return int(bool(report.laws))


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.laws.convergence")
    parser.add_argument("--sequences", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--carry-on", action="store_true", help="go on after a violation")
    for name in DRAWS:
        parser.add_argument(f"--{name}", action="store_true")
    parser.add_argument("--only", type=int, help="the number of one sequence, to repeat it")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
