"""Exit codes of errors and interrupts, and colours."""

from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner, Result

from fusioninfer.cli import main
from tests.fusioninfer.test_options import GOOD, WARNED


@pytest.fixture
def failing() -> Iterator[dict[str, BaseException]]:
    """Add a subcommand that raises an exception."""
    raised: dict[str, BaseException] = {}

    @main.command()
    def fail() -> None:
        raise raised["error"]

    yield raised
    del main.commands["fail"]


def run(*arguments: str, **options: object) -> Result:
    return CliRunner().invoke(main, arguments, **options)  # type: ignore[arg-type] # as CliRunner has them


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (KeyboardInterrupt(), 130, "\n"),
        (PermissionError(13, "Permission denied", "/a"), 2, "error: /a: Permission denied\n"),
        (OSError("no name"), 2, "error: no name\n"),
        (KeyError("x"), 2, "internal error: KeyError: 'x'\n"),
        (RecursionError("deep"), 2, "internal error: RecursionError: deep\n"),
        (MemoryError(), 2, "internal error: MemoryError: \n"),
        (click.UsageError("wrong"), 2, "Usage: "),
    ],
    ids=repr,
)
def test_an_exception_has_an_exit_code_and_no_traceback(
    failing: dict[str, BaseException], error: BaseException, code: int, message: str
) -> None:
    failing["error"] = error

    result = run("fail")

    assert (result.exit_code, result.stdout) == (code, "")
    assert result.stderr.startswith(message)
    assert "Traceback" not in result.stderr


def test_an_internal_error_says_where_it_is_and_what_to_do(failing: dict[str, BaseException]) -> None:
    failing["error"] = KeyError("x")

    shown = run("fail").stderr

    assert "tests/fusioninfer/test_program.py:" in shown
    assert "report it with the command and its input" in shown


@pytest.mark.parametrize(("value", "coloured"), [("", True), ("1", False)])
@pytest.mark.parametrize(
    "words", [("validate", "-"), ("explain", GOOD), ("engines",), ("expand", "-")], ids=str
)
def test_no_color_prints_no_colours(
    monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], value: str, *, coloured: bool
) -> None:
    monkeypatch.setenv("NO_COLOR", value)

    shown = run(*words, input=WARNED, color=True)

    assert ("\x1b[" in shown.output) is coloured
