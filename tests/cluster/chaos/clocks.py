"""The command, on a machine whose clocks are wrong: the one that people set, and the one that nobody sets."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import cycle
from typing import Final

from fusioninfer.cli import main
from server import controller
from sync import lease
from sync.clock import steady
from sync.lease import Leadership

HOURS: Final = (0, 1, -1, 9000)
"""How far off it is, one after the other, each time that somebody looks at it."""


def run_at(rate: float) -> None:
    """Run the command with a steady clock of another rate, and one for people that jumps."""
    changes = (
        (controller, "Leadership", partial(Leadership, clock=running_at(rate))),
        (lease, "precisely", jumping()),
    )
    for module, name, value in changes:
        setattr(module, name, value)
    main()


def running_at(rate: float) -> Callable[[], float]:
    """Return a clock that is slower or faster than others."""
    began = steady()
    return lambda: began + (steady() - began) * rate


def jumping() -> Callable[[], str]:
    """Return a clock that is hours off, and each time differently."""
    hours = cycle(HOURS)
    return lambda: (datetime.now(UTC) + timedelta(hours=next(hours))).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
