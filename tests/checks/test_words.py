"""The search for banned words: what it reads of a file, and where a word is wrong."""

import re

import pytest

from tests.checks.words import Word, files, find, lines, table

WIDGET = Word(re.compile("widget", re.IGNORECASE), "component", (), ())


@pytest.mark.parametrize(
    ("file", "text", "numbers"),
    [
        ("a.py", '"""First.\n\nA widget."""\n', [3]),
        ("a.py", "x = 1  # a widget\n", [1]),
        ("a.py", "\ndef test_a_widget_waits() -> None: ...\n", [2]),
        ("a.py", "widget = wait(widget)\n", []),
        ("a.md", "One.\nA Widget.\n", [2]),
        ("a.yaml", "widget: 1\n# a widget\nmessage: a widget\n", [2, 3]),
    ],
)
def test_words_are_found_where_people_read(file: str, text: str, numbers: list[int]) -> None:
    assert [one.line for one in find((WIDGET,), file, text)] == numbers


def test_a_word_may_be_wrong_in_some_folders_only() -> None:
    gadget = Word(re.compile("gadget"), "serving certificate", ("certs/",), ("certs/x509.py",))

    wrong = [file for file in ("certs/a.py", "certs/x509.py", "sync/a.py") if gadget.concerns(file)]

    assert wrong == ["certs/a.py"]


def test_a_place_names_file_line_and_what_to_write_instead() -> None:
    (found,) = find((WIDGET,), "a.md", "A widget.\n")

    assert str(found) == "a.md:1: 'widget': write component"


def test_the_table_is_read_and_the_files_are_there() -> None:
    assert all(word.instead for word in table())
    assert {"README.md", "Makefile", "tests/checks/words.py"} <= {*files()}
    assert not any(file.endswith("banned_words.yaml") for file in files())


def test_python_is_read_without_its_code() -> None:
    assert list(lines("a.py", "x = f(1)\n# note\n")) == [(2, "# note")]
