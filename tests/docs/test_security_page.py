"""The page on security claims nothing without a test, and answers each threat of SIG Security's model."""

import re
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = (ROOT / "docs" / "security.md").read_text()
WORDS: Final = ("tested", "the platform's", "not defended", "the same as")


def test_each_of_the_eighteen_threats_has_an_answer() -> None:
    rows = re.findall(r"^\| (\d+) \| [^|]+ \| ([^|]+) \|", PAGE, re.MULTILINE)

    assert [int(number) for number, _ in rows] == list(range(1, 19))
    assert [answer for _, answer in rows if not answer.startswith(WORDS)] == []


@pytest.fixture(scope="module")
def defined() -> str:
    return "\n".join(file.read_text() for file in (ROOT / "tests").rglob("*.py"))


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(test_\w+)`", PAGE))))
def test_each_test_that_the_page_names_is_there(defined: str, name: str) -> None:
    assert f"def {name}(" in defined
