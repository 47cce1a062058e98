"""What templates print, and what is refused with its place. `tests/cluster/test_gotemplate.py` asks Go."""

import re
import time
from contextlib import suppress
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from importer.gotemplate import MOST_CHARACTERS, TemplateError, render

DATA: Final = {
    "Name": 'a"b',
    "Size": 8,
    "Absent": None,
    "Below": {"Number": 5},
    "Items": ["b", "a"],
    "Map": {"z": 1, "a": 2},
}


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("{{ .Name }}", 'a"b'),
        ("a {{- .Below.Number -}} \n b", "a5b"),
        ("{{ if .Size }}optional{{ end }}", "optional"),
        ("{{ or .Absent 1 }} {{ or .Size 1 }}", "1 8"),
        ("{{ if and .Absent .Absent.Below }}a{{ else }}{{ if .Below }}b{{ else }}c{{ end }}{{ end }}", "b"),
        ("{{ if .Absent }}a{{ if .Below }}b{{ else }}c{{ end }}{{ else }}d{{ end }}", "d"),
        ("{{ or .Absent .Map.a | eq 2 }}", "true"),
        ("{{ not .Size }} {{ eq `a` .Name `a` }} {{ `text` }}", "false true text"),
        ("no action", "no action"),
    ],
)
def test_a_template_is_rendered(source: str, text: str) -> None:
    assert render(source, DATA) == text


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("a\n{{ .Nope }}", "{{ .Nope }}: there is no field Nope"),
        ("{{ .Absent.X }}", "{{ .Absent.X }}: there is no field X"),
        ("{{ .Absent }}", "{{ .Absent }}: the value is absent, or is no text, number or boolean"),
        ("{{ upper .Name }}", "{{ upper .Name }}: upper is not supported here"),
        ("{{ if .Absent }}{{ upper .Name }}{{ end }}", "{{ upper .Name }}: upper is not supported here"),
        ("{{ $x := 1 }}", "{{ $x := 1 }}: $x is not supported"),
        ("{{/* note */}}", "{{/* note */}}: /* is not supported"),
        ("{{ . }}", "{{ . }}: . is not supported"),
        ("{{\u2028}}", "{{\u2028}}: \u2028 is not supported"),
        ("{{ (not 1) }}", "{{ (not 1) }}: (not is not supported"),
        ("{{ or not 1 }}", "{{ or not 1 }}: it is neither a value nor a call with values"),
        ("{{ range .Items }}", "{{ range .Items }}: range is not supported here"),
        ("{{ if 1 }}{{ else if 1 }}{{ end }}", "{{ else if 1 }}: else is not supported here"),
        ("{{ if .Name }}", "an if has no end"),
        ("{{ end }}", "{{ end }}: end cannot stand here"),
        ("{{ if 1 }}{{ else }}{{ else }}{{ end }}", "{{ else }}: else cannot stand here"),
        ("{{ .Name", "{{ .Name: the action does not end"),
        ("{{ }}", "{{ }}: it is neither a value nor a call with values"),
        ("{{ .Name .Size }}", "{{ .Name .Size }}: it is neither a value nor a call with values"),
        ("{{ not 1 2 }}", "{{ not 1 2 }}: not does not take these arguments"),
        (
            "{{ eq 1 `a` }}",
            "{{ eq 1 `a` }}: only texts, numbers and booleans are compared, with values of their own type",
        ),
    ],
)
def test_what_is_not_supported_is_an_error_with_its_place(source: str, message: str) -> None:
    with pytest.raises(TemplateError) as caught:
        render(source, DATA)
    assert str(caught.value) == message


BOMBS: Final = {
    "blocks": "{{ if .L }}" * 50_000,
    "output": "{{ .L }}" * 100_000,
    "operands": "{{ or" + " .Nope" * 100_000 + " }}",
    "blanks": "{{" + " " * 500_000,
    "actions": "{{" * 200_000,
    "quotes": '{{ "' + "\\" * 500_000,
}


@pytest.mark.parametrize("source", BOMBS.values(), ids=BOMBS)
def test_a_template_costs_little_whatever_it_is(source: str) -> None:
    start = time.process_time()
    with pytest.raises(TemplateError):
        render(source, {"L": "a" * 4000})
    assert time.process_time() - start < 20


WORDS: Final = '{{ }} {{- -}} if else end .Name . $ | ( ) "a" `b` 1 nil default or /* */ \\ .Items eq'
TEXTS: Final = st.lists(st.sampled_from([*re.findall(r"\S+", WORDS), " ", "\n", "\u2028"]), max_size=25)


@given(parts=TEXTS)
def test_any_text_is_rendered_or_refused(parts: list[str]) -> None:
    with suppress(TemplateError):
        assert len(render("".join(parts), DATA)) <= MOST_CHARACTERS
