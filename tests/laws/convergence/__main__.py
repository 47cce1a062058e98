"""Run random sequences of writes, and report which violate the law of convergence (`walk`, `laws`).

python -m tests.laws.convergence [--sequences N] [--seed S] [--steps K] [--examples E] [--only I] [--carry-on]
                                 [--templates] [--repeated] [--released]

`make soak SOAK=convergence` runs it, and `test_law` runs 500 sequences. Neither accepts a violation. Edits
without a mapping, after which only the side laws are checked, are counted in the summary.

--only I       repeats one sequence of the seed
--templates    runs sequences of objects that name InferenceTemplates
--repeated     runs sequences of authors who write what was injected
--released     runs sequences with other releases, writes past the webhooks, and older expanded files
--carry-on     deletes and creates the object again after a violation, instead of ending the sequence
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from tests.laws.convergence.clients import BY_HAND
from tests.laws.convergence.released import drawn_bypassed, drawn_released, drawn_stale
from tests.laws.convergence.repeated import drawn_repeated
from tests.laws.convergence.templated import drawn_templated
from tests.laws.convergence.walk import Sequence, Violation, Walk, drawn, run, shrunk

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
    edits: Counter[str] = field(default_factory=Counter)
    clients: Counter[str] = field(default_factory=Counter)
    causes: Counter[str] = field(default_factory=Counter)
    unmapped: Counter[str] = field(default_factory=Counter)
    pairs: dict[str, Counter[str]] = field(default_factory=dict)
    """The last edits of each cause."""
    failing: int = 0
    first: dict[str, tuple[int, Sequence]] = field(default_factory=dict)
    """The shortest sequence of each cause, with its number."""

    def add(self, number: int, sequence: Sequence, walk: Walk) -> None:
        """Count one sequence."""
        self.sequences += 1
        self.outcomes.update(outcome for _, outcome in walk.outcomes)
        self.unmapped.update(walk.unmapped)
        self.failing += bool(walk.violations)
        for found in walk.violations:
            self._add(number, sequence, found, is_first=found is walk.violations[0])

    def _add(self, number: int, sequence: Sequence, found: Violation, *, is_first: bool) -> None:
        client, _, change = found.change.partition(": ")
        self.laws[found.law] += 1
        self.edits[f"by hand: {change}" if client in BY_HAND else f"file: {change}"] += 1
        self.clients[client] += 1
        cause = found.cause
        self.causes[cause] += 1
        self.pairs.setdefault(cause, Counter())[change] += 1
        known = self.first.get(cause)
        if is_first and (known is None or found.step < len(known[1].steps)):
            self.first[cause] = (number, sequence.up_to(found.step))

    def summary(self) -> Iterator[str]:
        """Yield the lines of the summary."""
        steps = sum(self.outcomes.values())
        counts = ", ".join(f"{count} {outcome}" for outcome, count in self.outcomes.most_common())
        yield f"convergence, seed {self.seed}: {self.failing} of {self.sequences} sequences violate a law"
        yield f"{steps} steps: {counts}"
        for title, counter in (
            ("by law", self.laws),
            ("by last client", self.clients),
            ("by last edit", self.edits),
            ("edits without a mapping", self.unmapped),
        ):
            yield f"{title}: " + (
                ", ".join(f"{count} {name}" for name, count in counter.most_common()) or "none"
            )

    def examples(self, most: int) -> Iterator[str]:
        """Yield the most frequent causes, each with its shortest sequence, shrunk."""
        for cause, count in self.causes.most_common(most):
            if cause not in self.first:
                continue
            number, sequence = self.first[cause]
            small = shrunk(sequence)
            detail = " ".join(found.detail for found in run(small).violations)
            steps = str(small).replace("\n", "\n    ")
            edits = ", ".join(f"{many} {edit}" for edit, many in self.pairs[cause].most_common(6))
            yield f"{count} times {cause} (after {edits})\n"
            yield f"  --seed {self.seed} --only {number}, shrunk:\n    {steps}\n  {detail}\n\n"


def main(arguments: list[str]) -> int:
    """Run the sequences that the arguments ask for; return 1 if one violates a law."""
    options = _options(arguments)
    began, report = time.monotonic(), Report(options.seed)
    for number in [options.only] if options.only is not None else range(options.sequences):
        draw = next((draw for name, draw in DRAWS.items() if getattr(options, name)), drawn)
        sequence = draw(options.seed, number, options.steps)
        report.add(number, sequence, run(sequence, carry_on=options.carry_on))
        if number % 500 == 499:
            sys.stdout.write(f"{number + 1} sequences, {time.monotonic() - began:.0f} s\n")
            sys.stdout.flush()
    for text in report.examples(options.examples):
        sys.stdout.write(text)
    for line in report.summary():
        sys.stdout.write(f"summary: {line}\n")
    return int(bool(report.laws))


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.laws.convergence")
    parser.add_argument("--sequences", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, help="steps of each sequence; 3 to 8 without it")
    parser.add_argument(
        "--examples", type=int, default=10, help="causes that are shown with a shrunk sequence"
    )
    parser.add_argument("--carry-on", action="store_true", help="go on after a violation")
    for name in DRAWS:
        parser.add_argument(f"--{name}", action="store_true")
    parser.add_argument("--only", type=int, help="the number of one sequence, to repeat it")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
