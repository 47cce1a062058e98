"""YAML as Kubernetes reads it (`sigs.k8s.io/yaml`): types of JSON only, no base 60, no duplicate keys."""

import re
from collections.abc import Iterator
from math import inf, isfinite
from typing import Any, Final

import yaml

from intent.errors import printable

_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$")
_INT: Final = re.compile(r"[-+]?(0b[01]+|0x[0-9a-fA-F]+|0o?[0-7]*|[1-9][0-9]*)$")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_TYPES: Final = ("tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:int", "tag:yaml.org,2002:float")


UNREADABLE: Final = (yaml.YAMLError,)
"""Exceptions of `load`."""
_JSON: Final = frozenset(
    f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "map", "seq")
)
"""The types of JSON. Kubernetes objects have no others (sets, dates, bytes)."""
_MERGE: Final = "tag:yaml.org,2002:merge"


class Loader(yaml.SafeLoader):
    """Read a document with the types of JSON. Refuse a duplicate key, or one that is not a scalar.

    Aliases are read, because tools that generate manifests write them.
    """

    repeated_most = 100_000
    """The most values that the aliases of one text may expand to: ten short lines can expand to 10^10."""
    deepest = 200
    """The maximal depth of a document; Kubernetes objects are less than half as deep."""
    most: float = inf
    """The most keys and values of a text; reading one takes about 30 µs."""

    def __init__(self, stream: Any) -> None:
        super().__init__(stream)
        self.count = 0
        """The number of values so far, including those of aliases."""
        self.repeated = 0
        self.depth = 0
        self.weights: dict[int, int] = {}
        """The number of values in each complete node, by identity."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Compose a node; count its values, or those of its alias."""
        event: yaml.Event = self.peek_event()  # type: ignore[no-untyped-call] # PyYAML's parser has no types
        is_alias = isinstance(event, yaml.AliasEvent)
        before, self.depth = self.count, self.depth + 1
        if self.depth > self.deepest:
            remedy = "correct the brackets or the indentation before this"
            raise _refused(f"nested deeper than {self.deepest} levels: {remedy}", event)
        if self.count + self.depth > self.most:
            raise _refused(f"more than {self.most} keys and values", event)
        node = super().compose_node(parent, index)
        self.depth -= 1
        if not is_alias:
            self.count += 1
            self.weights[id(node)] = self.count - before
            return node
        weight = self.weights.get(id(node))
        if weight is None:
            raise _refused("an alias refers to a node that contains it", event)
        self.count += weight
        self.repeated += weight
        if self.repeated > self.repeated_most:
            raise _refused(f"aliases expand to more than {self.repeated_most} values", event)
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002 - PyYAML's signature
        """Construct a map with strings as keys."""
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise _refused("a key must be text", key)
            if key.value in seen and key.tag != _MERGE:
                raise _refused(f"duplicate key {key.value[:80]!r}", key)
            seen.add(key.value)
        built = super().construct_mapping(node, deep=deep)
        return {key if isinstance(key, str) else _spelled(key): value for key, value in built.items()}

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:  # noqa: FBT001, FBT002 - PyYAML's signature
        """Construct a value. Raises `yaml.MarkedYAMLError` if the text of a scalar does not have its type."""
        if node.tag not in _JSON and node.tag != _MERGE:
            raise _refused(f"{node.tag[:80]!r} is not a type of JSON", node)
        try:
            return super().construct_object(node, deep=deep)
        except (ValueError, LookupError, OverflowError) as error:
            raise _refused(f"{str(node.value)[:80]!r} is not {node.tag.rpartition(':')[2]}", node) from error

    def construct_scalar(self, node: yaml.ScalarNode | yaml.MappingNode) -> Any:
        """Read a scalar. Refuse half of a surrogate pair, which no encoder can write."""
        value = super().construct_scalar(node)
        if not value.isascii() and _SURROGATE.search(value):
            raise _refused("an escape is half of a surrogate pair", node)
        return value

    def whole(self, node: yaml.ScalarNode) -> int | float:
        """Read an integer; `0o17` and `017` are octal. More than 64 bits make a float, as in Kubernetes."""
        value = self.construct_yaml_int(yaml.ScalarNode(node.tag, node.value.replace("0o", "0", 1)))
        return value if -(2**63) <= value < 2**64 else float(value)

    def number(self, node: yaml.ScalarNode) -> int | float:
        """Read a number; `1.0` and `1e3` are whole, as in Kubernetes, up to 64 bits.

        Raises ValueError for infinity and NaN, which JSON does not have.
        """
        value: float = self.construct_yaml_float(node)
        if not isfinite(value):
            raise ValueError(node.value)
        return int(value) if value.is_integer() and abs(value) < 2**63 else value


class Plain(Loader):
    """Read YAML text in a field of an object: no aliases, less depth, and a bounded size."""

    repeated_most = 0
    deepest = 64
    most = 512


def _refused(problem: str, where: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=where.start_mark)


class Dumper(yaml.SafeDumper):
    """Write a document; quote strings that some reader would parse as numbers."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - PyYAML's signature
        """Write every value out instead of anchors."""
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    """Represent a text of several lines as a block, and one that needs escapes in quotes."""
    style = "|" if "\n" in value.strip() else None
    if not value.replace("\n", "").isprintable():
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


def _spelled(key: Any) -> str:
    if key is None:
        return "null"
    return str(key).lower() if isinstance(key, bool) else str(key)


for _class in (Loader, Dumper):
    _class.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in rows if tag not in _TYPES]
        for first, rows in _class.yaml_implicit_resolvers.items()
    }
    _class.add_implicit_resolver("tag:yaml.org,2002:int", _INT, list("-+0123456789"))
    _class.add_implicit_resolver("tag:yaml.org,2002:float", _FLOAT, list("-+0123456789."))
Dumper.add_representer(str, _text)
Loader.add_constructor("tag:yaml.org,2002:int", Loader.whole)
Loader.add_constructor("tag:yaml.org,2002:float", Loader.number)


def load(text: str, loader: type[Loader] = Loader) -> Iterator[Any]:
    """Read every document of a text. Raises only `yaml.YAMLError`, usually with line and column."""
    return (value for value, _ in load_nodes(text, loader))


def load_nodes(text: str, loader: type[Loader] = Loader) -> Iterator[tuple[Any, yaml.Node]]:
    """Read every document of a text, each with its node, which knows the line of every field."""
    reader = loader(text)
    try:
        while reader.check_node() and (node := reader.get_node()) is not None:
            yield reader.construct_document(node), node
    except RecursionError as error:
        raise yaml.YAMLError("nested too deeply") from error
    finally:
        reader.dispose()


def problem(error: Exception) -> str:
    """Format an exception of `load` as one line, with line and column if known."""
    mark = getattr(error, "problem_mark", None)
    where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
    return f"{where}{getattr(error, 'problem', None) or str(error).partition(chr(10))[0]}"


def dump(value: Any) -> str:
    """Format one value as YAML, keys in their order; nothing in it controls a terminal."""
    written = yaml.dump(value, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=110)
    return printable(written, kept="\n")  # Python's escapes are those of YAML
