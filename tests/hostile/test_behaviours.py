"""Every behaviour has its test."""

import re
from pathlib import Path

import pytest

from tests.hostile.behaviours import BEHAVIOURS, ELSEWHERE, NOT_OURS

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def numbers() -> set[int]:
    """Return the numbers of the tests in this directory."""
    texts = (file.read_text() for file in HERE.glob("test_*.py"))
    return {int(found) for text in texts for found in re.findall(r"\bdef test_(\d{2,3})_", text)}


def test_no_behaviour_from_1_to_104_is_missing() -> None:
    assert {*BEHAVIOURS, *NOT_OURS} == set(range(1, 105))
    assert not set(BEHAVIOURS) & set(NOT_OURS)


def test_every_behaviour_has_a_test() -> None:
    assert not set(BEHAVIOURS) - numbers() - set(ELSEWHERE)


def test_every_numbered_test_belongs_to_a_behaviour() -> None:
    assert not numbers() - set(BEHAVIOURS)


@pytest.mark.parametrize("place", [place for places in ELSEWHERE.values() for place in places])
def test_a_test_in_another_folder_exists(place: str) -> None:
    file, _, name = place.partition("::")

    assert re.search(rf"^(async )?def {name}\(", (ROOT / file).read_text(), re.MULTILINE)
