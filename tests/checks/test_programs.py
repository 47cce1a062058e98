"""Programs in strings, which no type checker reads: each name that they import from us exists."""

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.checks.test_class_names import PACKAGES

ROOT: Final = Path(__file__).resolve().parents[2]


def imports(source: str) -> Iterator[tuple[str, str]]:
    """Return the module and the name of each of our imports in the strings of a module."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Constant(value=str() as text) if "import " in text:
                yield from _of_program(text)


def _of_program(text: str) -> Iterator[tuple[str, str]]:
    try:
        program = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(program):
        match node:
            case ast.ImportFrom(module=str(module), names=names) if module.partition(".")[0] in PACKAGES:
                yield from ((module, alias.name) for alias in names)


def exists(module: str, name: str) -> bool:
    """Whether ``from module import name`` works."""
    try:
        found = importlib.import_module(module)
        return hasattr(found, name) or importlib.import_module(f"{module}.{name}") is not None
    except ImportError:
        return False


@pytest.mark.parametrize(("name", "expected"), [("CertificateDirectory", True), ("Source", False)])
def test_a_name_that_a_program_imports_in_vain_is_found(name: str, *, expected: bool) -> None:
    [(module, found)] = imports(f'PROGRAM = """\nimport sys\nfrom certs.reload import {name}\n"""')

    assert (module, found, exists(module, found)) == ("certs.reload", name, expected)


def test_each_name_that_a_program_imports_exists() -> None:
    paths = (path for folder in (*PACKAGES, "tests") for path in ROOT.glob(f"{folder}/**/*.py"))
    sources = ((path, text) for path in paths if "import " in (text := path.read_text()))
    used = [(path, module, name) for path, text in sources for module, name in imports(text)]

    assert used
    assert [row for row in used if not exists(row[1], row[2])] == []
