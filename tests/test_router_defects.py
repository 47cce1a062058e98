"""The table of what an earlier router got wrong names tests that are there."""

import re
from pathlib import Path
from typing import Final

import pytest
import yaml

from intent import Object

ROOT: Final = Path(__file__).parents[1]
DEFECTS: Final[Object] = yaml.safe_load((ROOT / "tests" / "router_defects.yaml").read_text())


def test_no_defect_is_left_out() -> None:
    assert DEFECTS.keys() == {f"D{number}" for number in range(1, 24)} | {"D6b"}


@pytest.mark.parametrize("test", sorted({test for row in DEFECTS.values() for test in row["tests"]}))
def test_a_defect_has_tests_that_are_there(test: str) -> None:
    file, _, name = test.partition("::")

    assert not name or re.search(rf"^(async )?def {name}\(", (ROOT / file).read_text(), re.MULTILINE)
    assert (ROOT / file).exists()
