"""Go's `text/template`, the part that presets of KServe and BaseConfigs of llm-d use. Strict and bounded.

    render(source, data, functions)     the text, or a TemplateError with the place and the expression

Texts and actions with trim marks: `if`, `else`, `else if` and `end`; pipelines of fields, texts, whole
numbers, `true`, `false`, `nil`, parentheses, `and`, `or`, `not`, `eq`, and the functions that a system adds.
Everything else is refused by its name. What is not refused gives the text that Go gives:
`tests/cluster/test_gotemplate.py` compares them.

Values of the data are what Go's reflection tells apart: texts, numbers, booleans and maps as themselves, None
for a nil pointer, `Struct` for a struct or a pointer to one, and `Pointer` for a pointer to a scalar.
"""

import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final, NamedTuple

MOST_CHARACTERS: Final = 1 << 20
"""Of a template, and of what it makes. A ConfigMap has no more."""
DEEPEST: Final = 32
"""The depth of blocks and of parentheses."""
LARGEST: Final = 2**63 - 1
Value = Any


@dataclass(frozen=True, slots=True)
class Struct:
    """A struct with its fields by their names in Go. It is true, even if all its fields are empty."""

    fields: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Pointer:
    """A pointer to a scalar, as optional fields of Kubernetes' types are. It is true, even to 0."""

    to: str | int | bool


class UnfitError(Exception):
    """A value cannot be used so. The message says why; the evaluation adds the place."""


class TemplateError(ValueError):
    """A template is not understood, or fails."""

    def __init__(self, message: str, source: str, at: int) -> None:
        """Add the place in the template, and the expression there."""
        line, column = source.count("\n", 0, at) + 1, at - (source.rfind("\n", 0, at) + 1) + 1
        end = source.find("}}", at)
        start = max(source.rfind("{{", 0, at + 2), 0)
        shown = source[start : end + 2] if end >= 0 else source[start:]
        shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
        super().__init__(f"{line}:{column}: {shown}: {message}")


_SHOWN: Final = 120


# --- functions ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Function:
    """A function with what reads each argument: a value of another type is an error, as in Go."""

    run: Callable[..., Value]
    arguments: tuple[Callable[[Value], Any], ...]
    rest: Callable[[Value], Any] | None = None
    """Reads all further arguments, if there may be any."""

    def called(self, values: Sequence[Value]) -> Value:
        """Return the value of a call. Raises `UnfitError`."""
        most = len(values) if self.rest else len(self.arguments)
        if not len(self.arguments) <= len(values) <= most:
            least = "at least " if self.rest else ""
            raise UnfitError(f"the function takes {least}{len(self.arguments)} arguments, not {len(values)}")
        further = [self.rest or any_value] * (len(values) - len(self.arguments))
        readers = (*self.arguments, *further)
        return self.run(*(read(value) for read, value in zip(readers, values, strict=True)))


def any_value(value: Value) -> Value:
    """Read any value."""
    return value


def text_value(value: Value) -> str:
    """Read a text."""
    if not isinstance(value, str):
        raise UnfitError(f"{described(value)} stands where a text must")
    return value


def whole_value(value: Value) -> int:
    """Read a number; an optional one is taken as its value."""
    number = value.to if isinstance(value, Pointer) else value
    if type(number) is not int:
        raise UnfitError(f"{described(value)} stands where a number must")
    return number


def truth(value: Value) -> bool:
    """Return whether `if` takes a value for true (`text/template`, `IsTrue`)."""
    return True if isinstance(value, Struct | Pointer) else bool(value)


def printed(value: Value) -> str:
    """Return how a value is printed (`fmt`, `%v`)."""
    shown = value.to if isinstance(value, Pointer) else value
    if isinstance(shown, bool):
        return str(shown).lower()
    if isinstance(shown, str | int):
        return str(shown)
    raise UnfitError(f"{described(value)} cannot be printed")


def described(value: Value) -> str:
    """Return what a value is, in the words of Kubernetes' API."""
    if value is None:
        return "an absent value"
    kinds = {bool: "a boolean", int: "a number", str: "a text", list: "a list"}
    return kinds.get(type(value), "an optional value" if isinstance(value, Pointer) else "an object")


def _equal(first: Value, *others: Value) -> bool:
    if not others:
        raise UnfitError("there is nothing to compare with")
    for value in (first, *others):
        if not isinstance(value, str | int):
            raise UnfitError(f"{described(value)} cannot be compared")
    if any(type(value) is not type(first) for value in others):
        raise UnfitError("values of different types cannot be compared")
    return first in others


def _default(default: Value, *values: Value) -> Value:
    return values[0] if values and truth(values[0]) else default


FUNCTIONS: Final[Mapping[str, Function]] = {
    "not": Function(lambda value: not truth(value), (any_value,)),
    "eq": Function(_equal, (any_value,), any_value),
}
"""Go's own, beside `and` and `or`, which evaluate no more arguments than they need."""
DEFAULT: Final = Function(_default, (any_value,), any_value)
"""`default` of Sprig, which llm-d adds (`Masterminds/sprig`)."""
_SHORT: Final = {"and": False, "or": True}
"""The functions that stop at an argument, with the truth of that argument."""


