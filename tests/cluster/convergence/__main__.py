"""Run random sequences of writes on the real API server, and report which violate the law of convergence.

python -m tests.cluster.convergence [--sequences N] [--seed S] [--steps K] [--only I ...]
                                   [--templates]

It starts an API server with LWS's and our webhooks. The sequences are those of `python -m
tests.laws.convergence` with the same seed. Each is simulated first, and each step on the real API server has
to equal the simulated one (`lockstep`).

--only I ...   runs some sequences of the seed; the simulation shrinks one that violates the law
--templates    runs sequences of objects that name InferenceTemplates, one at a time

Exit codes: 0 all is well, 1 a sequence violates a law or differs from the simulation.
"""

import argparse
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.cluster.convergence.report import results, summary, told
from tests.cluster.convergence.servers import serving
from tests.cluster.testbed.build import build
from tests.cluster.testbed.control_plane import running
from tests.cluster.testbed.modules import CHART_MODULES, CRDS, MODULES
from tests.cluster.testbed.ours import (
    install_manifests,
    start_templated_webhook,
    start_webhook,
    wait_admission,
)
from tests.laws.convergence.templated import drawn_templated
from tests.laws.convergence.walk import drawn

CONTROL: Final = ("lws",)
"""No other controller has anything to do: nothing runs."""


def main(arguments: list[str]) -> int:
    """Run the sequences that the arguments ask for; return 1 if one is not right."""
    options = _options(arguments)
    numbers = options.only or range(options.sequences)
    built = build(sys.stderr, (*MODULES, *CHART_MODULES))
    with running(built, CRDS, CONTROL) as cluster, TemporaryDirectory() as folder:
        install_manifests(cluster)
        start = start_templated_webhook if options.templates else start_webhook
        start(cluster)
        wait_admission(cluster)
        helm, draw = built.binary("helm"), drawn_templated if options.templates else drawn
        with serving(cluster, helm, Path(folder), templates=options.templates) as servers:
            began = time.monotonic()
            sequences = ((number, draw(options.seed, number, options.steps)) for number in numbers)
            found = told(results(servers, sequences), _say)
    for line in (*summary(options.seed, found), f"{time.monotonic() - began:.0f} s"):
        _say(f"summary: {line}\n")
    return int(any(one.differences or one.violation for one in found))


def _say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.cluster.convergence")
    parser.add_argument("--sequences", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, help="steps of each sequence; 3 to 8 without it")
    parser.add_argument("--only", type=int, nargs="+", help="the numbers of sequences, to repeat them")
    parser.add_argument("--templates", action="store_true", help="objects that name InferenceTemplates")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
