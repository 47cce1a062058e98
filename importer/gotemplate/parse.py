"""The grammar of Go's `text/template`, as far as presets of KServe and llm-d use it.

Texts, actions with trim marks, comments, `if`, `with`, `range`, `else`, `else if` and `end`; pipelines of
fields, literals, parentheses and calls of known functions. Variables and definitions are errors, as all that
the grammar does not know.
"""

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final, NamedTuple

from importer.gotemplate.literals import LITERAL, NUMBER, RAW, literal
from importer.gotemplate.values import UnfitError, Value

MOST_CHARACTERS: Final = 1 << 20
"""Longer templates are not read; a ConfigMap has no more."""
DEEPEST: Final = 32
"""The depth of blocks and of parentheses."""

SPACE: Final = " \t\r\n"
_OPEN: Final = re.compile(r"\{\{(?P<trim>-(?=[ \t\r\n]))?")
_COMMENT: Final = re.compile(r"[ \t\r\n]?/\*.*?\*/(?P<end>(?P<trim>[ \t\r\n]-)?\}\})?", re.DOTALL)
_TOKEN: Final = re.compile(
    rf"""
    (?P<end>(?P<trim>[ \t\r\n]+-)?\}}\}})
  | (?P<space>[ \t\r\n]+)
  | (?P<field>\.[A-Za-z_]\w*)
  | (?P<number>{NUMBER})
  | (?P<dot>\.)
  | (?P<root>\$)
  | (?P<word>[A-Za-z_]\w*)
  | (?P<text>{LITERAL}|{RAW})
  | (?P<mark>[|()])
    """,
    re.VERBOSE | re.ASCII,
)
_STICKS: Final = frozenset({"field", "number", "dot", "root", "word"})
"""Tokens after which a blank, a field or one of `|()` must follow."""
_AFTER: Final = re.compile(r"[ \t\r\n.|()]|\}\}")
_CONSTANTS: Final[dict[str, Value]] = {"true": True, "false": False, "nil": None}
_REFUSED: Final = frozenset({"block", "break", "continue", "define", "template"})
_BLOCKS: Final = frozenset({"if", "range", "with"})
_WORDS: Final = _BLOCKS | _REFUSED | {"else", "end"}


class TemplateError(ValueError):
    """A template is not understood, or fails."""

    def __init__(self, message: str, source: str, at: int) -> None:
        """Add the place in the template, and the expression there."""
        line, column = source.count("\n", 0, at) + 1, at - (source.rfind("\n", 0, at) + 1) + 1
        end = source.find("}}", at)
        start = max(source.rfind("{{", 0, at + 2), 0)
        shown = source[start : end + 2] if end >= 0 else source[start:]
        self.line, self.column = line, column
        self.expression = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
        self.message = message
        super().__init__(f"{line}:{column}: {self.expression}: {message}")


_SHOWN: Final = 120


# --- the tree ----------------------------------------------------------------------------------------


class Constant(NamedTuple):
    """A literal."""

    value: Value
    at: int


class FieldChain(NamedTuple):
    """`.A.B`, `$.A`, `(pipeline).A`: fields of what a term has, with the place of each."""

    of: "Term"
    names: tuple[tuple[str, int], ...]
    at: int


class Dot(NamedTuple):
    """`.`: the current value; `$`: the value of the whole template."""

    is_root: bool
    at: int


class Call(NamedTuple):
    """One command of a pipeline: an operand alone, or a function with its arguments."""

    function: str
    """Empty for an operand alone, which is the only argument."""
    arguments: tuple["Term", ...]
    at: int


class Pipeline(NamedTuple):
    """Commands, each of which gets the value of the one before as its last argument."""

    calls: tuple[Call, ...]
    at: int


Term = Constant | FieldChain | Dot | Pipeline | Call


class Text(NamedTuple):
    """Text between actions."""

    text: str


class Print(NamedTuple):
    """An action that prints the value of a pipeline."""

    pipeline: Pipeline


class Branch(NamedTuple):
    """`if`, `with` or `range`, with the part after `else`."""

    keyword: str
    pipeline: Pipeline
    then: tuple["Node", ...]
    other: tuple["Node", ...]


Node = Text | Print | Branch


class _Token(NamedTuple):
    kind: str
    text: str
    at: int


# --- texts and blocks --------------------------------------------------------------------------------


