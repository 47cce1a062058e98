"""docs/gitops.md shows parts of its examples, which are manifests of the tools."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from intent import Object

DOCS: Final = Path(__file__).parents[2] / "docs"
PAGE: Final = (DOCS / "gitops.md").read_text(encoding="utf-8")
EXAMPLES: Final = {
    file.name: yaml.safe_load(file.read_text()) for file in (DOCS / "examples/gitops").iterdir()
}
KINDS: Final = {"Application", "Kustomization"}


def blocks() -> Iterator[Object]:
    """Yield the YAML of the page."""
    for found in re.finditer(r"^( *)```yaml\n(.*?)^ *```", PAGE, re.DOTALL | re.MULTILINE):
        yield yaml.safe_load(found[2])


def holds(whole: Any, part: Any) -> bool:
    """Return whether a value has every field of a part; lists are compared as a whole."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(key in whole and holds(whole[key], value) for key, value in part.items())
    return bool(whole == part)


@pytest.mark.parametrize("block", list(blocks()))
def test_each_block_of_the_page_is_part_of_an_example(block: Object) -> None:
    assert any(holds(example, block) for example in EXAMPLES.values())


@pytest.mark.parametrize("name", EXAMPLES)
def test_each_example_is_named_on_the_page_and_of_a_known_kind(name: str) -> None:
    assert f"examples/gitops/{name}" in PAGE
    assert EXAMPLES[name]["kind"] in KINDS
