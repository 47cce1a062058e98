"""The functions of templates: Go's own, and those of Sprig that deal with texts and numbers.

Each row has the types of its arguments, as Go has them: a value of another type is an error.
"""

import base64
import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from importer.gotemplate.literals import LARGEST
from importer.gotemplate.values import Pointer, UnfitError, Value, described, printed, truth

LONGEST: Final = 1 << 20
"""Characters of a text that a function makes."""
_BLANK: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005"
    "\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
"""Blanks in Unicode (`unicode.IsSpace`)."""


class Long(int):
    """A number of Go's `int64`, which Sprig counts with: functions that take an `int` refuse it."""


# --- arguments ----------------------------------------------------------------------------------------


def text_value(value: Value) -> str:
    """Read a text."""
    if not isinstance(value, str):
        raise UnfitError(f"{described(value)} stands where a text must")
    return value


def ascii_value(value: Value) -> str:
    """Read a text that has the same length in bytes."""
    if not text_value(value).isascii():
        raise UnfitError("letters beyond ASCII are not supported here")
    return str(value)


def whole_value(value: Value) -> int:
    """Return a number of Go's `int`; an optional one is taken as its value."""
    found = value.to if isinstance(value, Pointer) else value
    if type(found) is not int:  # neither a boolean nor a long
        raise UnfitError(f"{described(value)} stands where a number must")
    return found


def number(value: Value) -> int:
    """Return a number for Sprig, which reads texts too."""
    if isinstance(value, str) and value.removeprefix("-").isdecimal() and str(int(value[:20])) == value:
        return int(value)
    if not is_number(value):
        raise UnfitError(f"{described(value)} stands where a number must")
    return int(value)


def is_number(value: Value) -> bool:
    """Return whether a value is a whole number of either size."""
    return isinstance(value, int) and not isinstance(value, bool)


def shown(value: Value) -> str:
    """Return a value as Sprig makes a text of it."""
    if isinstance(value, str | int):
        return printed(value)
    raise UnfitError(f"{described(value)} stands where a text or a number must")


def any_value(value: Value) -> Value:
    """Read any value."""
    return value


def flag(value: Value) -> bool:
    """Read a boolean."""
    if not isinstance(value, bool):
        raise UnfitError(f"{described(value)} stands where a boolean must")
    return value


def items(value: Value) -> list[Value]:
    """Read a list."""
    if not isinstance(value, list):
        raise UnfitError(f"{described(value)} stands where a list must")
    return value


Argument = Callable[[Value], Any]


@dataclass(frozen=True, slots=True)
class Function:
    """A function with what reads each argument."""

    run: Callable[..., Value]
    arguments: tuple[Argument, ...]
    rest: Argument | None = None
    """Reads all further arguments, if there may be any."""

    def called(self, values: Sequence[Value]) -> Value:
        """Return the value of a call.

        Raises:
            UnfitError: arguments are missing, too many, or of another type; or the result is too large.
        """
        most = len(values) if self.rest else len(self.arguments)
        if not len(self.arguments) <= len(values) <= most:
            least = "at least " if self.rest else ""
            raise UnfitError(f"the function takes {least}{len(self.arguments)} arguments, not {len(values)}")
        readers = (*self.arguments, *[self.rest or any_value] * (len(values) - len(self.arguments)))
        found = self.run(*(read(value) for read, value in zip(readers, values, strict=True)))
        return _bounded(found)


def _bounded(value: Value) -> Value:
    if isinstance(value, str) and len(value) > LONGEST:
        raise UnfitError(f"the text is longer than {LONGEST} characters")
    if is_number(value) and abs(value) > LARGEST:
        raise UnfitError("the number is too large")
    return value


# --- Go's own -----------------------------------------------------------------------------------------


def _equal(first: Value, *others: Value) -> bool:
    if not others:
        raise UnfitError("there is nothing to compare with")
    for one in (first, *others):
        if not isinstance(one, str | int):
            raise UnfitError(f"{described(one)} cannot be compared")
    if any(_kind(one) is not _kind(first) for one in others):
        raise UnfitError("values of different types cannot be compared")
    return first in others


def _kind(value: Value) -> type:
    return int if is_number(value) else type(value)


