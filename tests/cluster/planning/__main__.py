"""Compare plans with the real schedulers, and report what differs.

python -m tests.cluster.planning [--cases N] [--seed S] [--only SEED ...] [--single]

The seeds are S, S + 1 and so on. --single: of pods in no gang, which Kubernetes' scheduler places.
Exit codes: 0 all is as planned, 1 something differs.
"""

import argparse
import sys
import time

from tests.cluster.planning.bed import scheduling
from tests.cluster.planning.cases import case, single
from tests.cluster.planning.compare import Outcome, compared
from tests.cluster.testbed.build import build
from tests.cluster.testbed.modules import MODULES, SCHEDULER_MODULES


def main(arguments: list[str]) -> int:
    """Run the cases that the arguments ask for; return 1 if one differs."""
    options = _options(arguments)
    seeds = options.only or range(options.seed, options.seed + options.cases)
    found: list[Outcome] = []
    began = time.monotonic()
    make = single if options.single else case
    with scheduling(build(sys.stderr, (*MODULES, *SCHEDULER_MODULES))) as cluster:
        for seed in seeds:
            found.append(compared(cluster, make(seed)))
            _say(f"{found[-1]}\n" if found[-1].differences else ".")
    wrong = [one for one in found if one.differences]
    _say(f"\nsummary: {summary(found)}, {time.monotonic() - began:.0f} s\n")
    for one in wrong:
        _say(f"summary: {one}\n")
    return int(bool(wrong))


def summary(found: list[Outcome]) -> str:
    """Return what cases showed, in one line."""
    steps, started = sum(one.steps for one in found), sum(one.started for one in found)
    uncertain, wrong = sum(one.uncertain for one in found), sum(bool(one.differences) for one in found)
    return (
        f"{len(found)} cases, {steps} nodes added, {started} groups started, "
        f"{uncertain} steps with ties that count, {wrong} cases differ"
    )


def _say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.cluster.planning")
    parser.add_argument("--cases", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, nargs="+", help="the seeds of some cases")
    parser.add_argument("--single", action="store_true", help="pods in no gang")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
