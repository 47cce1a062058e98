"""The options that subcommands share: files and findings."""

from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner, Result

from fusioninfer.cli import demo, main

GOOD: Final = str(demo.EXAMPLES / "monolithic.yaml")
WARNED: Final = Path(GOOD).read_text().replace('- "8"\n', '- "16"\n').replace('- "4"\n', '- "2"\n')
WRONG: Final = Path(GOOD).read_text().replace("service: ", "zzz: ")
READERS: Final = ("validate", "expand", "explain")


def run(*arguments: str, text: str | None = None) -> Result:
    return CliRunner().invoke(main, arguments, input=text)


# --- files -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", READERS)
@pytest.mark.parametrize("words", [(GOOD,), ("-f", GOOD), ("--filename", GOOD), ("-",), ("-f", "-")], ids=str)
def test_a_file_is_an_argument_or_an_option(verb: str, words: tuple[str, ...]) -> None:
    result = run(verb, *words, text=Path(GOOD).read_text())

    assert (result.exit_code, result.stdout != "") == (0, True)


def test_arguments_and_options_are_read_together(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(WRONG)

    assert "2 objects checked" in run("validate", str(tmp_path / "a.yaml"), "-f", GOOD).stdout


@pytest.mark.parametrize("verb", READERS)
def test_directories_below_are_read_with_recursive(verb: str, tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "service.yaml").write_text(Path(GOOD).read_text())

    assert [run(verb, *words, str(tmp_path)).exit_code for words in ((), ("-R",), ("--recursive",))] == [
        2,
        0,
        0,
    ]


# --- findings ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", READERS)
def test_warnings_fail_if_asked_for(verb: str) -> None:
    assert run(verb, "-", text=WARNED).exit_code == 0
    assert run(verb, "--fail-on-warnings", "-", text=WARNED).exit_code == 1


@pytest.mark.parametrize("verb", READERS)
@pytest.mark.parametrize("listed", ["FI104,{}", "fi104, {} "])
def test_an_ignored_warning_is_not_printed_and_does_not_fail(verb: str, listed: str) -> None:
    code = run("validate", "-", text=WARNED).output.rpartition("(FI")[2][:3]

    result = run(verb, "-", "--fail-on-warnings", "--ignore", listed.format(f"FI{code}"), text=WARNED)

    assert (result.exit_code, f"FI{code}" in result.stderr) == (0, False)


def test_an_ignored_error_is_counted_as_ignored() -> None:
    result = run("validate", "-", "--ignore", "FI102", "--ignore", "FI103", text=WRONG)

    assert (result.exit_code, result.stdout) == (0, "0 errors, 0 warnings, 2 ignored; 1 object checked\n")


@pytest.mark.parametrize("verb", ["expand", "explain"])
def test_an_error_that_denies_the_object_cannot_be_ignored(verb: str) -> None:
    result = run(verb, "-", "--ignore", "FI102,FI103", text=WRONG)

    assert (result.exit_code, result.stdout, result.stderr.count("error: ")) == (1, "", 2)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("ray", "'RAY' is no code of `fusioninfer codes`"),
        ("", "'' is no code of `fusioninfer codes`"),
        ("FI601", "'FI601' is no code of `fusioninfer codes`"),
        ("FI905", "FI905 cannot be ignored: do not name the file instead"),
    ],
)
def test_an_unknown_code_is_an_error_of_usage(code: str, message: str) -> None:
    result = run("validate", "--ignore", code, GOOD)

    assert (result.exit_code, message in result.stderr) == (2, True)
