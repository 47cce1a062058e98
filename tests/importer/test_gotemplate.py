"""What templates print, and what is refused with its place. `tests/cluster/test_gotemplate.py` asks Go."""

import re
import time
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from importer.gotemplate import (
    DEEPEST,
    DEFAULT,
    FUNCTIONS,
    MOST_CHARACTERS,
    Pointer,
    Struct,
    TemplateError,
    render,
)

DATA: Final = Struct(
    {
        "Name": 'a"b',
        "Size": Pointer(0),
        "Absent": None,
        "Below": Struct({"Number": 5}),
        "Items": ["b", "a"],
        "Map": {"z": 1, "a": 2},
    }
)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("{{ .Name }}", 'a"b'),
        ("a {{- .Below.Number -}} \n b", "a5b"),
        ("{{ if .Size }}optional{{ end }}", "optional"),
        ("{{ or .Absent 1 }} {{ or .Size 1 }}", "1 0"),
        ("{{ if and .Absent .Absent.Below }}a{{ else if .Below }}b{{ else }}c{{ end }}", "b"),
        ("{{ (or .Absent .Map.a) | eq 2 }}", "true"),
        ("{{ not .Size }} {{ eq `a` .Name `a` }} {{ `text` }}", "false true text"),
        ("no action", "no action"),
    ],
)
def test_a_template_is_rendered(source: str, text: str) -> None:
    assert render(source, DATA) == text


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("a\n{{ .Nope }}", "2:4: {{ .Nope }}: there is no field Nope"),
        ("{{ .Absent.X }}", "1:11: {{ .Absent.X }}: an absent value has no field X"),
        ("{{ .Absent }}", "1:4: {{ .Absent }}: an absent value cannot be printed"),
        ("{{ upper .Name }}", "1:4: {{ upper .Name }}: function upper is not supported"),
        ("{{ $x := 1 }}", "1:4: {{ $x := 1 }}: $x is not supported"),
        ("{{/* note */}}", "1:3: {{/* note */}}: /* is not supported"),
        ("{{ . }}", "1:4: {{ . }}: . is not supported"),
        ("{{ `a` | printf }}", "1:10: {{ `a` | printf }}: function printf is not supported"),
        ("{{ range .Items }}", "1:4: {{ range .Items }}: range is not supported"),
        ("{{ with .Below }}", "1:4: {{ with .Below }}: with is not supported"),
        ("{{ template `a` }}", "1:4: {{ template `a` }}: template is not supported"),
        ("{{ if .Name }}", "1:4: {{ if .Name }}: if needs an end"),
        ("{{ end }}", "1:4: {{ end }}: end without a block"),
        ("{{ .Name", "1:4: {{ .Name: the action does not end"),
        ("{{ not }}", "1:4: {{ not }}: the function takes 1 arguments, not 0"),
        ("{{ eq 1 `a` }}", "1:4: {{ eq 1 `a` }}: values of different types cannot be compared"),
    ],
)
def test_what_is_not_supported_is_an_error_with_its_place(source: str, message: str) -> None:
    with pytest.raises(TemplateError) as caught:
        render(source, DATA)
    assert str(caught.value) == message


BOMBS: Final = {
    "long": "a" * (MOST_CHARACTERS + 1),
    "deep blocks": "{{ if . }}" * 5000 + "{{ end }}" * 5000,
    "deep alternatives": "{{ if . }}" + "{{ else if . }}" * 5000 + "{{ end }}",
    "deep parentheses": "{{ " + "(" * 5000 + "." + ")" * 5000 + " }}",
    "output": "{{ .L }}" * 100_000,
    "operands": "{{ or" + " .Nope" * 100_000 + " }}",
    "values": "{{ eq" + " .L" * 200_000 + " 1 }}",
    "blanks": "{{" + " " * 500_000,
    "quotes": '{{ "' + "\\" * 500_000,
}


@pytest.mark.parametrize("source", BOMBS.values(), ids=BOMBS)
def test_a_template_costs_little_whatever_it_is(source: str) -> None:
    assert DEEPEST < 5000
    start = time.process_time()
    with pytest.raises(TemplateError):
        render(source, Struct({"L": "a" * 4000}), {**FUNCTIONS, "default": DEFAULT})
    assert time.process_time() - start < 20


WORDS: Final = '{{ }} {{- -}} if else end .Name . $ | ( ) "a" `b` 1 nil default or /* */ \\ .Items eq'
TEXTS: Final = st.lists(st.sampled_from([*re.findall(r"\S+", WORDS), " ", "\n", "\u2028"]), max_size=25)


@given(parts=TEXTS)
def test_any_text_is_rendered_or_refused(parts: list[str]) -> None:
    source = "".join(parts)
    found: list[Any] = []
    for _ in range(2):
        try:
            found.append(render(source, DATA))
        except TemplateError as error:
            found.append(str(error))
    assert found[0] == found[1]
    assert len(found[0]) <= MOST_CHARACTERS
