"""The commands that the script of a shell runs in one pod of a group, with their words and their environment.

    commands(script, pod)     the commands in their order, or `StaysError` with the reason

Variables, arithmetic and conditions are followed as far as the pod tells them: from the script, from the
container, and from LWS. What a container only waits for, or prints, is left out. A variable of the container
or of LWS that stays in a word is written as the kubelet reads it: `$(NAME)`.
"""

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple

from importer.leaves import Leaf
from importer.words import OF_LWS, GroupPod, StaysError, Variables, references
from intent.command_line.programs import ASSIGNMENT
from intent.command_line.shell import LONGEST, ControlGroup, control_groups

SHELLS: Final = frozenset({"/bin/bash", "bash", "/bin/sh", "sh"})


class ScriptCommand(NamedTuple):
    """A command that does something, and the variables that the script sets for it."""

    words: tuple[Leaf, ...]
    env: Mapping[str, Leaf]


def commands(script: Leaf, pod: GroupPod) -> tuple[ScriptCommand, ...]:
    """Return the commands of a script, whose words come from it.

    Raises:
        StaysError: the script has a construct, or a word, whose effect is not known.
    """
    run = _Run(Variables(pod), script)
    run.body(_parsed(script.value))
    return tuple(run.started)


# --- the structure ------------------------------------------------------------------------------------

_ENDS: Final = {
    "if": "then (elif then )*(else )?fi",
    **dict.fromkeys(("while", "until", "for"), "do done"),
}
"""The keywords that open blocks, and those that end the parts of them."""
_CLOSES: Final = frozenset({"fi", "done"})
_KEYWORDS: Final = _CLOSES.union(_ENDS, ("then", "do", "elif", "else"))
_CONTINUES: Final = frozenset({"&&", "||", "|", "|&"})
_DEEPEST: Final = 32
"""The blocks that may stand in each other."""
_Chain = tuple[ControlGroup, ...]
"""Commands that are joined by `&&`, `||` and pipes."""


class _Block(NamedTuple):
    """A loop or a condition: its parts, each with the keyword that ends it."""

    keyword: str
    parts: "Sequence[tuple[_Body, str]]"


_Body = Sequence[_Chain | _Block]


@lru_cache(maxsize=4)
def _parsed(text: str) -> _Body:
    """Return the chains and blocks of a script, which are the same for each pod of a group."""
    if len(text) > LONGEST:
        raise StaysError(f"the script has more than {LONGEST} characters")
    groups = control_groups(text)
    if groups is None:
        raise StaysError("the script has a function, a here-document, or a nested command")
    body, keyword = _body(_split(groups), 0)
    if keyword:
        raise StaysError(f"`{keyword}` ends a block of the script that does not begin")
    return body


def _split(groups: Sequence[ControlGroup]) -> Iterator[str | ControlGroup]:
    """Yield the keywords and commands; the head of a `for` assigns, and does nothing else."""
    for words, redirects, ends in groups:
        rest = words
        while rest[:1] and rest[0] in _KEYWORDS:
            yield rest[0]
            head = (*(f"{word}=" for word in rest[1:2]), ":", *rest[2:])
            rest = head if rest[0] == "for" else rest[1:]
        if ends in {"(", ")"} or (not rest and ends not in {"", ";", "\n", "&&"}):
            raise StaysError("the script has a group of commands, or a block in the background")
        if rest:
            yield ControlGroup(rest, redirects, ends)
        elif not all(map(_is_quiet, redirects)):
            raise StaysError(f"the script writes to a file: {redirects[0][:60]}")


def _body(items: Iterator[str | ControlGroup], depth: int) -> tuple[_Body, str]:
    """Return what stands up to the keyword that ends a part of a block, and this; empty at the end."""
    if depth > _DEEPEST:
        raise StaysError(f"more than {_DEEPEST} conditions stand in each other")
    body: list[_Chain | _Block] = []
    chain: _Chain = ()
    for item in items:
        if isinstance(item, ControlGroup):
            chain = (*chain, item)
            if item.ends not in _CONTINUES:
                body.append(chain)
                chain = ()
        elif chain:
            raise StaysError("a block of the script depends on another command")
        elif item in _ENDS:
            body.append(_block(item, items, depth))
        else:
            return body, item
    return body, ""


