"""The services that are compared: samples of KServe and fixtures of its tests, from its module, as data."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from intent import Object

SAMPLES: Final = "docs/samples/llmisvc"
FIXTURES: Final = "test/e2e/llmisvc"
TABLE: Final = "LLMINFERENCESERVICE_CONFIGS"
GROUP: Final = "serving.kserve.io/"


@dataclass(frozen=True, slots=True)
class Input:
    """A service with the bases that it names, without presets."""

    name: str
    objects: tuple[Object, ...]


def documents(text: str) -> list[Object]:
    """Return the objects of a file."""
    return [one for one in yaml.load_all(text, Loader=yaml.CSafeLoader) if isinstance(one, dict)]


def samples(source: Path) -> list[Input]:
    """Return each sample that has a service, with the bases in its folder."""
    return [one for file in sorted((source / SAMPLES).rglob("*.yaml")) for one in _of_file(file)]


def _of_file(file: Path) -> Iterator[Input]:
    found = [one for one in documents(file.read_text()) if _is_theirs(one)]
    others = (one for other in sorted(file.parent.glob("*.yaml")) for one in documents(other.read_text()))
    bases = [one for one in others if _is_theirs(one) and one["kind"] == "LLMInferenceServiceConfig"]
    for one in found:
        if one["kind"] == "LLMInferenceService":
            yield Input(file.stem, (one, *bases))


def _is_theirs(obj: Object) -> bool:
    return str(obj.get("apiVersion")).startswith(GROUP)


# --- fixtures -----------------------------------------------------------------------------------------


def fixtures(source: Path) -> list[Input]:
    """Return each combination of bases that KServe's own tests use, once."""
    bases = _table((source / FIXTURES / "fixtures.py").read_text())
    files = sorted((source / FIXTURES).glob("test_*.py"))
    asked = dict.fromkeys(one for file in files for one in _combinations(file.read_text()))
    return [_combined(names, bases) for names in asked if bases.keys() >= set(names)]


def _combined(names: tuple[str, ...], bases: Mapping[str, Any]) -> Input:
    service = {
        "apiVersion": f"{GROUP}v1alpha1",
        "kind": "LLMInferenceService",
        "metadata": {"name": "e2e"},
        "spec": {"baseRefs": [{"name": name} for name in names]},
    }
    configs = (
        {
            "apiVersion": f"{GROUP}v1alpha1",
            "kind": "LLMInferenceServiceConfig",
            "metadata": {"name": name},
            "spec": bases[name],
        }
        for name in names
    )
    return Input("+".join(names), (service, *configs))


def _combinations(text: str) -> Iterator[tuple[str, ...]]:
    """Yield the lists of names that are given as `base_refs`."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.keyword) and node.arg == "base_refs" and isinstance(node.value, ast.List):
            names = [one.value for one in node.value.elts if isinstance(one, ast.Constant)]
            if len(names) == len(node.value.elts):
                yield tuple(map(str, names))


def _table(text: str) -> dict[str, Any]:
    """Return the table of fixtures; what its values refer to is defined above it."""
    known: dict[str, Any] = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            known[node.targets[0].id] = _value(node.value, known)
    found: dict[str, Any] = known[TABLE]
    return {name: value for name, value in found.items() if value is not None}


def _value(node: ast.expr | None, known: Mapping[str, Any]) -> Any:  # noqa: PLR0911 - one case a kind of node
    """Return the value of an expression without running it: literals, names, copies, and defaults."""
    match node:
        case ast.Constant(value):
            return value
        case ast.Name(name):
            return known.get(name)
        case ast.List(elements) | ast.Tuple(elements):
            return [value for one in elements for value in _items(one, known)]
        case ast.Dict(keys, values):
            pairs = zip(keys, values, strict=True)
            return {
                name: value
                for key, one in pairs
                for name, value in (
                    _value(one, known).items() if key is None else [(_value(key, known), _value(one, known))]
                )
            }
        case ast.JoinedStr(parts):
            return "".join(str(_value(one, known)) for one in parts)
        case ast.FormattedValue(value):
            return _value(value, known)
        case ast.Call(ast.Attribute(of, "copy"), []):
            return _value(of, known)
        case ast.Call(ast.Attribute(_, "get"), [_, default]):
            return _value(default, known)
    return None


def _items(node: ast.expr, known: Mapping[str, Any]) -> list[Any]:
    return list(_value(node.value, known)) if isinstance(node, ast.Starred) else [_value(node, known)]
