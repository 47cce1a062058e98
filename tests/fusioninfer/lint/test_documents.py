"""Reading and writing documents."""

import time
from pathlib import Path
from typing import Final

import pytest

from fusioninfer.lint import documents
from fusioninfer.lint.documents import Document, UnreadableFileError
from intent import yaml
from tests.builders.documents import read_files


def test_a_file_may_hold_several_documents(tmp_path: Path) -> None:
    file = tmp_path / "two.yaml"
    file.write_text("kind: A\n---\n# nothing\n---\nkind: B\n")

    read = read_files([str(file)])

    assert read == [Document(str(file), 1, {"kind": "A"}), Document(str(file), 3, {"kind": "B"})]


def test_a_list_is_replaced_by_its_items(tmp_path: Path) -> None:
    file = tmp_path / "list.json"
    file.write_text('{"kind": "List", "items": [{"kind": "A"}, {"kind": "List", "items": [{"kind": "B"}]}]}')

    assert [one.object["kind"] for one in read_files([str(file)])] == ["A", "B"]


def test_a_directory_is_read_in_order_of_names(tmp_path: Path) -> None:
    for name in ("b.yml", "a.yaml", "c.json", "notes.txt"):
        (tmp_path / name).write_text(f'{{"kind": "{name}"}}')

    assert [one.object["kind"] for one in read_files([str(tmp_path)])] == ["a.yaml", "b.yml", "c.json"]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("a: [", r":1:5: "),
        ("a: 1\na: 2\n", r":2:1: duplicate key 'a'"),
        ("a: b: c\n", r":1:5: mapping values are not allowed here$"),
        (
            "{{- if .Values.a }}\na: b\n{{- end }}\n",
            r":1:3: .*a template that was not rendered: pass the output of helm template",
        ),
        ("a: {{ .Values.a }}\n", r":1:5: a key must be text; this may be a template .*: pass the output of"),
        (
            "a: {name: ${NAME}, b: 1}\n",
            r"not rendered: pass the output of envsubst, which fills in \$\{NAME\}",
        ),
        ("a: {name: ${NAME}-ep, b: 1}\n", r"pass the output of envsubst, which fills in \$\{NAME\}"),
        ("a: [${NAME:-b}, c, {d}\n", r"pass the output of envsubst, which fills in \$\{NAME:"),
        ("a: [__NAME__, {d}\n", r"pass the output of envsubst, which fills in __NAME__"),
        ("a: 'echo ${NAME}'\nb: [\n", r":3:1: [^$]*$"),
        ("a: {[1]: b}\n", r":1:5: a key must be text$"),
        ("---\na: 1\n---\n- 1\n", r":4: must be an object"),
        ("kind: List\nitems: [3]\n", r":2: must be an object"),
    ],
)
def test_an_error_names_its_location(tmp_path: Path, text: str, what: str) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(text)

    with pytest.raises(UnreadableFileError, match=what):
        read_files([str(file)])


@pytest.mark.parametrize("missing", ["no-such-file.yaml", "."])
def test_a_missing_file_is_named(tmp_path: Path, missing: str) -> None:
    with pytest.raises(UnreadableFileError, match=str(tmp_path)):
        read_files([str(tmp_path / missing)])


@pytest.mark.parametrize("target", ["/dev/zero", "large"])
def test_a_file_without_an_end_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str) -> None:
    (tmp_path / "large").write_text("a" * 1001)
    (tmp_path / "a.yaml").symlink_to(target)
    monkeypatch.setattr(documents, "LARGEST", 1000)

    with pytest.raises(UnreadableFileError, match=r"a\.yaml: is larger than"):
        read_files([str(tmp_path)])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("8", 8),
        ("1e3", 1000.0),
        ("0o17", 15),
        ("2026-11-21", "2026-11-21"),
        ("1:30", "1:30"),
        ("yes", True),
        ("v0.11.0", "v0.11.0"),
    ],
)
def test_scalars_are_read_as_kubernetes_reads_them(text: str, value: object) -> None:
    (read,) = yaml.load(f"a: {text}")

    assert read == {"a": value}


@pytest.mark.parametrize(
    "text", ["8", "1e3", "0x1f", "yes", "null", "2026-11-21", "1.5", "a: b", "- x", "", "$(X)"]
)
def test_a_string_stays_a_string(text: str) -> None:
    (again,) = yaml.load(yaml.dump({"a": text}))

    assert again == {"a": text}


def test_a_file_that_is_named_twice_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("kind: A")

    assert len(read_files([str(tmp_path), str(tmp_path / "a.yaml")])) == 1


def test_an_empty_file_is_a_document_without_fields(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("# nothing\n---\n")

    assert read_files([str(tmp_path)]) == [Document(str(tmp_path / "a.yaml"), 1, {})]


def test_a_file_name_is_printed_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "a\n\x1b[31m.yaml").write_text("a: [")

    with pytest.raises(UnreadableFileError, match=r"a\\n\\x1b\[31m.yaml:1:5: ") as found:
        read_files([str(tmp_path)])

    assert (found.value.line, str(found.value).isprintable()) == (1, True)


SHAPES: Final = (
    *(
        *("[", "{", "{a: ", "[a,", "[{a: ", "[\n", "[]", "[[a], ", "- ", "-\n", "? ", "?\n", "{?"),
        *("a: [\n", "a: 1\n"),
    ),
    *(
        *('"', '"a\n', 'a: "b\nc": "\n', "'\n", "|\n", "&a ", "!a ", "*a ", "---\n", "%a b\n", ": "),
        *("<<: ", "\t"),
    ),
    *("#\n", "a, ", "\u2028b", "{{", "}}", "\ufeff", "\r"),
)
"""Texts that some reader of YAML takes quadratic time for if they are repeated."""


def _seconds(text: str) -> tuple[float, str]:
    """Return the seconds of CPU to read a text, and the error."""
    begun, message = time.thread_time(), ""
    try:
        list(documents.parsed(text, "f"))
    except UnreadableFileError as error:
        message = str(error)
    return time.thread_time() - begun, message


@pytest.mark.parametrize("opening", ["", "a: '"])
def test_a_hostile_file_takes_no_longer_than_an_ordinary_one_of_its_size(opening: str) -> None:
    ordinary, _ = _seconds("".join(f"k{at}: 1\n" for at in range(1_600)))
    slow = {}

    for shape in SHAPES:
        spent, _ = _seconds(opening + shape * (12_000 // len(shape)))
        if spent > 10 * ordinary:
            slow[shape] = spent / ordinary

    assert slow == {}


@pytest.mark.parametrize("shape", ["[", "- ", "{a: "])
def test_a_file_that_is_nested_too_deeply_is_told_the_place_and_the_remedy(shape: str) -> None:
    _, message = _seconds("a: 1\n---\n" + shape * 1_000)

    assert message.startswith("f:3:")
    assert "correct the brackets or the indentation" in message
