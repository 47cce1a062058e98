"""Show how far the build is: a bar for each module on a terminal, plain lines elsewhere."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

OnProgress = Callable[[str, int, int], None]
"""Called with a module's name, how many of its packages are compiled, and of how many."""

LINE_EVERY: Final = 500


@contextmanager
def build_progress(names: Sequence[str], stream: TextIO) -> Iterator[OnProgress]:
    """Show the modules that are still to be built. Where several processes have one terminal, bars clash."""
    if not stream.isatty() or "PYTEST_XDIST_WORKER" in os.environ:
        yield _lines(names, stream)
        return
    columns = (
        TextColumn("building {task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(file=stream)) as bars:
        yield _bars(names, bars)


def _bars(names: Sequence[str], bars: Progress) -> OnProgress:
    tasks = {name: bars.add_task(name, total=None, start=False) for name in names}

    def show(name: str, done: int, total: int) -> None:
        bars.start_task(tasks[name])
        bars.update(tasks[name], completed=done, total=total)

    return show


def _lines(names: Sequence[str], stream: TextIO) -> OnProgress:
    def show(name: str, done: int, total: int) -> None:
        if done % LINE_EVERY == 0 or done == total:
            left = ", ".join(names[names.index(name) + 1 :]) or "nothing"
            stream.write(f"building {name}: {done} of {total} packages; then left: {left}\n")
            stream.flush()

    return show
