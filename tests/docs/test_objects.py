"""Each whole object of ours in a page is accepted: no example has an error."""

import re
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any, Final

import pytest
import yaml

from fusioninfer.lint import offline
from fusioninfer.lint.documents import Document
from intent.settings import Settings

DOCS: Final = Path(__file__).parents[2] / "docs"
BLOCK: Final = re.compile(r"^( *)```yaml\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
KINDS: Final = {"LeaderWorkerSet", "DisaggregatedSet", "InferenceService", "InferenceTemplate"}


def objects(page: Path) -> Iterator[Any]:
    """Yield the objects of a page that have a name; those of a shortened example (…) are no whole ones."""
    for found in BLOCK.finditer(page.read_text(encoding="utf-8")):
        documents = [] if "…" in found[2] else yaml.safe_load_all(dedent(found[2]))
        yield from (each for each in documents if isinstance(each, dict) and "metadata" in each)


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.stem)
def test_the_objects_of_a_page_have_no_errors(page: Path) -> None:
    found = [each for each in objects(page) if each.get("kind") in KINDS]
    templates = [each for each in found if each["kind"] == "InferenceTemplate"]

    made = [
        offline.compose(
            [Document(page.name, at, each) for at, each in enumerate((*templates, one))], Settings()
        )
        for one in found
        if one not in templates
    ]

    assert [str(each) for one in made for each in one.found if each.error.severity == "error"] == []
