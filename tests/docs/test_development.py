"""DEVELOPMENT.md names files, functions and targets that exist."""

import ast
import re
from pathlib import Path
from typing import Final

from tests.cluster.testbed.releases import PACKAGES

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = (ROOT / "DEVELOPMENT.md").read_text(encoding="utf-8")
PATHS: Final = sorted(set(re.findall(r"`((?:[a-z_]+/)+[a-z_.]*)`", PAGE)))
NAMES: Final = sorted(set(re.findall(r"`([a-z_/]+\.py)`:\s+`([A-Za-z_.]+)`", PAGE)))
WORDS: Final = sorted(
    set(re.findall(r"`([A-Za-z_]+(?:_[A-Za-z_]+|[a-z][A-Z][A-Za-z]+|[A-Z]{3,}))(?:\.[a-z_]+)?`", PAGE))
)
"""Names of code: with an underscore, in camel case or in capitals."""
TARGETS: Final = sorted(set(re.findall(r"`make ([a-z-]+)`", PAGE)))


def defined(file: Path) -> set[str]:
    """Return the names of a module's functions, classes, methods and constants."""
    body = ast.parse(file.read_text(encoding="utf-8")).body
    classes = [node for node in body if isinstance(node, ast.ClassDef)]
    assigned = [
        node.target.id
        for node in body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    ]
    functions = [node.name for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    methods = [
        f"{node.name}.{inner.name}"
        for node in classes
        for inner in node.body
        if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return {*assigned, *functions, *methods, *(node.name for node in classes)}


def test_every_file_that_the_page_names_exists() -> None:
    folders = [ROOT / folder for folder in ("", "webhook", "sync", "tests")]

    assert [path for path in PATHS if not any((folder / path).exists() for folder in folders)] == []


def test_every_function_that_the_page_names_is_in_its_file() -> None:
    known = {file: defined(ROOT / file) for file, _ in NAMES}

    assert [(file, name) for file, name in NAMES if name not in known[file]] == []


def test_every_name_of_code_that_the_page_names_is_in_the_source() -> None:
    files = [path for package in (*PACKAGES, "hack", "tests") for path in (ROOT / package).rglob("*.py")]
    known = {word for file in files for word in re.findall(r"\w+", file.read_text(encoding="utf-8"))}

    assert set(WORDS) <= known


def test_every_target_that_the_page_names_can_be_made() -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)

    assert set(TARGETS) <= set(targets)


def test_the_index_of_decision_records_lists_each_with_its_title() -> None:
    folder = ROOT / "docs" / "adr"
    records = sorted(folder.glob("0*.md"))
    titles = [path.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ") for path in records]

    listed = re.findall(
        r"^- \[(\d+)\]\((.*?)\)\. ([^(\n]*[^(\n ])", (folder / "README.md").read_text(), re.MULTILINE
    )

    assert [(f"{number}. {title}", name) for number, name, title in listed] == [
        (title, path.name) for title, path in zip(titles, records, strict=True)
    ]
