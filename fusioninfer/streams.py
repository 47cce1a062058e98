"""The standard streams of the process: a reader that has gone away is no error, a full disk is one."""

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

import click

from fusioninfer.cli.program import FAILED

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class Output(io.FileIO):
    """Write to a file descriptor. After a failure the rest is discarded, and the command ends as usual.

    Its exit code is the same then: `fusioninfer validate DIRECTORY | head -1` fails if there are errors.
    """

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor, "wb", closefd=False)
        self.failure: OSError | None = None

    def write(self, data: "ReadableBuffer", /) -> int:
        """Write data, or discard it."""
        if self.failure is None:
            try:
                return super().write(data)
            except OSError as error:
                self.failure = error
        return memoryview(data).nbytes


@contextmanager
def opened() -> Iterator[None]:
    """Replace standard output and standard error while the command runs; exit if the output is not complete.

    What is not printed on a terminal is UTF-8, whatever the locale: kubectl reads nothing else.
    """
    # a stream is None if the process was started without it
    outputs = {
        name: Output(getattr(sys, name).fileno()) for name in ("stdout", "stderr") if getattr(sys, name)
    }
    for name, output in outputs.items():
        setattr(sys, name, _text(output, getattr(sys, name)))
    try:
        yield
    finally:
        for name in outputs:
            getattr(sys, name).flush()
        failure = outputs["stdout"].failure if "stdout" in outputs else None
        if failure is not None and not isinstance(failure, BrokenPipeError):
            click.echo(f"error: standard output: {failure.strerror}", err=True)
            sys.exit(FAILED)


def _text(output: Output, before: TextIO) -> TextIO:
    """Return a text stream that writes to an output."""
    terminal = before.isatty()
    return io.TextIOWrapper(
        io.BufferedWriter(output),
        encoding=before.encoding if terminal else "utf-8",
        errors="backslashreplace",
        line_buffering=terminal,
    )
