"""Paths of fields, as findings have them (`spec.roles[0].name`, `metadata.annotations[a.b/c]`), and lines.

A path is matched against the YAML of its object, since keys may contain dots and brackets.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

import yaml

_ENDS: Final = ("", ".", "[")
"""What may follow a step of a path."""


def joined(path: str, step: str) -> str:
    """Return the path of a field of the object at a path."""
    if "." in step or "/" in step:
        return f"{path}[{step}]"
    return f"{path}.{step}" if path else step


class Lines(NamedTuple):
    """The lines of a document, or of a part of it."""

    node: yaml.Node
    start: int
    """The line of its first field, from 1."""

    def below(self, path: str) -> "Lines":
        """Return the lines of a field, or of its nearest parent if the field is absent.

        Of several fitting keys the longest is taken.
        """
        fits = [
            (rest, lines)
            for step, lines in self._children()
            for form in (step, f".{step}", f"[{step}]")
            if form and path.startswith(form) and (rest := path[len(form) :])[:1] in _ENDS
        ]
        if not fits:
            return self
        rest, lines = min(fits, key=lambda fit: len(fit[0]))
        return lines.below(rest)

    def _children(self) -> Iterator[tuple[str, "Lines"]]:
        """Yield the lines of fields or items; of a repeated key the last counts."""
        if isinstance(self.node, yaml.MappingNode):
            fields = {str(key.value): (value, key) for key, value in self.node.value}
            yield from (
                (name, Lines(value, key.start_mark.line + 1)) for name, (value, key) in fields.items()
            )
        elif isinstance(self.node, yaml.SequenceNode):
            yield from ((str(index), lines_of(item)) for index, item in enumerate(self.node.value))


def lines_of(node: yaml.Node) -> Lines:
    """Return the lines of a document."""
    return Lines(node, node.start_mark.line + 1)
