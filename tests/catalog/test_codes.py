"""docs/codes.md has one entry per code: each finding, and each rule that injects a field."""

from pathlib import Path
from typing import Final

import pytest

from catalog.codes import CODES, PARTS
from fusioninfer.codes import ENTRIES, RULE, Entry
from webhook.mutate import CONCERNS

PAGE: Final = Path(__file__).parents[2] / "docs" / "codes.md"
RULES: Final = [rule for concern in CONCERNS for rule in concern.rules]
CHAPTERS: Final = {
    "1": "Annotations and types",
    "2": "The gang",
    "3": "The launch",
    "4": "The service as a whole",
    "5": "Warnings",
    "6": "Injected fields",
    "7": "The InferenceService",
    "8": "Routes and other objects of the controller",
    "9": "The webhook, and files",
}
START: Final = """\
# Codes

<!-- made from catalog/codes and webhook/mutate by `make generate` -->

Every finding ends with a code: in a response of the API server, in an Event, and offline. A code never
changes its meaning. An error denies an object; on an update that does not change the invalid field it only
warns. `fusioninfer codes` lists the codes, and `fusioninfer explain` names the rule of every injected field.
"""


def entries() -> dict[str, str]:
    """Build the entry of each code."""
    return {code: _rule(one) if one.severity == RULE else _finding(one) for code, one in ENTRIES.items()}


def _finding(one: Entry) -> str:
    return (
        f"### {one.code}\n\n{_sentence(one.title)} ({one.severity}).\n\n"
        f"**Cause:** {one.cause}.\n\n**What to do:** {one.remedy}.\n"
    )


def _rule(one: Entry) -> str:
    return f"### {one.code}\n\n{one.title}.\n\n**Cause:** {one.cause}.\n\n**To opt out:** {one.remedy}.\n"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def page() -> str:
    """Build the page from its chapters."""
    text = entries()
    chapters = (
        f"\n## {title}\n\n" + "\n".join(text[code] for code in sorted(text) if code[2] == digit)
        for digit, title in CHAPTERS.items()
    )
    return START + "".join(chapters)


def test_the_page_matches_the_tables(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--refresh"):
        PAGE.write_text(page(), encoding="utf-8")

    assert PAGE.read_text(encoding="utf-8") == page()


def test_no_code_is_both_a_finding_and_a_rule() -> None:
    assert CODES.keys() & {rule.code for rule in RULES} == set()


def test_every_code_has_a_chapter() -> None:
    assert {code[2] for code in (*CODES, *(rule.code for rule in RULES))} == CHAPTERS.keys()


@pytest.mark.parametrize("digit", PARTS)
def test_every_code_is_in_the_module_of_its_first_digit(digit: str) -> None:
    assert {code[2] for code in PARTS[digit]} == {digit}


def test_every_code_has_a_title_a_cause_and_a_remedy() -> None:
    texts = {code: (row.title, row.cause, row.remedy) for code, row in CODES.items()}

    assert [code for code, three in texts.items() if len(set(three)) != 3] == []
    assert [
        (code, text)
        for code, three in texts.items()
        for text in three
        if not text or text.endswith(".") or not text.isascii()
    ] == []
