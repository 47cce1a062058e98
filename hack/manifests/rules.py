"""Rules that turn text of a manifest into text of a template.

A rule that matches another number of times than it expects is an error, so the two cannot drift apart.
"""

import re
from dataclasses import dataclass
from typing import Final

KEPT: Final = "KEPT-TEXT"
"""What stands in a template for the text that a rule matched."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A regular expression, its replacement, and the number of matches to expect."""

    pattern: str
    template: str
    times: int = 1


def replaced(path: str, rule: Rule, text: str) -> str:
    """Return a file's text with the matches of a rule replaced."""
    made, times = re.subn(
        rule.pattern, lambda found: rule.template.replace(KEPT, found[0]), text, flags=re.MULTILINE
    )
    if times != rule.times:
        raise ValueError(f"{path}: {rule.pattern!r} matches {times} times, not {rule.times}")
    return made


def value(path: str) -> str:
    """Return the expression of a value."""
    return f"$.Values.{path}"


def when(condition: str, text: str, otherwise: str = "") -> str:
    """Return lines that are rendered only under a condition."""
    other = f"{{{{- else }}}}\n{otherwise}" if otherwise else ""
    return f"{{{{- if {condition} }}}}\n{text}{other}{{{{- end }}}}\n"


def field(path: str, name: str, indent: int, form: str = "{{ . }}", otherwise: str = "") -> str:
    """Return a field that is rendered only if its value is set, with what to render otherwise."""
    other = f"{{{{- else }}}}\n{otherwise}" if otherwise else ""
    return f"{{{{- with {value(path)} }}}}\n{' ' * indent}{name}: {form}\n{other}{{{{- end }}}}\n"


def block(path: str, name: str, indent: int, otherwise: str = "") -> str:
    """Return a field with an object or a list, which is rendered only if its value is set."""
    return field(path, name, indent, f"{{{{- toYaml . | nindent {indent + 2} }}}}", otherwise)


def items(path: str, indent: int) -> str:
    """Return further items of a list."""
    more = f"{' ' * indent}{{{{- toYaml . | nindent {indent} }}}}\n"
    return f"{{{{- with {value(path)} }}}}\n{more}{{{{- end }}}}\n"
