"""The generated files that need upstream's Go modules are what their generators give."""

import pytest

from hack.generated import GENERATORS, Generator, report


@pytest.mark.usefixtures("upstream")
@pytest.mark.parametrize("row", [row for row in GENERATORS if row.needs == "go"], ids=lambda row: row.name)
def test_the_files_are_up_to_date(row: Generator) -> None:
    assert not (found := report([row])), found
