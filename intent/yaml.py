"""YAML as Kubernetes reads it (`sigs.k8s.io/yaml`): JSON's types, no dates, no base 60, no key twice."""

import re
from collections.abc import Iterator
from typing import Any, Final

import yaml

_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$")
_INT: Final = re.compile(r"[-+]?(0b[01]+|0x[0-9a-fA-F]+|0o?[0-7]*|[1-9][0-9]*)$")
_TYPES: Final = ("tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:int", "tag:yaml.org,2002:float")


UNREADABLE: Final = (yaml.YAMLError, ValueError, RecursionError)
"""What reading a text may raise."""


class Loader(yaml.SafeLoader):
    """Read a document, and refuse a key that stands twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002 - PyYAML's signature
        """Build a map with strings as keys."""
        seen: set[str] = set()
        for key, _ in node.value:
            if key.value in seen and key.tag != "tag:yaml.org,2002:merge":
                raise yaml.MarkedYAMLError(problem=f"key {key.value!r} twice", problem_mark=key.start_mark)
            seen.add(key.value)
        built = super().construct_mapping(node, deep=deep)
        return {key if isinstance(key, str) else _spelled(key): value for key, value in built.items()}

    def construct_yaml_int(self, node: yaml.ScalarNode) -> int:
        """Read an integer; `0o17` is octal as `017` is."""
        return super().construct_yaml_int(yaml.ScalarNode(node.tag, node.value.replace("0o", "0", 1)))


class Plain(Loader):
    """Read a document of somebody else: without merged maps; a few lines of them make millions of keys."""

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Refuse what would be merged."""
        for key, _ in node.value:
            if key.tag == "tag:yaml.org,2002:merge":
                raise yaml.MarkedYAMLError(problem="maps are not merged here", problem_mark=key.start_mark)


class Dumper(yaml.SafeDumper):
    """Write a document; strings that any reader would take for numbers are quoted."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - PyYAML's signature
        """Write every value out; Kubernetes' users read no anchors."""
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    """Write a text of several lines as lines."""
    style = "|" if "\n" in value.strip() else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


def _spelled(key: Any) -> str:
    return (
        {True: "true", False: "false", None: "null"}.get(key, str(key))
        if not isinstance(key, int | float) or isinstance(key, bool)
        else str(key)
    )


for _class in (Loader, Dumper):
    _class.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in rows if tag not in _TYPES]
        for first, rows in _class.yaml_implicit_resolvers.items()
    }
    _class.add_implicit_resolver("tag:yaml.org,2002:int", _INT, list("-+0123456789"))
    _class.add_implicit_resolver("tag:yaml.org,2002:float", _FLOAT, list("-+0123456789."))
Dumper.add_representer(str, _text)
Loader.add_constructor("tag:yaml.org,2002:int", Loader.construct_yaml_int)


def load(text: str, loader: type[Loader] = Loader) -> Iterator[Any]:
    """Read every document of a text. Raises `yaml.YAMLError` with line and column."""
    return yaml.load_all(text, Loader=loader)


def problem(error: Exception) -> str:
    """Say in one line what is wrong with a text, with line and column where they are known."""
    mark = getattr(error, "problem_mark", None)
    where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
    return f"{where}{getattr(error, 'problem', None) or str(error).partition(chr(10))[0]}"


def dump(value: Any) -> str:
    """Write one value, keys in their order."""
    return yaml.dump(value, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=110)