@dataclass(slots=True)
class _Parser:
    """The text of a template, and the place up to which it is read."""

    source: str
    functions: AbstractSet[str]
    at: int = 0
    depth: int = 0
    trim: bool = False
    """Whether the action before trims the text that follows."""

    def error(self, message: str, at: int) -> TemplateError:
        return TemplateError(message, self.source, at)

    def nodes(self) -> tuple[tuple[Node, ...], _Token, list[_Token]]:
        """Read up to `else`, `end` or the end of the text; return that word and the tokens after it."""
        found: list[Node] = []
        while True:
            text, is_open = self.text()
            if text:
                found.append(Text(text))
            if not is_open:
                return tuple(found), _Token("eof", "", self.at), []
            if self.comment():
                continue
            tokens = _trimmed(list(self.tokens()))
            if tokens[0].kind == "word" and tokens[0].text in {"else", "end"}:
                return tuple(found), tokens[0], _trimmed(tokens[1:])
            found.append(self.node(tokens))

    def text(self) -> tuple[str, bool]:
        """Read the text before the next action."""
        opened = _OPEN.search(self.source, self.at)
        text = self.source[self.at : opened.start() if opened else len(self.source)]
        text = text.lstrip(SPACE) if self.trim else text
        self.at, self.trim = opened.end() if opened else len(self.source), False
        return text.rstrip(SPACE) if opened and opened["trim"] else text, opened is not None

    def comment(self) -> bool:
        """Read a comment, if one follows."""
        found = _COMMENT.match(self.source, self.at)
        is_trimmed = self.source[self.at - 1] == "-"
        if found is None or is_trimmed != (self.source[self.at] != "/"):
            return False
        if not found["end"]:
            raise self.error("a comment ends with */}}", self.at)
        self.at, self.trim = found.end(), found["trim"] is not None
        return True

    def tokens(self) -> Iterator[_Token]:
        """Yield the tokens of an action; the last is its end."""
        kind = ""
        while kind != "end":
            found = _TOKEN.match(self.source, self.at)
            if found is None:
                raise self.error("the action is not understood here, or does not end", self.at)
            kind = "end" if found["end"] else str(found.lastgroup)
            self.at, self.trim = found.end(), found["trim"] is not None
            if kind in _STICKS and not _AFTER.match(self.source, self.at):
                raise self.error(f"a blank must follow {found[0]}", found.start())
            yield _Token(kind, found[0], found.start())

    def node(self, tokens: list[_Token]) -> Node:
        first = tokens[0]
        if first.kind == "word" and first.text in _REFUSED:
            raise self.error(f"{first.text} is not supported", first.at)
        if first.kind == "word" and first.text in _BLOCKS:
            return self.block(first.text, self.operands(tokens))
        return Print(self.pipeline(tokens))

    def block(self, keyword: str, tokens: list[_Token]) -> Branch:
        """Read the parts of a block up to its `end`; `else if` is a block in the part after `else`."""
        start = tokens[0].at
        self.deeper(start)
        pipeline = self.pipeline(tokens)
        then, word, rest = self.nodes()
        other: tuple[Node, ...] = ()
        if word.text == "else" and keyword == "if" and rest[0].text == "if":
            other = (self.block("if", self.operands(rest)),)
        else:
            if word.text == "else":
                self.ended(rest, "else")
                other, word, rest = self.nodes()
            if word.text != "end":
                raise self.error(f"{keyword} needs an end", start)
            self.ended(rest, "end")
        self.depth -= 1
        return Branch(keyword, pipeline, then, other)

    def operands(self, tokens: list[_Token]) -> list[_Token]:
        """Return the tokens after the word of a block: a value must be there."""
        found = _trimmed(tokens[1:])
        if found[0].kind == "end":
            raise self.error(f"a value is missing after {tokens[0].text}", tokens[0].at)
        return found

    def ended(self, tokens: list[_Token], word: str) -> None:
        if tokens[0].kind != "end":
            raise self.error(f"nothing may stand after {word} here", tokens[0].at)

    def deeper(self, at: int) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.error(f"blocks and parentheses are more than {DEEPEST} deep", at)

    # --- pipelines -----------------------------------------------------------------------------------

    def pipeline(self, tokens: list[_Token]) -> Pipeline:
        """Read the pipeline of an action: all its tokens."""
        found, at = self.commands(tokens, 0)
        if tokens[at].kind != "end":
            raise self.error("a parenthesis is closed that is not open", tokens[at].at)
        return found

    def commands(self, tokens: list[_Token], at: int) -> tuple[Pipeline, int]:
        """Read commands up to the end of the action or of the parenthesis."""
        calls: list[Call] = []
        start = tokens[at].at
        while True:
            call, at = self.command(tokens, at)
            if calls and not call.function:
                raise self.error("only a function can take the value before |", call.at)
            calls.append(call)
            if tokens[at].text != "|":
                return Pipeline(tuple(calls), start), at
            at += 1

    def command(self, tokens: list[_Token], at: int) -> tuple[Call, int]:
        """Read operands up to `|`, a closed parenthesis or the end."""
        start, name, terms = tokens[at].at, "", list[Term]()
        is_apart = True
        while True:
            token = tokens[at]
            if token.kind == "space":
                is_apart, at = True, at + 1
                continue
            if token.kind == "end" or token.text in {"|", ")"}:
                break
            if not is_apart:
                raise self.error(f"a blank must stand before {token.text}", token.at)
            if token.kind == "word" and token.text not in _CONSTANTS and not name and not terms:
                name, at = self.function(token), at + 1
            else:
                term, at = self.operand(tokens, at)
                terms.append(term)
            is_apart = False
        if not name and len(terms) != 1:
            raise self.error("a value is missing" if not terms else "only a function takes arguments", start)
        if not name and isinstance(terms[0], Constant) and terms[0].value is None:
            raise self.error("nil is no command", start)
        return Call(name, tuple(terms), start), at

    def function(self, token: _Token) -> str:
        if token.text in _WORDS:
            raise self.error(f"{token.text} cannot stand here", token.at)
        if token.text not in self.functions:
            raise self.error(f"function {token.text} is not supported", token.at)
        return token.text

    def operand(self, tokens: list[_Token], at: int) -> tuple[Term, int]:
        """Read a term, and the fields that stand directly after it."""
        token = tokens[at]
        found: Term
        if token.kind == "field":
            found = Dot(is_root=False, at=token.at)
        else:
            found, at = self.term(tokens, at)
        names = []
        while tokens[at].kind == "field":
            names.append((tokens[at].text[1:], tokens[at].at))
            at += 1
        if names and isinstance(found, Constant | Call):
            raise self.error(f"{token.text} has no fields", names[0][1])
        if names and isinstance(found, Dot) and not found.is_root and token.kind == "dot":
            raise self.error("a field follows . without another .", names[0][1])
        return (FieldChain(found, tuple(names), token.at) if names else found), at

    def term(self, tokens: list[_Token], at: int) -> tuple[Term, int]:
        token = tokens[at]
        if token.text == "(":
            self.deeper(token.at)
            found, at = self.commands(tokens, at + 1)
            if tokens[at].text != ")":
                raise self.error("a parenthesis is not closed", token.at)
            self.depth -= 1
            return found, at + 1
        if token.kind in {"dot", "root"}:
            return Dot(token.kind == "root", token.at), at + 1
        if token.kind == "word" and token.text in _CONSTANTS:
            return Constant(_CONSTANTS[token.text], token.at), at + 1
        if token.kind == "word":
            return Call(self.function(token), (), token.at), at + 1
        if token.kind in {"text", "number"}:
            try:
                return Constant(literal(token.text), token.at), at + 1
            except UnfitError as error:
                raise self.error(str(error), token.at) from None
        raise self.error(f"{token.text} cannot stand here", token.at)


def _trimmed(tokens: list[_Token]) -> list[_Token]:
    """Return tokens without the blanks before them."""
    return tokens[1:] if tokens[0].kind == "space" else tokens


def parse(source: str, functions: AbstractSet[str]) -> tuple[Node, ...]:
    """Read a template that may call the named functions.

    Raises:
        TemplateError: it is not of this grammar.
    """
    parser = _Parser(source, functions)
    if len(source) > MOST_CHARACTERS:
        raise parser.error(f"the template is longer than {MOST_CHARACTERS} characters", 0)
    found, word, _ = parser.nodes()
    if word.kind != "eof":
        raise parser.error(f"{word.text} without a block", word.at)
    return found