def _block(keyword: str, items: Iterator[str | ControlGroup], depth: int) -> _Block:
    parts = [_body(items, depth + 1)]
    while parts[-1][1] not in {*_CLOSES, ""}:
        parts.append(_body(items, depth + 1))
    ends = " ".join(end for _, end in parts)
    is_whole = re.fullmatch(_ENDS[keyword], ends) and all(part for part, _ in parts)
    if not is_whole or (keyword == "for" and len(parts[0][0]) > 1):
        raise StaysError("a loop or a condition of the script does not end")
    return _Block(keyword, parts)


def _inside(bodies: Iterable[_Body]) -> Iterator[ControlGroup]:
    """Yield all commands of parts of a block, those of blocks in them too."""
    for item in (item for body in bodies for item in body):
        yield from _inside(part for part, _ in item.parts) if isinstance(item, _Block) else item


@dataclass(slots=True)
class _Run:
    """The state of a script while its commands are read."""

    variables: Variables
    script: Leaf
    exported: set[str] = field(default_factory=set)
    started: list[ScriptCommand] = field(default_factory=list)
    ended: bool = False
    """Whether the script runs no more: behind `exit` and `exec`."""

    def body(self, body: _Body) -> None:
        """Read chains and blocks in their order."""
        for item in body:
            if self.ended:
                return
            if not isinstance(item, _Block):
                self._chain(item)
            elif item.keyword == "if":
                self._condition(item)
            else:
                self._loop(item)

    def _loop(self, block: _Block) -> None:
        """Leave out a loop that only waits for Ray."""
        words = [word for command in _inside(part for part, _ in block.parts) for word in command.words]
        is_awaited = any(re.search(r"\bray\b|LWS_", word) for word in words)
        if not is_awaited or not self._skips(block.parts):
            raise StaysError(f"`{block.keyword}` does more than wait for Ray, or for the leader")

    def _condition(self, block: _Block) -> None:
        """Read the branch that the pod takes; if that is not known, none of them may do anything."""
        holds = False
        for index, (part, end) in enumerate(block.parts):
            if end == "then":
                try:
                    holds = self._holds(part)
                except StaysError:
                    if self._skips(block.parts[index:]):
                        return
                    raise
            elif holds:
                self.body(part)
                return
            else:
                holds = end == "else"

    def _skips(self, parts: Sequence[tuple[_Body, str]]) -> bool:
        """Leave out parts of a block if they only look; variables that they set have no known values then."""
        inside = list(_inside(part for part, _ in parts))
        if not all(_only_reads(command, inside=True) for command in inside):
            return False
        words = (word for command in inside for word in command.words if ASSIGNMENT.match(word))
        self.variables.own |= dict.fromkeys(word.partition("=")[0] for word in words)
        return True

    def _holds(self, tests: _Body) -> bool:
        """Return whether a test holds."""
        items = list(_inside([tests]))
        if len(items) != 1:
            raise StaysError("a condition of the script is more than one command")
        words = [
            word if word in _OF_TESTS else self.variables.pod.value(self.variables.text(word))
            for word in items[0].words
        ]
        is_pattern = words[0] == "[[" and re.search(r"[*?\[]", " ".join(words[1:-1]))
        holds = _compared(words[1:-1]) if (words[0], words[-1]) in _TESTS else None
        if items[0].redirects or is_pattern or holds is None or any(map(references, words)):
            raise StaysError(f"the condition `{' '.join(items[0].words)[:60]}` is not known")
        return holds

    # --- one command ----------------------------------------------------------------------------------

    def _chain(self, chain: _Chain) -> None:
        """Read commands that are joined, unless they only look."""
        (words, redirects, ends), *more = chain
        if _EXIT.fullmatch(" ".join(words)) and not redirects and ends != "&" and not more:
            self.ended = True
            return
        if chain[-1].words[0] == "exit" and [each.ends for each in chain[-2:-1]] == ["||"]:
            chain = chain[:-1]  # it ends the script only if the command before it fails
        others = [command for command in chain if not _only_reads(command)]
        if not others:
            return
        depends = any(each.ends != "&&" or each.words[0] in _DECIDE for each in chain[:-1])
        if depends or (chain[1:] and chain[-1].ends == "&"):
            raise StaysError(f"`{_shown(others[0].words)}` depends on another command, or on a pipe")
        for command in others:
            self._read(command)

    def _read(self, item: ControlGroup) -> None:
        """Read a command: an assignment, `export`, or a program with the variables for it."""
        before, words = dict(self.variables.own), list(item.words)
        own: dict[str, str | None] = {}
        while words and ASSIGNMENT.match(words[0]):
            name, _, value = words.pop(0).partition("=")
            self.variables.own[name] = own[name] = self.variables.value(name, value)
        if item.ends == "&" and words[:2] != ["ray", "start"]:
            raise StaysError(f"`{_shown(item.words)}` runs in the background")
        if not words:
            return
        self.variables.own = before
        if words[0] == "export":
            self._export(words[1:])
        elif words[0] in _BUILTINS or re.match(r"\w+\+=", words[0]):
            raise StaysError(f"`{_shown(words)}` is not read")
        else:
            self._start([text for word in words for text in self.variables.words(word)], own, item)

    def _export(self, words: Sequence[str]) -> None:
        assigned: dict[str, str | None] = {}
        for word in words:
            name, has_value, value = word.partition("=")
            if not name.isidentifier():
                raise StaysError(f"`export {word[:60]}` is not read")
            self.exported.add(name)
            if has_value:
                assigned[name] = self.variables.value(name, value)
        self.variables.own |= assigned

    def _start(self, texts: list[str], own: dict[str, str | None], item: ControlGroup) -> None:
        """Record a command with the variables that the script sets for it."""
        if texts[:1] == ["exec"]:
            texts, self.ended = texts[1:], True
        if not texts:
            raise StaysError(f"`{_shown(item.words)}` starts no program")
        if not all(map(_is_quiet, item.redirects)):
            raise StaysError(f"the output of `{' '.join(texts[:2])}` goes to a file")
        container, script = self.variables.pod.env, self.variables.own
        names = script.keys() & (self.exported | container.keys())
        env = {name: script[name] for name in sorted(names)} | own
        known = {name: self._of_program(name, value) for name, value in env.items()}
        self.started.append(ScriptCommand(tuple(map(self.script.having, texts)), known))

    def _of_program(self, name: str, value: str | None) -> Leaf:
        """Return the value of a variable that the container can have instead of the script."""
        if value is None:
            raise StaysError(f"neither the script nor the container tells the value of {name}")
        if any(name in references(other or "") for other in self.variables.pod.env.values()):
            raise StaysError(f"the script sets {name}, and another variable of the container names it")
        return self.script.having(value)


