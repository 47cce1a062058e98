"""A script of `sh -c`: the simple command that starts the engine, and its position in the text.

Parses only the grammar that this needs (POSIX.1 Shell Command Language, 2.2 to 2.9): words, quotes,
operators, redirections, depth. Nothing is expanded or computed. Any other construct makes the script too
complex: here-documents, `case`, functions, arrays, nested substitutions, `eval`.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise, takewhile
from typing import Final, NamedTuple

from intent.command_line.flags import end_of_flags

LONGEST: Final = 65_536
"""Longer scripts are too complex: parsing takes linear time, and admission has a deadline."""

Find = Callable[[tuple[str, ...]], int | None]
"""Returns the index of the engine among the words of a simple command; None if it is not the engine."""

_COMMAND: Final = r"""\((?:[^()'"`\\$]|'[^']*+'|"[^"`\\$]*+")*+\)"""
_EXPANSION: Final = rf"""\$(?:{_COMMAND}|\{{[^{{}}'"`\\$]*+\}}|[A-Za-z_]\w*+|[0-9@*#?!$-])?"""
_TERM: Final = rf"""(?:[^()'"`\\$;]|{_EXPANSION})"""
_INNER: Final = rf"(?:{_TERM}|\({_TERM}*+\))"
_ARITHMETIC: Final = rf"\$\(\((?:{_INNER}|\({_INNER}*+\))*+\)\)"
"""`$((…))` (2.6.4), with parentheses in parentheses inside of it."""
_DOLLAR: Final = rf"(?:{_ARITHMETIC}|{_EXPANSION})"
_BACKTICK: Final = r"`[^`\\]*+`"
_SINGLE: Final = r"'[^']*+'"
_DOUBLE: Final = rf'"(?:[^"\\`$]|\\.|{_BACKTICK}|{_DOLLAR})*+"'
_TOKEN: Final = re.compile(
    rf"""
    (?P<blank>(?:[ \t]|\\\n)++|\#[^\n]*+)
  | (?P<redirect>[0-9]*+(?:<<<|<<-?|<>|<&|>>|>&|>\||<|>)|&>>?)
  | (?P<operator>&&|\|\||\|&|[;&|()\n])
  | (?P<word>(?:[^\s;&|<>()'"\\`$]|\\.|{_SINGLE}|{_DOUBLE}|{_BACKTICK}|{_DOLLAR})++)
    """,
    re.VERBOSE | re.DOTALL,
)
_PLAIN: Final = re.compile(rf"""(?:[^'"\\`$*?\[\]{{}}~!]|\\.|{_SINGLE}|"(?:[^"\\`$]|\\.)*+")++""", re.DOTALL)
"""A word without expansion of any kind."""
_QUOTED: Final = re.compile(r"""'([^']*+)'|"((?:[^"\\]|\\.)*+)"|\\(.)""", re.DOTALL)
_LITERAL: Final = re.compile(r"""'[^']*+'|\\.|"((?:[^"\\]|\\.)*+)\"""", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\.", re.DOTALL)
_ESCAPED: Final = re.compile(r'\\(["\\$`\n])')
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*\+?=")
_POSITIONAL: Final = re.compile(r"\$\{?[@*1-9]")

_RESERVED: Final = {
    **dict.fromkeys(("if", "while", "until", "for", "select", "{"), 1),
    **dict.fromkeys(("then", "do", "else", "elif"), 0),
    **dict.fromkeys(("fi", "done", "}"), -1),
}
"""Reserved words (POSIX.1 2.4), with the change of depth of the commands after them."""
_REFUSED: Final = frozenset({"case", "esac", "function", "eval", "alias", "shift", "set --"})
_REST: Final = frozenset({'"$@"', '"${@}"'})
_CONTINUES: Final = frozenset({"&&", "||", "|", "|&"})


class _Token(NamedTuple):
    kind: str
    text: str
    start: int
    stop: int


class _Simple(NamedTuple):
    argv: tuple[_Token, ...]
    depth: int
    redirected: bool
    ends: str


class ControlGroup(NamedTuple):
    """What stands between two control operators of a script, with its quotes."""

    words: tuple[str, ...]
    redirects: tuple[str, ...]
    """Operators with their targets: `2>&1`."""
    ends: str
    """The operator after it."""


@dataclass(frozen=True, slots=True)
class Script:
    """The engine's simple command in a script."""

    text: str
    argv: tuple[str, ...]
    """Its words without quotes, unexpanded."""
    program: int
    """The index of the engine among the words."""
    start: int
    """The position in the text before the engine."""
    stop: int
    """The position in the text after its last flag: after its last word, or before a `--`."""
    simple: bool
    """Whether the script is only this command, without expansions."""
    rest: bool
    """Whether its last word is `"$@"`: the list items after the script."""
    ended: bool = False
    """Whether a `--` ends its flags."""


def read_script(text: str, find: Find) -> Script | None:
    """Parse a script; None if it is too complex, or does not start exactly one engine."""
    tokens, commands = _parsed(text)
    engines = _engines(commands or [], find)
    if commands is None or len(engines) != 1:
        return None
    program, index = engines[0]
    if commands[index].depth or _in_background(commands, index):
        return None
    if _handed_on(tokens) != (commands[index].argv[-1].text in _REST):
        return None
    return _script(text, commands[index], program, alone=_is_alone(commands, index))


def _parsed(text: str) -> tuple[list[_Token], list[_Simple] | None]:
    """Return the tokens of a script, and its simple commands; None if it cannot be parsed."""
    tokens = _tokens(text) if len(text) <= LONGEST else []
    return tokens, _commands(tokens) if tokens else None


def _engines(commands: list[_Simple], find: Find) -> list[tuple[int, int]]:
    """Return for each command that starts the engine the index of the engine's word, and its own."""
    engines = ((_engine(command, find), index) for index, command in enumerate(commands))
    return [(program, index) for program, index in engines if program is not None]


def control_groups(text: str) -> tuple[ControlGroup, ...] | None:
    """Return the words of a script between its control operators; None if it is too complex."""
    tokens, commands = _parsed(text)
    return None if commands is None else tuple(_control_group(*group) for group in _groups(tokens))


def _control_group(group: list[_Token], ends: str) -> ControlGroup:
    targets = {left: right for left, right in pairwise(group) if left.kind == "redirect"}
    words = (token.text for token in group if token.kind == "word" and token not in targets.values())
    redirects = (f"{left.text}{right.text}" for left, right in targets.items())
    return ControlGroup(tuple(words), tuple(redirects), ends)


def insert(script: Script, before: str, behind: str) -> str:
    """Insert text before the engine and after its last flag; all other text stays as it is."""
    text = script.text
    return f"{text[: script.start]}{before}{text[script.start : script.stop]}{behind}{text[script.stop :]}"


def _engine(command: _Simple, find: Find) -> int | None:
    return find(tuple(unquoted(word.text) for word in command.argv)) if command.argv else None


def _is_alone(commands: list[_Simple], index: int) -> bool:
    """Return whether a script contains only this command, blank lines and comments."""
    others = (command for place, command in enumerate(commands) if place != index)
    return all(command.ends in {"", "\n"} for command in commands) and not any(
        command.argv or command.redirected for command in others
    )


def _in_background(commands: list[_Simple], index: int) -> bool:
    return next(command.ends for command in commands[index:] if command.ends not in _CONTINUES) == "&"


def _script(text: str, command: _Simple, program: int, *, alone: bool) -> Script:
    words, last = command.argv, command.argv[-1]
    rest = last.text in _REST
    simple = alone and not command.redirected and all(map(_is_plain, words))
    values = tuple(unquoted(word.text) for word in (words[:-1] if rest else words))
    ends = end_of_flags(values, program)
    ended = ends < len(values)
    stop = words[ends - 1].stop if ended else last.stop
    return Script(text, values, program, words[program].start, stop, simple, rest, ended)


def _handed_on(tokens: list[_Token]) -> int:
    """Return the number of expansions of `$1`, `$@` and other positional parameters."""
    words = (token.text for token in tokens if token.kind == "word" and "$" in token.text)
    expanded = (_LITERAL.sub(_expanding, word) for word in words)
    return sum(len(_POSITIONAL.findall(word)) for word in expanded)


def _expanding(quoted: re.Match[str]) -> str:
    """Keep the text of double quotes, which the shell expands; remove that of single quotes."""
    return _ESCAPE.sub("", quoted[1] or "")


def _is_plain(word: _Token) -> bool:
    return _PLAIN.fullmatch(word.text) is not None and _ASSIGNMENT.match(word.text) is None


def unquoted(word: str) -> str:
    """Remove the quotes of a word (POSIX.1 2.6.7)."""
    if not any(quote in word for quote in "'\"\\"):
        return word
    return _QUOTED.sub(_content, word)


def _content(quoted: re.Match[str]) -> str:
    single, double, escaped = quoted.groups()
    if double is not None:
        return _ESCAPED.sub(lambda escape: escape[1].strip("\n"), double)
    return single if single is not None else escaped.strip("\n")


def _commands(tokens: list[_Token]) -> list[_Simple] | None:
    if tokens[-1].kind == "unknown":
        return None
    commands: list[_Simple] = []
    depth = 0
    for group, ends in _groups(tokens):
        command = _simple(group, ends, depth)
        if _is_refused(command, group):
            return None
        commands.append(command)
        depth = command.depth + {"(": 1, ")": -1}.get(ends, 0)
    return commands if depth == 0 else None


def _tokens(text: str) -> list[_Token]:
    """Return the tokens without blanks and comments; the last is `end`, or `unknown` if parsing stopped."""
    position = 0
    tokens: list[_Token] = []
    while match := _TOKEN.match(text, position):
        position = match.end()
        if match.lastgroup != "blank":
            tokens.append(_Token(str(match.lastgroup), match[0], match.start(), position))
    tokens.append(_Token("end" if position == len(text) else "unknown", "", position, position))
    return tokens


def _groups(tokens: list[_Token]) -> Iterator[tuple[list[_Token], str]]:
    """Yield the tokens between control operators, with the operator that ends them."""
    group: list[_Token] = []
    for token in tokens:
        if token.kind in {"operator", "end"}:
            yield group, token.text
            group = []
        else:
            group.append(token)


def _simple(group: list[_Token], ends: str, depth: int) -> _Simple:
    if all(token.kind == "word" for token in group) and (not group or group[0].text not in _RESERVED):
        return _Simple(tuple(group), depth, redirected=False, ends=ends)
    targets = {right for left, right in pairwise(group) if left.kind == "redirect"}
    words = [token for token in group if token.kind == "word" and token not in targets]
    shaping = [token.text for token in takewhile(lambda token: token.text in _RESERVED, words)]
    depth += sum(_RESERVED[text] for text in shaping)
    return _Simple(tuple(words[len(shaping) :]), depth, len(words) - len(shaping) < len(group), ends)


def _is_refused(command: _Simple, group: list[_Token]) -> bool:
    texts = [word.text for word in command.argv]
    return (
        command.depth < 0
        or (command.ends == "(" and bool(texts))
        or any("<<" in token.text for token in group if token.kind == "redirect")
        or bool(texts and texts[0] in _REFUSED)
        or " ".join(texts[:2]) in _REFUSED
    )
