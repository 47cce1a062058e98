"""docs/inferenceservice.md shows what is: the fields of the models, and the stories as they are expanded."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from fusioninfer.files import documents, offline
from intent import Object
from intent.annotations import EXPANSION
from intent.inferenceservice.crd import schema
from intent.inferenceservice.embedded import EMBEDDED
from intent.settings import Settings

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs" / "inferenceservice.md"
BLOCK: Final = re.compile(r"(<!-- ([a-z0-9-]+): made from[^\n]*-->\n)(.*?)(<!-- end -->)", re.DOTALL)
INT_OR_STRING: Final = "int or string"
"""A node without a type (`x-kubernetes-int-or-string`)."""


def fields() -> str:
    """Write the table of fields."""
    whole, parts = schema(), ("spec", "status")
    rows = [
        row
        for part in parts
        for row in described(part, whole["properties"][part], required=part in whole["required"])
    ]
    return "| field (bold: required) | type | |\n|---|---|---|\n" + "".join(
        f"| {' | '.join(row)} |\n" for row in rows
    )


def described(path: str, node: Object, *, required: bool) -> Iterator[tuple[str, str, str]]:
    """Return a field and all below it: path, type, description; what must be there is bold.

    The fields of other APIs' specs are upstream's, and are left out.
    """
    items, values = node.get("items", {}), node.get("additionalProperties", {})
    kind = node.get("format") or ("list" if items else "map" if values else node.get("type", INT_OR_STRING))
    text = " ".join((node["description"], *allowed(node)))
    yield f"**`{path}`**" if required else f"`{path}`", kind, text
    inner = {} if path.removeprefix("spec.roles[].") in EMBEDDED else items or values or node
    below = path + ("[]" if items else ".*" if values else "")
    for name, field in inner.get("properties", {}).items():
        yield from described(f"{below}.{name}", field, required=name in inner.get("required", ()))


def allowed(node: Object) -> Iterator[str]:
    """Return the allowed values as text."""
    if "enum" in node:
        yield ", ".join(f"`{value}`" for value in node["enum"]) + "."


def story(name: str) -> str:
    """Write a story as its author does, and what it becomes; the record is only counted."""
    file = ROOT / "tests" / "golden" / name / "input.yaml"
    made = offline.compose(documents.read([str(file)]), Settings())
    becomes = documents.write_yaml(shortened(one) for one in made.objects)
    names = ", ".join(f"{one['kind']} `{one['metadata']['name']}`" for one in made.objects)
    return (
        f"```yaml\n{file.read_text(encoding='utf-8').partition(chr(10))[2]}```\n\n"
        f"becomes {names}:\n\n"
        f"<details>\n<summary>fusioninfer expand</summary>\n\n```yaml\n{becomes}```\n\n</details>\n"
    )


def shortened(made: Object) -> Object:
    """Replace the record by its length."""
    annotations = dict(made["metadata"].get("annotations", {}))
    if EXPANSION in annotations:
        annotations[EXPANSION] = f"<the record, {len(annotations[EXPANSION])} bytes>"
        return made | {"metadata": made["metadata"] | {"annotations": annotations}}
    return made


def block(found: re.Match[str]) -> str:
    """Write one block of the page anew."""
    return found[1] + (fields() if found[2] == "fields" else story(found[2])) + found[4]


def test_the_page_shows_the_current_output(request: pytest.FixtureRequest) -> None:
    written = BLOCK.sub(block, PAGE.read_text(encoding="utf-8"))
    if request.config.getoption("--refresh"):
        PAGE.write_text(written, encoding="utf-8")

    assert PAGE.read_text(encoding="utf-8") == written
