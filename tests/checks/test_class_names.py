"""One class name for one thing: no public class or type alias of the packages is defined twice."""

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

PACKAGES: Final = ("fusioninfer", "importer", "webhook", "sync", "certs", "plan", "kube", "intent", "catalog")
ALLOWED: Final[Mapping[str, str]] = {}
"""Names of one thing in two layers, each with the reason why it is defined in both."""


def defined(source: str) -> Iterator[str]:
    """Return the public classes of a module, and its type aliases; no type variables."""
    for node in ast.parse(source).body:
        match node:
            case ast.ClassDef(name=name):
                yield name
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if not _is_variable(value):
                yield name
            case ast.AnnAssign(target=ast.Name(id=name), annotation=ast.Name(id="TypeAlias")):
                yield name


def _is_variable(value: ast.expr) -> bool:
    return isinstance(value, ast.Call)


def twice(sources: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the modules of each name that more than one of them defines."""
    found = defaultdict(list)
    for module, source in sources.items():
        for name in defined(source):
            if name[0].isupper() and not name.isupper():
                found[name].append(module)
    return {name: modules for name, modules in found.items() if len(modules) > 1}


def test_a_name_that_is_defined_twice_is_found() -> None:
    sources = {
        "a": "class Change: ...\nclass _Row: ...\n",
        "b": "Change = str\nT = int\n",
        "c": "class _Row: ...\nT = int\n",
    }

    assert twice(sources) == {"Change": ["a", "b"]}


def test_no_class_name_stands_for_two_things() -> None:
    sources = {str(file): file.read_text() for package in PACKAGES for file in Path(package).rglob("*.py")}

    assert {name: modules for name, modules in twice(sources).items() if name not in ALLOWED} == {}