def _less(first: Value, second: Value) -> bool:
    pair = {_kind(first), _kind(second)}
    if pair not in ({str}, {int}):
        raise UnfitError(f"{described(first)} and {described(second)} have no order")
    return bool(first.encode() < second.encode() if pair == {str} else first < second)


def _length(value: Value) -> int:
    if isinstance(value, str):
        return len(value.encode())
    if isinstance(value, list | dict):
        return len(value)
    raise UnfitError(f"{described(value)} has no length")


def _item(value: Value, *keys: Value) -> Value:
    for key in keys:
        is_item = isinstance(value, list) and is_number(key) and 0 <= key < len(value)
        if not is_item and not (isinstance(value, dict) and isinstance(key, str) and key in value):
            raise UnfitError(f"{described(value)} has no item {str(key)[:40]!r}")
        value = value[key]
    return value


def _print(*values: Value) -> str:
    """Print values, with a blank between two of which none is a text (`fmt.Sprint`)."""
    found = [printed(_plain(one)) for one in values]
    for at in range(len(values) - 1, 0, -1):
        if not (isinstance(values[at - 1], str) or isinstance(values[at], str)):
            found.insert(at, " ")
    return "".join(found)


def _formatted(form: str, *values: Value) -> str:
    """Format texts as %s and %q, numbers as %d, both as %v."""
    left, found = list(values), []
    pieces = form.split("%")
    at = 1
    found.append(pieces[0])
    while at < len(pieces):
        piece = pieces[at]
        if not piece and at + 1 < len(pieces):
            found.append("%" + pieces[at + 1])
            at += 2
            continue
        if piece[:1] not in _VERBS or not left:
            raise UnfitError(f"the format {form[:40]!r} is not supported, or has no value for a verb")
        found.append(_VERBS[piece[0]](left.pop(0)) + piece[1:])
        at += 1
    if left:
        raise UnfitError(f"the format {form[:40]!r} has more values than verbs")
    return "".join(found)


def quoted(value: str) -> str:
    """Return a text in double quotes, as a literal of Go (`strconv.Quote`)."""
    return '"' + "".join(_escaped(one) for one in value) + '"'