# --- the words of a template --------------------------------------------------------------------------

SPACE: Final = " \t\r\n"
_OPEN: Final = re.compile(r"\{\{(?P<trim>-(?=[ \t\r\n]))?")
_TOKEN: Final = re.compile(
    r"""
    (?P<end>(?P<trim>[ \t\r\n]+-)?\}\})
  | (?P<space>[ \t\r\n]+)
  | (?P<field>(?:\.[A-Za-z_]\w*)+)(?=[ \t\r\n|()]|\}\})
  | (?P<number>[+-]?(?:0|[1-9][0-9]{0,18}))(?=[ \t\r\n|()]|\}\})
  | (?P<word>[A-Za-z_]\w*)(?=[ \t\r\n|()]|\}\})
  | (?P<text>"[^"\\\n]*"|`[^`\r]*`)
  | (?P<mark>[|()])
    """,
    re.VERBOSE | re.ASCII,
)
_WORD: Final = re.compile(r"[^ \t\r\n}]{0,40}")
_OPERANDS: Final = frozenset({"field", "number", "word", "text"})


class _Token(NamedTuple):
    """A text outside of actions (`raw`), a part of an action, its `end`, or the end of all (`eof`)."""

    kind: str
    text: str
    at: int


def _tokens(source: str) -> Iterator[_Token]:
    """Yield the tokens of a template, with the texts trimmed as the actions beside them say."""
    position, trim = 0, False
    while opened := _OPEN.search(source, position):
        text = source[position : opened.start()]
        text = text.lstrip(SPACE) if trim else text
        yield _Token("raw", text.rstrip(SPACE) if opened["trim"] else text, position)
        kind, before, position = "", "mark", opened.end()
        while kind != "end":
            token = _TOKEN.match(source, position)
            if token is None:
                word = _WORD.match(source, position)
                is_ended = word and word[0] and source.find("}}", position) >= 0
                what = f"{word[0]} is not supported" if word and is_ended else "the action does not end"
                raise TemplateError(what, source, position)
            kind = "end" if token["end"] else str(token.lastgroup)
            is_operand = kind in _OPERANDS or token[0] == "("
            if is_operand and before not in {"space", "mark"}:
                raise TemplateError(f"a blank must stand before {token[0]}", source, position)
            if kind != "space":
                yield _Token(kind, token[0], position)
            before = "closed" if token[0] == ")" else kind
            position, trim = token.end(), token["trim"] is not None
    text = source[position:]
    yield _Token("raw", text.lstrip(SPACE) if trim else text, position)
    yield _Token("eof", "", len(source))


# --- the grammar --------------------------------------------------------------------------------------

Term = Callable[[Value], Value]
"""Returns the value of an operand, for the root of the data."""
Piece = Callable[[Value], Iterator[str]]
"""Yields the texts that a part of a template prints, for the root of the data."""
_CONSTANTS: Final[Mapping[str, Value]] = {"true": True, "false": False, "nil": None}
_KEYWORDS: Final = frozenset(
    {"if", "else", "end", "range", "with", "block", "break", "continue", "define", "template"}
)


