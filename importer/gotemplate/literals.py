"""Literals in expressions: texts in double or back quotes, and whole numbers, as Go writes them."""

import re
from typing import Final

from importer.gotemplate.values import UnfitError

LITERAL: Final = r'"(?:[^"\\\n]|\\[^\n])*"'
RAW: Final = r"`[^`]*`"
NUMBER: Final = r"[+-]?[0-9][0-9A-Za-z_.]*"
"""More than is a number: what is none is an error, and not the beginning of something else."""

_NUMBER: Final = re.compile(r"[+-]?(?:0|[1-9][0-9]*)")
_ESCAPE: Final = re.compile(
    r"""\\(?:([abfnrtv\\"])|x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|([0-3][0-7]{2})|(.))""",
    re.DOTALL,
)
_LETTERS: Final = dict(zip('abfnrtv\\"', '\a\b\f\n\r\t\v\\"', strict=True))
LARGEST: Final = 2**63 - 1


def literal(text: str) -> str | int:
    """Return the value of a literal.

    Raises:
        UnfitError: it is none that is supported.
    """
    if text[0] == "`":
        return text[1:-1].replace("\r", "") if "\r" not in text else _refused(text)
    if text[0] == '"':
        return _ESCAPE.sub(_unescaped, text[1:-1])
    if not _NUMBER.fullmatch(text) or len(text) > 20 or abs(int(text)) > LARGEST:
        raise UnfitError(f"{text[:40]} is no whole number that is supported")
    return int(text)


def _refused(text: str) -> str:
    raise UnfitError(f"{text[:40]!r} has a carriage return")


def _unescaped(found: re.Match[str]) -> str:
    letter, *codes, octal, other = found.groups()
    if letter:
        return _LETTERS[letter]
    code = next((int(one, 16) for one in codes if one), int(octal, 8) if octal else -1)
    byte = found[2] or octal
    if other or code > 0x10FFFF or 0xD800 <= code < 0xE000 or (byte and code > 0x7F):
        raise UnfitError(f"{found[0]} is no escape that is supported")
    return chr(code)
