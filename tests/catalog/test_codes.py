"""docs/codes.md has one entry a code: what is found, and each rule by which something is put on."""

from pathlib import Path
from typing import Final

import pytest

from catalog.codes import CODES, PARTS
from webhook.mutate.rules import RULES, SIZE, WAYS_OUT, Input

PAGE: Final = Path(__file__).parents[2] / "docs" / "codes.md"
CHAPTERS: Final = {
    "1": "Annotations and shape",
    "2": "The gang",
    "3": "The launch",
    "4": "The service as a whole",
    "5": "Warnings",
    "6": "What is put on",
    "7": "The InferenceService",
    "8": "Routes, and what the loop makes",
    "9": "The webhook itself",
}
START: Final = """\
# Codes

<!-- made from catalog/codes and webhook/mutate/rules.py by `make golden` -->

Every finding ends with a code, in an answer of the API server, in an Event and on files. A code never changes
its meaning. Errors deny an object; on an update whose author changed nothing they only warn.
`fusioninfer codes` lists them, `fusioninfer explain` names the rule of every field that is put on.
"""


def entries() -> dict[str, str]:
    """Write an entry for each code."""
    found = {
        code: f"### {code}\n\n{_sentence(row.title)} ({row.severity}).\n\n"
        f"**Cause:** {row.cause}.\n\n**What to do:** {row.remedy}.\n"
        for code, row in CODES.items()
    }
    rules = {
        rule.code: f"### {rule.code}\n\n`{rule.concern}`: {rule.reason}.\n\n"
        f"**Cause:** the first of these that you wrote: {', '.join(map(_named, rule.inputs))}.\n\n"
        f"**To do without:** {WAYS_OUT[rule.concern]}.\n"
        for rule in RULES
    }
    return found | rules


def _named(written: Input) -> str:
    """Name what an author wrote, as it stands in a file."""
    if written[:1] == ("metadata",):
        return f"`{written[-1]}`"
    return "a `size` of 2 or more" if written == SIZE else f"the engine's `{written[-1]}`"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def page() -> str:
    """Write the page, chapter by chapter."""
    text = entries()
    chapters = (
        f"\n## {title}\n\n" + "\n".join(text[code] for code in sorted(text) if code[2] == digit)
        for digit, title in CHAPTERS.items()
    )
    return START + "".join(chapters)


def test_the_page_is_that_of_the_tables(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--refresh"):
        PAGE.write_text(page(), encoding="utf-8")

    assert PAGE.read_text(encoding="utf-8") == page()


def test_no_code_is_a_finding_and_a_rule() -> None:
    assert CODES.keys() & {rule.code for rule in RULES} == set()


@pytest.mark.parametrize("code", [*CODES, *(rule.code for rule in RULES)])
def test_every_code_has_a_chapter(code: str) -> None:
    assert code[2] in CHAPTERS


@pytest.mark.parametrize("digit", PARTS)
def test_every_row_stands_in_the_file_of_its_digit(digit: str) -> None:
    assert {code[2] for code in PARTS[digit]} == {digit}


@pytest.mark.parametrize("code", CODES)
def test_a_row_says_what_it_means_how_it_comes_about_and_what_to_do(code: str) -> None:
    row = CODES[code]

    texts = (row.title, row.cause, row.remedy)
    assert len(set(texts)) == 3
    assert [text for text in texts if not text or text.endswith(".") or not text.isascii()] == []