@dataclass(slots=True)
class _Parser:
    """The tokens of a template that are not read yet."""

    source: str
    functions: Mapping[str, Function]
    tokens: deque[_Token]
    depth: int = 0

    def error(self, message: str, at: int) -> TemplateError:
        return TemplateError(message, self.source, at)

    def deeper(self, at: int) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.error(f"blocks and parentheses are more than {DEEPEST} deep", at)

    # --- texts and blocks -----------------------------------------------------------------------------

    def pieces(self) -> tuple[Piece, _Token]:
        """Read up to `else`, `end` or the end of all, and return that token too."""
        pieces: list[Piece] = []
        while self.tokens[0].kind != "eof":
            first = self.tokens[0]
            if first.kind == "raw":
                pieces.append(_raw(self.tokens.popleft().text))
            elif first.text in {"else", "end"}:
                break
            elif first.text == "if":
                pieces.append(self.block())
            else:
                pieces.append(self.printing(self.whole(), first.at))
        return _all(pieces), self.tokens.popleft()

    def block(self) -> Piece:
        """Read the parts of an `if` up to its `end`; `else if` is a block in the part after `else`."""
        start = self.tokens.popleft().at
        self.deeper(start)
        term = self.whole()
        then, last = self.pieces()
        other = _all([])
        if last.text == "else" and self.tokens[0].text == "if":
            other = self.block()
        else:
            if last.text == "else":
                self.ended(last.text)
                other, last = self.pieces()
            if last.text != "end":
                raise self.error("if needs an end", last.at if last.text else start)
            self.ended(last.text)
        self.depth -= 1
        return lambda root: (then if truth(term(root)) else other)(root)

    def ended(self, word: str) -> None:
        """Read the end of an action."""
        token = self.tokens.popleft()
        if token.kind != "end":
            where = f"stand after {word} here" if word else "be closed that is not open"
            raise self.error(f"nothing may {where}", token.at)

    def printing(self, term: Term, at: int) -> Piece:
        """Return what prints a value."""

        def piece(root: Value) -> Iterator[str]:
            value = term(root)
            try:
                yield printed(value)
            except UnfitError as error:
                raise self.error(str(error), at) from None

        return piece

    # --- pipelines ------------------------------------------------------------------------------------

    def whole(self) -> Term:
        """Read the pipeline of an action: all its tokens."""
        term = self.pipeline()
        self.ended("")
        return term

    def pipeline(self) -> Term:
        """Read commands, each of which gets the value of the one before as its last argument."""
        term = self.command(None)
        while self.tokens[0].text == "|":
            self.tokens.popleft()
            term = self.command(term)
        return term

    def command(self, last: Term | None) -> Term:
        """Read a function with its arguments, or an operand alone."""
        first = self.tokens[0]
        name = first.text if first.kind == "word" and first.text not in _CONSTANTS else ""
        if name:
            self.tokens.popleft()
            if name not in _SHORT and name not in self.functions:
                kind = "" if name in _KEYWORDS else "function "
                raise self.error(f"{kind}{name} is not supported", first.at)
        terms = list[Term]()
        while self.tokens[0].kind != "end" and self.tokens[0].text not in {"|", ")"}:
            terms.append(self.operand())
        if name in _SHORT:
            return self.chosen(name, terms, last, first.at)
        if name:
            return self.call(name, [*terms, *([last] if last else [])], first.at)
        if len(terms) != 1 or last or first.text == "nil":
            raise self.error("only a function takes a value" if terms else "a value is missing", first.at)
        return terms[0]

    def operand(self) -> Term:
        token = self.tokens.popleft()
        if token.kind == "field":
            return self.fields(token)
        if token.text == "(":
            self.deeper(token.at)
            term = self.pipeline()
            if self.tokens.popleft().text != ")":
                raise self.error("a parenthesis is not closed", token.at)
            self.depth -= 1
            return term
        if token.kind == "word" and token.text not in _CONSTANTS:
            raise self.error(f"{token.text} cannot stand here without parentheses", token.at)
        if token.kind == "number" and abs(int(token.text)) > LARGEST:
            raise self.error("the number is too large", token.at)
        value = int(token.text) if token.kind == "number" else _CONSTANTS.get(token.text, token.text[1:-1])
        return lambda _: value

    # --- what is evaluated ----------------------------------------------------------------------------

    def fields(self, token: _Token) -> Term:
        """Return the term of `.A.B`: a field of a field of the root."""
        names = token.text[1:].split(".")

        def value(root: Value) -> Value:
            at = token.at
            for name in names:
                fields = root.fields if isinstance(root, Struct) else root
                if not isinstance(fields, Mapping):
                    raise self.error(f"{described(root)} has no field {name}", at)
                if name not in fields:
                    raise self.error(f"there is no field {name}", at)
                root, at = fields[name], at + len(name) + 1
            return root

        return value

    def chosen(self, name: str, terms: Sequence[Term], last: Term | None, at: int) -> Term:
        """Return the term of `and` or `or`: the first argument that decides, or the last one.

        The value before `|` is the last argument, and is there already.
        """
        if not terms and not last:
            raise self.error(f"{name} takes at least one argument", at)

        def value(root: Value) -> Value:
            value = last(root) if last else None
            for term in terms:
                chosen = term(root)
                if truth(chosen) is _SHORT[name]:
                    return chosen
                value = value if last else chosen
            return value

        return value

    def call(self, name: str, terms: Sequence[Term], at: int) -> Term:
        def value(root: Value) -> Value:
            try:
                return self.functions[name].called([term(root) for term in terms])
            except UnfitError as error:
                raise self.error(str(error), at) from None

        return value


def _raw(text: str) -> Piece:
    return lambda _: iter((text,))


def _all(pieces: Sequence[Piece]) -> Piece:
    return lambda root: chain.from_iterable(piece(root) for piece in pieces)


def render(source: str, data: Value, functions: Mapping[str, Function] = FUNCTIONS) -> str:
    """Return what a template makes of data.

    Raises:
        TemplateError: the template is not supported, or Go would have an error too.
    """
    if len(source) > MOST_CHARACTERS:
        raise TemplateError(f"the template is longer than {MOST_CHARACTERS} characters", source, 0)
    parser = _Parser(source, functions, deque(_tokens(source)))
    whole, last = parser.pieces()
    if last.text:
        raise parser.error(f"{last.text} without a block", last.at)
    output, length = list[str](), 0
    for text in whole(data):
        output.append(text)
        length += len(text)
        if length > MOST_CHARACTERS:
            raise parser.error(f"the output is longer than {MOST_CHARACTERS} characters", len(source))
    return "".join(output)