_VALUE: Final = re.compile(r"(?<==).*", re.DOTALL)


def _shown(words: Sequence[str]) -> str:
    """Return the program of a command and its first argument; values of variables may be secret."""
    return " ".join(_VALUE.sub("", word) for word in words[:2])[:60]


# --- tests --------------------------------------------------------------------------------------------

_BRACKETS: Final = frozenset({"[", "]", "[[", "]]", "!"})
_TESTS: Final = {("[", "]"), ("[[", "]]")}
_COMPARED: Final[Mapping[str, Callable[[str, str], bool]]] = {
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
}
_OF_NUMBERS: Final[Mapping[str, Callable[[int, int], bool]]] = {
    f"-{name}": getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")
}
_OF_TESTS: Final = _BRACKETS | _COMPARED.keys()


def _compared(words: Sequence[str]) -> bool | None:
    """Return whether a test holds, of words without brackets; None if it is not known."""
    match words:
        case ["-n" | "-z" as test, word]:
            return bool(word) is (test == "-n")
        case [left, test, right] if test in _COMPARED:
            return _COMPARED[test](left, right)
        case [left, test, right] if test in _OF_NUMBERS and left.isdecimal() and right.isdecimal():
            return _OF_NUMBERS[test](int(left), int(right))
    return None


# --- effects ------------------------------------------------------------------------------------------

