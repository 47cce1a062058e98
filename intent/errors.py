"""Findings about objects: the field, the cause, a code of `catalog.codes`, and suggestions for names."""

import json
from collections.abc import Callable, Collection, Container, Iterable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import islice
from typing import Any, Final

from catalog.codes import CODES, Severity


@dataclass(frozen=True, slots=True)
class FieldError:
    """A finding about one field."""

    path: str
    value: Any
    """The value to show in the message; None shows no value."""
    message: str
    code: str
    softened: bool = False
    """Whether an error is reported as a warning, because this write did not change the field."""
    part: str = ""
    """The part of an annotation's value, which is a field of its own in an InferenceService."""

    @property
    def severity(self) -> Severity:
        """Whether the finding denies the object or only warns its author."""
        return "warning" if self.softened else CODES[self.code].severity

    def __str__(self) -> str:
        """Format the finding in one line, as Kubernetes formats field errors, followed by the code."""
        path = f"{self.path}: " if self.path else ""
        return printable(f"{path}{_shown(self.value)}{self.message} ({self.code})")


def ratcheted(
    errors: Collection[FieldError],
    before: Callable[[], Iterable[FieldError]],
    *,
    text: Callable[[FieldError], str] = str,
    codes: Container[str] = CODES,
) -> list[FieldError]:
    """Turn errors that the old object had too into warnings (as KEP-4008), so that it can still be changed.

    There may be tens of thousands on either side, so what each says, `text`, is looked up in a set. The old
    object is checked, by `before`, only if there are errors. Those of other `codes` stay errors.
    """
    known = set(map(text, before())) if errors else set()
    return [replace(error, softened=error.code in codes and text(error) in known) for error in errors]


@dataclass(frozen=True, slots=True)
class Subject:
    """The object that a finding is about."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str = ""
    """Empty offline."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding, with the object that it is reported on."""

    subject: Subject
    error: FieldError
    about: tuple[str, ...] = ()
    """What tells it apart from others of its code and field: kind and name of what was refused."""


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode()


def printable(text: str, kept: str = "", escaped: Callable[[str], str] = _escaped) -> str:
    """Return a text in one line that a terminal and a CI log show as it is; `kept`: characters that stay.

    Names and keys come from users: a newline would begin a line of its own, an escape sequence would colour
    it, and a mark of direction would reorder it.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in kept else escaped(char) for char in text)


_as_json: Final = json.JSONEncoder(default=str, ensure_ascii=False, separators=(",", ":")).encode
"""Encode any value of a user's object, including integers of any length."""


def _shown(value: Any, limit: int = 80) -> str:
    if value is None:
        return ""
    start = value[:limit] if isinstance(value, str) else value  # a long text may be part of many errors
    text = _as_json(start)
    return f"Invalid value: {text if len(text) <= limit else text[:limit] + '…'}: "


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: `1 error`, `2 errors`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


# --- suggestions for mistyped names -------------------------------------------------------------------

LIKE: Final = 0.5
"""The least similarity of a suggestion, from 0 to 1 (`difflib`)."""
LONGEST: Final = 64
"""Longer names are not compared: the time grows with the product of both lengths."""
MANY: Final = 64
"""The number of known names that one unknown name is compared with."""
SOUGHT: Final = 10
"""The number of unknown names of one object that get a suggestion: comparisons are expensive."""


def nearest(name: str, known: Iterable[str], like: float = LIKE) -> str:
    """Return the known name most similar to one; empty if none is similar.

    Similarity is twice the letters in common over all letters, so much longer names need no comparison.
    Capital letters are those of the known name.
    """
    if len(name) > LONGEST:
        return ""
    fits = (word for word in known if len(name) <= len(word) * (2 / like - 1) and len(word) <= LONGEST)
    comparable = {word.lower(): word for word in islice(fits, MANY)}
    close = get_close_matches(name.lower(), comparable, n=1, cutoff=like) if comparable else ()
    return comparable[close[0]] if close else ""


def suggested(meant: str, otherwise: str = "") -> str:
    """Format a suggestion as the end of a message; without one, what there is to say `otherwise`."""
    hint = f"did you mean {meant}?" if meant else otherwise
    return f"; {hint}" if hint else ""
