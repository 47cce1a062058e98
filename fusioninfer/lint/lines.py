"""The lines of the fields of a document."""

from dataclasses import dataclass

import yaml

from fusioninfer.lint.paths import Step


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

    def below(self, *steps: Step) -> "Lines":
        """Return the lines of a part, or the last that exists on the way to it."""
        found = self
        for step in steps:
            found = next((one for known, one in found._children() if known == step), found)
        return found

    def _children(self) -> list[tuple[Step, "Lines"]]:
        """Return the fields of an object, or the items of a list; of a repeated key the last counts."""
        if isinstance(self.node, yaml.MappingNode):
            fields = {str(key.value): Lines(value, key.start_mark.line + 1) for key, value in self.node.value}
            return [*fields.items()]
        if isinstance(self.node, yaml.SequenceNode):
            return [*enumerate(map(Lines.of, self.node.value))]
        return []
