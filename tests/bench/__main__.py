"""Measure costs, part by part, as ratios wherever the speed of the machine cancels out.

    python -m tests.bench [--quick] [-o table|markdown|json] [PART...]

A wrong answer ends the run with exit code 1; exit code 2 means that components were unavailable.
A missed goal is no error: the machine may be noisy; the noise is printed too.
"""

import gc
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import click
from rich.console import Console

from intent import Object
from tests.bench import api, controller, stages
from tests.bench.noise import calibrate, summary
from tests.bench.report import Row, WrongAnswerError, document, markdown, table
from tests.bench.run import QUICK, WHOLE, Run
from tests.cluster.testbed.api import ApiError
from tests.cluster.testbed.toolchain import ModulesUnavailableError

WIDTH: Final = 150


@dataclass(frozen=True, slots=True)
class Part:
    """One part: what its table is called, and what measures it."""

    title: str
    measure: Callable[[Run], Iterator[Row]]


PARTS: Final[dict[str, Part]] = {
    "stages": Part("A review in process: CPU beside json.loads of the same body", stages.measure),
    "api": Part("A write on the real API server: ours beside LWS's own webhooks", api.measure),
    "controller": Part("The controller beside LWS's manager, with ten thousand services", controller.measure),
}


@click.command()
@click.argument("chosen", nargs=-1, metavar="[PART]...", type=click.Choice(list(PARTS)))
@click.option("--quick", is_flag=True, help="Measure next to nothing: see that it works.")
@click.option(
    "-o", "--output", type=click.Choice(["table", "markdown", "json"]), default="table", show_default=True
)
def main(chosen: tuple[str, ...], *, quick: bool, output: str) -> None:
    """Measure, and print; all parts if none is named: stages, api, controller."""
    run = Run(QUICK if quick else WHOLE)
    out = Console(width=WIDTH if not sys.stdout.isatty() else None, highlight=False)
    found: dict[str, list[Row]] = {}
    unmeasured = []
    for name in chosen or PARTS:
        try:
            found[name] = measured(PARTS[name], run)
        except (WrongAnswerError, ApiError) as error:
            click.echo(f"wrong answer: {error}", err=True)
            sys.exit(1)
        except ModulesUnavailableError as error:
            unmeasured.append(name)
            click.echo(f"{name} is not measured: {error}", err=True)
        else:
            if output == "table":
                out.print(table(PARTS[name].title, found[name]), "")
            elif output == "markdown":
                click.echo(markdown(PARTS[name].title, found[name]))
    click.echo(document(found, summary(run.noise)) if output == "json" else _said(found, summary(run.noise)))
    sys.exit(2 if unmeasured else 0)


def measured(part: Part, run: Run) -> list[Row]:
    """Measure one part; nothing of the one before is collected meanwhile."""
    gc.collect()
    gc.freeze()  # as the server does before its first review
    calibrate(run.noise)
    return list(part.measure(run))


def _said(found: Mapping[str, list[Row]], noise: Object) -> str:
    """Sum up: how many goals are met, which are missed, and how noisy it was."""
    rows = [one for part in found.values() for one in part if one.verdict]
    missed = [one.name for one in rows if one.verdict == "missed"]
    told = f"{len(rows) - len(missed)} of {len(rows)} goals met"
    told += f"; missed: {', '.join(missed)}" if missed else ""
    around = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in noise.items())
    return f"{told}\nnoise: {around}"


if __name__ == "__main__":
    main()
