"""Files that cannot be read: a message that names the file, exit code 2, no traceback."""

import json
import os
from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner, Result

from fusioninfer.cli import main
from intent import yaml

GOOD: Final = Path(__file__).parents[2] / "docs" / "examples" / "monolithic.yaml"
VERBS: Final = ("validate", "expand", "explain")
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
    "another language's object": "!!python/object:os.system x",
    "no integer": "!!int ''",
    "no boolean": "!!bool x",
    "too deep": "[" * 1_000,
    "deep lists": "- " * 5_000,
    "a list": "- a",
    "a zero byte": "a: \0",
}


def run(*words: str, text: str | bytes | None = None) -> Result:
    return CliRunner().invoke(main, words, input=text)


def is_said(result: Result, name: str) -> bool:
    """Whether it ended with a line that names the file, and with no traceback."""
    return result.exit_code == 2 and name in result.stderr and not isinstance(result.exception, Exception)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("what", BROKEN)
def test_what_cannot_be_read_is_named(tmp_path: Path, what: str, verb: str) -> None:
    (tmp_path / "bad.yaml").write_text(BROKEN[what])

    assert is_said(run(verb, "-f", str(tmp_path / "bad.yaml")), "bad.yaml")


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("content", [b"a: \xff", b"\xff\xfea", b"a: \xed\xa0\x80"])
def test_standard_input_that_is_no_text_is_named(verb: str, content: bytes) -> None:
    assert is_said(run(verb, "-f", "-", text=content), "-")


@pytest.mark.parametrize("verb", VERBS)
def test_a_settings_file_that_is_not_there_is_named(verb: str) -> None:
    assert is_said(run(verb, "-f", str(GOOD), "--config", "no-such-settings.yaml"), "no-such-settings.yaml")


@pytest.mark.parametrize("verb", VERBS)
def test_a_directory_that_may_not_be_listed_is_named(
    tmp_path: Path, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "iterdir", refuse)

    assert is_said(run(verb, "-f", str(tmp_path)), f"{tmp_path}: Permission denied")


def test_one_file_that_cannot_be_read_hides_no_other(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("a: [")
    (tmp_path / "b.yaml").write_text(
        "kind: Namespace\n---\n" + GOOD.read_text().replace("service: ", "servise: ")
    )
    (tmp_path / "c.yaml").write_text("? [a]: b")

    told = run("validate", "-f", str(tmp_path))

    assert told.exit_code == 2
    assert [name in told.stderr for name in ("a.yaml", "b.yaml", "c.yaml")] == [True, False, True]
    assert "b.yaml" in told.stdout


def test_as_json_it_is_a_finding(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("a: [")

    told = run("validate", "-o", "json", "-f", str(tmp_path), "-f", str(GOOD))

    assert told.exit_code == 2
    first, *_ = json.loads(told.stdout)
    assert (first["code"], first["severity"], first["file"]) == ("FI905", "error", str(tmp_path / "a.yaml"))


def test_documents_before_the_broken_one_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(GOOD.read_text().replace("service: ", "servise: ") + "\n---\na: [\n")

    told = run("validate", "-f", str(tmp_path / "a.yaml"))

    assert (told.exit_code, "(document 1)" in told.stdout) == (2, True)


def test_a_name_that_is_no_text_can_be_printed(tmp_path: Path) -> None:
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