_LOOK: Final = ("test", "false", "grep", "wc", "awk", "head", "cut", "tr", "cat", "ls", "which", "nc", "ping")
_DECIDE: Final = _BRACKETS.union(_LOOK, ("getent", "nslookup"))
"""Programs that only look: what follows one of them with `&&` depends on what it sees."""
_PRINT: Final = ("echo", "printf", "sleep", "date", "true", ":", "hostname", "nvidia-smi", "seq")
_READERS: Final = _DECIDE.union(_PRINT)
"""Programs that only wait, print or look."""
_OF_RAY: Final = frozenset({"status", "health-check", "list", "stop"})
"""Subcommands of Ray that only look. `stop` is among them: no Ray runs before a script starts it."""
_SET: Final = ("declare", "typeset", "local", "readonly", "let", "read", "mapfile", "readarray", "getopts")
_RUN: Final = ("printf", "set", "unset", "trap", "exit", "return", "break", "continue")
_BUILTINS: Final = frozenset((*_SET, *_RUN))
"""Commands of the shell that set variables, or say what runs."""
_OPTIONS: Final = re.compile(r"(?:[-+][eux]*(?:o pipefail)? ?)+")
"""Options of `set` that end a script at an error, or print its commands."""
_SETS: Final = re.compile(r"\$\{\w+:?=|\$\(\(.*(?:[^=!<>]=[^=]|\+\+|--).*\)\)", re.DOTALL)
"""An expansion that sets a variable."""
_QUIET: Final = re.compile(r"[0-9]?>&[0-9]|(?:[0-9]?>|&>)/dev/null")
_COMMAND: Final = re.compile(r"\$\(((?:[^()]|\([^()]*\))*)\)|`([^`]*)`")
_INNER: Final = re.compile(r"'[^']*'")
_EXIT: Final = re.compile(r"exit(?: \d+| \$\?)?")
_INSIDE: Final = re.compile(r"(?:(?:break|continue)(?: \d+)?|exit [1-9]\d*)?")
_ENDLESS: Final = re.compile(r"sleep (?:infinity|inf)|tail -f /dev/null|wait")


def is_endless(words: Sequence[str]) -> bool:
    """Return whether a command only keeps its container alive."""
    return _ENDLESS.fullmatch(" ".join(words)) is not None


def _is_quiet(redirect: str) -> bool:
    """Return whether a redirection writes to no file."""
    return _QUIET.fullmatch(redirect) is not None


def _only_reads(command: ControlGroup, *, inside: bool = False) -> bool:
    """Return whether a command, and those whose output it has, change nothing.

    Inside of a loop or a condition, it may set variables, and end what it is in: the script with an error.
    """
    words = [word for word in command.words if not ASSIGNMENT.match(word)]
    is_known = all(map(_is_quiet, command.redirects)) and all(map(_expands_only, command.words))
    return is_known and ((inside and _INSIDE.fullmatch(" ".join(words)) is not None) or _reads(words))


def _reads(words: Sequence[str]) -> bool:
    own = words[1:] if words[:1] == ["!"] else words
    if not own or is_endless(own) or own[:2] == ["printf", "-v"]:
        return False
    if own[0] == "set":
        return _OPTIONS.fullmatch(" ".join(own[1:])) is not None
    return own[0] in _READERS or (own[0] == "ray" and not _OF_RAY.isdisjoint(own[1:2]))


def _expands_only(word: str) -> bool:
    """Return whether a word sets no variable, and the commands whose output stands in it only read."""
    texts = [dollar or backtick for dollar, backtick in _COMMAND.findall(_INNER.sub("", word))]
    parts = [control_groups(text) for text in texts if text not in OF_LWS and not text.startswith("(")]
    inner = (group for part in parts for group in part or ())
    return not _SETS.search(word) and None not in parts and all(map(_only_reads, inner))
