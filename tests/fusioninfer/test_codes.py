"""`fusioninfer codes`: one code, several, and a mistyped one."""

import re
from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner, Result

from catalog.release import SITE, VERSION
from fusioninfer.cli import main
from fusioninfer.codes import ENTRIES, PAGE
from hack.pages.codes import blocks

ROOT: Final = Path(__file__).parents[2]


def codes(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["codes", *arguments])


@pytest.mark.parametrize(
    ("code", "message"),
    [("FI53", "there is no code 'FI53': without"), ("FI502\0", "there is no code 'FI502\\x00'")],
)
def test_an_unknown_code_is_an_error_of_usage(code: str, message: str) -> None:
    result = codes("FI104", code)

    assert (result.exit_code, result.stdout, message in result.stderr) == (2, "", True)


def test_every_link_is_a_heading_of_the_page() -> None:
    headings = re.findall(r"^### (FI\d+)$", blocks()["codes"], re.MULTILINE)

    assert [one.link for one in ENTRIES.values()] == [f"{PAGE}#{code.lower()}" for code in sorted(headings)]


def test_links_lead_to_the_site_of_this_version() -> None:
    site = re.findall("^site_url: (.*)/$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)

    assert [f"{address}/{VERSION.rpartition('.')[0]}" for address in site] == [SITE]
