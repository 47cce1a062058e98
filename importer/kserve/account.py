"""What a translation leaves out, with the outcome of each part; the report asks for it."""

from collections import defaultdict
from dataclasses import dataclass, field

from importer.leaves import Tree, origins
from importer.report import Outcome, OutcomeRule


@dataclass(slots=True)
class Account:
    """The outcomes of parts that are left out of the output, by the index of their objects."""

    rules: defaultdict[int, list[OutcomeRule]] = field(default_factory=lambda: defaultdict(list))
    stays: list[str] = field(default_factory=list)
    """The paths of pods, of the service that is translated, whose launch over several nodes stays."""

    def leave(self, tree: Tree, outcome: Outcome) -> None:
        """Record the outcome of all leaves of a part."""
        for document, path in origins(tree):
            self.rules[document].append(OutcomeRule(path, outcome))

    def say(self, document: int, rules: tuple[OutcomeRule, ...]) -> None:
        """Record rules for an object."""
        self.rules[document].extend(rules)
