"""The lines of the fields of a document, found by the paths of findings.

A path is matched against the document itself, since a key may contain dots and brackets.
"""

from dataclasses import dataclass
from typing import Final

import yaml

Steps = tuple[str | int, ...]
_ENDS: Final = ("", ".", "[")
"""What may follow a step of a path."""


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of one document, or of a part of it."""

    node: yaml.Node
    start: int
    """The line of the document's first field, from 1."""

    @classmethod
    def of(cls, node: yaml.Node) -> "Lines":
        """Return the lines of a document."""
        return cls(node, node.start_mark.line + 1)

    def below(self, *steps: str | int) -> "Lines":
        """Return the lines of a part, or the last that exists on the way to it."""
        found = self
        for step in steps:
            found = next((one for known, one in found._children() if known == step), found)
        return found

    def line(self, path: str) -> int:
        """Return the line of the field at a path; of its nearest parent, if the field is absent."""
        here, rest = self, path
        while rest:
            steps = ((_rest(rest, step), one) for step, one in here._children())
            fits = [(left, one) for left, one in steps if left is not None]
            if not fits:
                break
            rest, here = min(fits, key=lambda fit: len(fit[0]))
        return here.start

    def _children(self) -> list[tuple[str | int, "Lines"]]:
        """Return the fields of an object, or the items of a list; of a repeated key the last counts."""
        if isinstance(self.node, yaml.MappingNode):
            fields = {str(key.value): Lines(value, key.start_mark.line + 1) for key, value in self.node.value}
            return [*fields.items()]
        if isinstance(self.node, yaml.SequenceNode):
            return [*enumerate(map(Lines.of, self.node.value))]
        return []


def _rest(path: str, step: str | int) -> str | None:
    """Return a path without its first step; None if it begins with another step."""
    forms = (f"[{step}]",) if isinstance(step, int) else (step, f".{step}", f"[{step}]")
    for form in forms:
        if form and path.startswith(form) and path[len(form) :][:1] in _ENDS:
            return path.removeprefix(form)
    return None
