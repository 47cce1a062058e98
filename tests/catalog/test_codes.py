"""The codes, of which docs/codes.md is made: of findings, and of rules that inject a field."""

from typing import Final

import pytest

from catalog.codes import CODES, PARTS
from hack.pages.codes import CHAPTERS
from webhook.mutate import CONCERNS

RULES: Final = [rule for concern in CONCERNS for rule in concern.rules]


def test_no_code_is_both_a_finding_and_a_rule() -> None:
    assert CODES.keys() & {rule.code for rule in RULES} == set()


def test_every_code_has_a_chapter() -> None:
    assert {code[2] for code in (*CODES, *(rule.code for rule in RULES))} == CHAPTERS.keys()


@pytest.mark.parametrize("digit", PARTS)
def test_every_code_is_in_the_module_of_its_first_digit(digit: str) -> None:
    assert {code[2] for code in PARTS[digit]} == {digit}


def test_every_code_has_a_title_and_a_remedy_and_no_text_twice() -> None:
    texts = {code: (row.title, row.remedy, row.cause) for code, row in CODES.items()}

    assert [code for code, three in texts.items() if not (all(three[:2]) and len(set(three)) == 3)] == []
    assert [
        (code, text)
        for code, three in texts.items()
        for text in three
        if text.endswith(".") or not text.isascii()
    ] == []
