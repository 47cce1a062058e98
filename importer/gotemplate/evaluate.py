"""The evaluation of a template: what Go's `text/template` prints, or an error with its place. Bounded."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from importer.gotemplate.functions import Function
from importer.gotemplate.parse import (
    Branch,
    Call,
    Constant,
    Dot,
    FieldChain,
    Node,
    Pipeline,
    TemplateError,
    Term,
    Text,
)
from importer.gotemplate.values import Pointer, Struct, UnfitError, Value, described, printed, truth

MOST_WORK: Final = 1 << 22
"""Steps of one evaluation, and characters of the texts that it makes."""
LONGEST: Final = 1 << 20
"""Characters of the output."""


@dataclass(slots=True)
class Evaluation:
    """One evaluation of a template."""

    source: str
    root: Value
    functions: Mapping[str, Function]
    work: int = 0
    output: list[str] = field(default_factory=list)
    length: int = 0

    def error(self, message: str, at: int) -> TemplateError:
        """Return an error about an expression."""
        return TemplateError(message, self.source, at)

    def spend(self, amount: int, at: int) -> None:
        """Count work; too much is an error."""
        self.work += amount
        if self.work > MOST_WORK:
            raise self.error("the template is too much work", at)

    def nodes(self, nodes: tuple[Node, ...], dot: Value) -> None:
        """Print what nodes make of the current value."""
        for node in nodes:
            if isinstance(node, Text):
                self.print(node.text, 0)
            elif isinstance(node, Branch):
                self.block(node, dot)
            else:
                value = self.pipeline(node.pipeline, dot)
                with self.placed(node.pipeline.at):
                    self.print(printed(value), node.pipeline.at)

    def print(self, text: str, at: int) -> None:
        """Append to the output."""
        self.spend(len(text) + 1, at)
        self.length += len(text)
        if self.length > LONGEST:
            raise self.error(f"the output is longer than {LONGEST} characters", at)
        self.output.append(text)

    def block(self, node: Branch, dot: Value) -> None:
        """Print the part of a block that its value chooses."""
        value = self.pipeline(node.pipeline, dot)
        if node.keyword == "range":
            items = list(self.items(value, node.pipeline.at))
            for item in items:
                self.spend(1, node.pipeline.at)
                self.nodes(node.then, item)
            if not items:
                self.nodes(node.other, dot)
        elif truth(value):
            self.nodes(node.then, value if node.keyword == "with" else dot)
        else:
            self.nodes(node.other, dot)

    def items(self, value: Value, at: int) -> Iterator[Value]:
        """Yield what `range` goes through: items, or values in the order of their keys."""
        if isinstance(value, list):
            yield from value
        elif isinstance(value, dict):
            yield from (value[key] for key in sorted(value, key=str.encode))
        else:
            raise self.error(f"{described(value)} has no items", at)

    def pipeline(self, node: Pipeline, dot: Value) -> Value:
        """Return the value of a pipeline."""
        found: tuple[Value, ...] = ()
        for call in node.calls:
            found = (self.call(call, dot, found),)
        return found[0]

    def call(self, node: Call, dot: Value, last: tuple[Value, ...]) -> Value:
        """Return the value of a command; `last` is the value before `|`."""
        self.spend(1, node.at)
        if not node.function:
            return self.term(node.arguments[0], dot)
        if node.function in _SHORT:
            return self.chosen(node, dot, last)
        values = [*(self.term(one, dot) for one in node.arguments), *last]
        with self.placed(node.at):
            found = self.functions[node.function].called(values)
        self.spend(sum(len(one) for one in (*values, found) if isinstance(one, str)), node.at)
        return found

    def chosen(self, node: Call, dot: Value, last: tuple[Value, ...]) -> Value:
        """Return the first argument that decides `and` or `or`; the arguments after it are not evaluated."""
        wanted, found = _SHORT[node.function], last[0] if last else None
        if not node.arguments and not last:
            raise self.error(f"{node.function} takes at least one argument", node.at)
        for one in node.arguments:
            value = self.term(one, dot)
            if truth(value) is wanted:
                return value
            found = last[0] if last else value
        return found

    def term(self, node: Term, dot: Value) -> Value:
        """Return the value of an operand."""
        self.spend(1, node.at)
        if isinstance(node, Constant):
            return node.value
        if isinstance(node, Dot):
            return self.root if node.is_root else dot
        if isinstance(node, Pipeline):
            return self.pipeline(node, dot)
        if isinstance(node, Call):
            return self.call(node, dot, ())
        return self.fields(node, dot)

    def fields(self, node: FieldChain, dot: Value) -> Value:
        """Return a field of a field of a value."""
        value = self.term(node.of, dot)
        for name, at in node.names:
            fields = value.fields if isinstance(value, Struct) else value
            if isinstance(fields, Pointer) or not isinstance(fields, Mapping):
                raise self.error(f"{described(value)} has no field {name}", at)
            if name not in fields:
                raise self.error(f"there is no field {name}", at)
            value = fields[name]
        return value

    @contextmanager
    def placed(self, at: int) -> Iterator[None]:
        """Add the place to an error about a value."""
        try:
            yield
        except UnfitError as error:
            raise self.error(str(error), at) from None


_SHORT: Final = {"and": False, "or": True}
"""The functions that evaluate no more arguments than they need, with what decides them."""
