"""The manifests as they are in their folders, without kustomize."""

import copy
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import click
import yaml

from fusioninfer.cli import main
from fusioninfer.cli.program import load
from intent import Object

MANIFESTS: Final = Path(__file__).parents[2] / "manifests"
DOCS: Final = MANIFESTS.parent / "docs"
KUSTOMIZE: Final = ("Kustomization", "Component")


def objects(*folders: str) -> Iterator[Object]:
    """Yield every object of these folders."""
    for folder in folders:
        for file in sorted((MANIFESTS / folder).glob("*.yaml")):
            yield from copy.deepcopy(_objects_of(file))


@cache
def _objects_of(file: Path) -> list[Object]:
    return [each for each in yaml.load_all(file.read_text(), yaml.CSafeLoader) if _is_object(each)]


def find(kind: str, name: str, *folders: str) -> Object:
    """Return one object by kind and name."""
    files = (file for folder in folders or ("base",) for file in sorted((MANIFESTS / folder).glob("*.yaml")))
    found = (each for file in files for each in _objects_of(file))
    return copy.deepcopy(
        next(each for each in found if (each["kind"], each["metadata"]["name"]) == (kind, name))
    )


def at(value: Any, path: Sequence[str | int]) -> Any:
    """Return the value at a path of an object."""
    for step in path:
        value = value[step]
    return value


def container(deployment: str) -> Object:
    """Return the only container of a Deployment."""
    spec = find("Deployment", deployment)["spec"]["template"]["spec"]
    (only,) = spec["containers"]
    return dict(only)


def parsed(arguments: list[str]) -> dict[str, Any]:
    """Parse the arguments of a container as the command does, without running it."""
    name, *words = (word.replace("$(NAMESPACE)", "fusioninfer-system") for word in arguments)
    parent = click.Context(main, **main.context_settings)
    return load(name).make_context(name, words, parent).params


def _is_object(document: Any) -> bool:
    return isinstance(document, dict) and document.get("kind") not in {None, *KUSTOMIZE}