def _escaped(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


_ESCAPES: Final = dict(zip('\a\b\f\n\r\t\v\\"', (f"\\{one}" for one in 'abfnrtv\\"'), strict=True))
_VERBS: Final[Mapping[str, Callable[[Value], str]]] = {
    "s": text_value,
    "q": lambda value: quoted(text_value(value)),
    "d": lambda value: str(_plain_whole(value)),
    "v": lambda value: printed(_plain(value)),
}


def _plain(value: Value) -> Value:
    if value is None or isinstance(value, Pointer):
        raise UnfitError(f"{described(value)} cannot be formatted")
    return value


def _plain_whole(value: Value) -> int:
    if not is_number(value):
        raise UnfitError(f"{described(value)} is formatted as a number")
    return int(value)


# --- Sprig --------------------------------------------------------------------------------------------


def _truncated(length: int, value: str) -> str:
    if length < 0:
        return value[length:] if len(value) + length > 0 else value
    return value[:length]


def _indented(blanks: int, value: str) -> str:
    pad = _repeated(blanks, " ")
    if (value.count("\n") + 1) * len(pad) > LONGEST:
        raise UnfitError(f"the text is longer than {LONGEST} characters")
    return pad + value.replace("\n", f"\n{pad}")


def _repeated(times: int, value: str) -> str:
    if times < 0 or times * len(value) > LONGEST:
        raise UnfitError(f"a text cannot be repeated {times} times")
    return value * times


def _replaced(old: str, new: str, value: str) -> str:
    if (value.count(old) + 1) * len(new) > LONGEST:
        raise UnfitError(f"the text is longer than {LONGEST} characters")
    return value.replace(old, new)


def _quotient(value: int, by: int) -> int:
    """Divide towards zero, as Go does."""
    if by == 0:
        raise UnfitError("a number cannot be divided by zero")
    found = abs(value) // abs(by)
    return found if (value < 0) == (by < 0) else -found


def _default(default: Value, *given: Value) -> Value:
    return given[0] if given and truth(given[0]) else default


def _failed(message: str) -> Value:
    raise UnfitError(f"it fails by itself: {message[:200]}")


def _first_true(*values: Value) -> Value:
    return next((one for one in values if truth(one)), None)


def _joined(between: str, items: list[Value]) -> str:
    return between.join(map(shown, items))


FUNCTIONS: Final[Mapping[str, Function]] = {
    # Go's own, but for `and` and `or`, which the evaluation knows
    "and": Function(_first_true, (any_value,), any_value),
    "or": Function(_first_true, (any_value,), any_value),
    "not": Function(lambda value: not truth(value), (any_value,)),
    "eq": Function(_equal, (any_value,), any_value),
    "ne": Function(lambda one, other: not _equal(one, other), (any_value, any_value)),
    "lt": Function(_less, (any_value, any_value)),
    "le": Function(lambda one, other: not _less(other, one), (any_value, any_value)),
    "gt": Function(lambda one, other: _less(other, one), (any_value, any_value)),
    "ge": Function(lambda one, other: not _less(one, other), (any_value, any_value)),
    "len": Function(_length, (any_value,)),
    "index": Function(_item, (any_value,), any_value),
    "print": Function(_print, (), any_value),
    "printf": Function(_formatted, (text_value,), any_value),
}
"""What templates of KServe know, beside its own functions."""
SPRIG: Final[Mapping[str, Function]] = {
    "default": Function(_default, (any_value,), any_value),
    "empty": Function(lambda value: not truth(value), (any_value,)),
    "coalesce": Function(_first_true, (), any_value),
    "ternary": Function(lambda yes, no, which: yes if which else no, (any_value, any_value, flag)),
    "fail": Function(_failed, (text_value,)),
    "upper": Function(str.upper, (ascii_value,)),
    "lower": Function(str.lower, (ascii_value,)),
    "trim": Function(lambda value: value.strip(_BLANK), (text_value,)),
    "trimAll": Function(lambda of, value: value.strip(of), (text_value, text_value)),
    "trimPrefix": Function(lambda of, value: value.removeprefix(of), (text_value, text_value)),
    "trimSuffix": Function(lambda of, value: value.removesuffix(of), (text_value, text_value)),
    "nospace": Function(lambda value: "".join(one for one in value if one not in _BLANK), (ascii_value,)),
    "contains": Function(lambda part, value: part in value, (text_value, text_value)),
    "hasPrefix": Function(lambda part, value: value.startswith(part), (text_value, text_value)),
    "hasSuffix": Function(lambda part, value: value.endswith(part), (text_value, text_value)),
    "replace": Function(_replaced, (text_value, text_value, text_value)),
    "repeat": Function(_repeated, (whole_value, text_value)),
    "trunc": Function(_truncated, (whole_value, ascii_value)),
    "indent": Function(_indented, (whole_value, text_value)),
    "nindent": Function(lambda blanks, value: "\n" + _indented(blanks, value), (whole_value, text_value)),
    "quote": Function(lambda *values: " ".join(quoted(one) for one in values), (), shown),
    "squote": Function(lambda *values: " ".join(f"'{one}'" for one in values), (), shown),
    "toString": Function(str, (shown,)),
    "join": Function(_joined, (text_value, items)),
    "b64enc": Function(lambda value: base64.b64encode(value.encode()).decode(), (text_value,)),
    "sha256sum": Function(lambda value: hashlib.sha256(value.encode()).hexdigest(), (text_value,)),
    "int": Function(lambda value: value, (number,)),
    "add": Function(lambda *values: Long(sum(values)), (), number),
    "sub": Function(lambda one, other: Long(one - other), (number, number)),
    "mul": Function(lambda *values: Long(math.prod(values)), (number,), number),
    "div": Function(lambda one, by: Long(_quotient(one, by)), (number, number)),
    "mod": Function(lambda one, by: Long(one - by * _quotient(one, by)), (number, number)),
    "max": Function(lambda *values: Long(max(values)), (number,), number),
    "min": Function(lambda *values: Long(min(values)), (number,), number),
}
"""What templates of llm-d know beside that: Sprig's functions of texts and numbers (`Masterminds/sprig`)."""
