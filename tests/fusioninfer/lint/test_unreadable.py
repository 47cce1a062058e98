"""Files that cannot be read: a message with the file name, exit code 2, no traceback."""

import os
from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner, Result

from fusioninfer.cli import main
from intent import yaml

GOOD: Final = Path(__file__).parents[3] / "docs" / "examples" / "monolithic.yaml"
COMMANDS: Final = ("validate", "expand", "explain")
BOMB: Final = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{at}: &a{at} [{', '.join([f'*a{at - 1}'] * 10)}]\n" for at in range(1, 10)
)
BROKEN: Final = {
    "an alias bomb": BOMB,
    "maps that are merged": BOMB.replace("[", "{<<: [")
    .replace("]", "]}")
    .replace("[x, x, x, x, x, x, x, x, x, x]", "{}"),
    "an anchor within itself": "a: &a [*a]",
    "a key that is a map": "replicas: {{ .Values.replicas }}",
    "a key that is a list": "? [a]: b",
    "half of a surrogate pair": 'a: "\\ud800"',
    "half of a surrogate pair as a key": '"\\udc00": a',
    "a number that is infinite": "a: 1e999",
    "thousands of digits": "a: " + "9" * 5_000,
    "a set": "!!set {a, b}",
    "a date": "!!timestamp 2020-01-01",
    "a Python object": "!!python/object:os.system x",
    "an invalid integer": "!!int ''",
    "an invalid boolean": "!!bool x",
    "too many levels": "[" * 1_000,
    "deep lists": "- " * 5_000,
    "a list": "- a",
    "a zero byte": "a: \0",
}


def run(*arguments: str, text: str | bytes | None = None) -> Result:
    return CliRunner().invoke(main, arguments, input=text)


def is_reported(result: Result, name: str) -> bool:
    """Return whether the command failed with a message that contains `name`, and without a traceback."""
    return result.exit_code == 2 and name in result.stderr and not isinstance(result.exception, Exception)


@pytest.mark.parametrize("kind", BROKEN)
def test_an_unreadable_file_is_named(tmp_path: Path, kind: str) -> None:
    (tmp_path / "bad.yaml").write_text(BROKEN[kind])

    assert is_reported(run("validate", "-f", str(tmp_path / "bad.yaml")), "bad.yaml")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("content", [b"a: \xff", b"\xff\xfea", b"a: \xed\xa0\x80"])
def test_standard_input_that_is_not_utf_8_is_named(command: str, content: bytes) -> None:
    result = run(command, "-f", "-", text=content)

    assert is_reported(result, "-")
    assert command == "validate" or not result.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_a_missing_settings_file_is_named(command: str) -> None:
    assert is_reported(
        run(command, "-f", str(GOOD), "--config", "no-such-settings.yaml"), "no-such-settings.yaml"
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_an_unreadable_directory_is_named(
    tmp_path: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "iterdir", refuse)

    assert is_reported(run(command, "-f", str(tmp_path)), f"{tmp_path}: Permission denied")


def test_documents_before_an_error_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(GOOD.read_text().replace("service: ", "servise: ") + "\n---\na: [\n")

    result = run("validate", "-f", str(tmp_path / "a.yaml"))

    assert (result.exit_code, "a.yaml:7: error" in result.stdout) == (2, True)


def test_a_file_name_that_is_not_utf_8_can_be_printed(tmp_path: Path) -> None:
    name = os.fsdecode(os.fsencode(tmp_path) + b"/\xff.yaml")
    Path(name).write_text("kind: Namespace\n")

    assert run("validate", "-f", str(tmp_path)).exit_code == 0
    assert run("validate", "-f", name + "x").exit_code == 2


def test_aliases_of_a_file_are_read() -> None:
    text = "a: &a {x: 1, y: [2]}\nb: *a\nc: {<<: *a, x: 3}\n"

    assert list(yaml.load(text)) == [
        {"a": {"x": 1, "y": [2]}, "b": {"x": 1, "y": [2]}, "c": {"x": 3, "y": [2]}}
    ]


@pytest.mark.parametrize(("digits", "value"), [("9" * 18, 10**18 - 1), (str(2**64), float(2**64))])
def test_an_integer_of_more_than_64_bits_is_a_float(digits: str, value: float) -> None:
    assert list(yaml.load(f"a: {digits}")) == [{"a": value}]
    assert run("expand", "-o", "json", "-f", "-", text=f"a: {digits}").exit_code == 0
