"""The commands that the script of a shell runs in one pod of a group, with their words and their environment.

    commands(script, pod)     the commands in their order, or `StaysError` with the reason

Variables, arithmetic and conditions are followed as far as the pod tells them: from the script, from the
container, and from LWS. What a container only waits for, or prints, is left out. A variable of the container
or of LWS that stays in a word is written as the kubelet reads it: `$(NAME)`.
"""

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
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
    if keyword := run.block(iter(_items(script.value)), 0):
        raise StaysError(f"`{keyword}` ends a block of the script that does not begin")
    return tuple(run.started)


# --- the structure ------------------------------------------------------------------------------------

_LOOPS: Final = frozenset({"while", "until", "for"})
_OPENS: Final = _LOOPS | {"if"}
_CLOSES: Final = frozenset({"fi", "done"})
_KEYWORDS: Final = _OPENS | _CLOSES | {"then", "do", "elif", "else"}
_CONTINUES: Final = frozenset({"&&", "||", "|", "|&"})
_DEEPEST: Final = 32
"""The conditions that may stand in each other."""
_Chain = tuple[ControlGroup, ...]
"""Commands that are joined by `&&`, `||` and pipes."""
_Items = Iterator[str | _Chain]
"""The keywords and chains of a script, in their order."""


@lru_cache(maxsize=4)
def _items(text: str) -> Sequence[str | _Chain]:
    """Return the keywords and chains of a script, which are the same for each pod of a group."""
    if len(text) > LONGEST:
        raise StaysError(f"the script has more than {LONGEST} characters")
    groups = control_groups(text)
    if groups is None:
        raise StaysError("the script has a function, a here-document, or a nested command")
    items: list[str | _Chain] = []
    chain: _Chain = ()
    for item in _split(groups):
        if isinstance(item, str) and chain:
            raise StaysError("a block of the script depends on another command")
        if isinstance(item, str):
            items.append(item)
        elif item.ends in _CONTINUES:
            chain = (*chain, item)
        else:
            items.append((*chain, item))
            chain = ()
    return items


def _split(groups: Sequence[ControlGroup]) -> Iterator[str | ControlGroup]:
    """Yield the keywords and commands; the head of a `for` assigns, and does nothing else."""
    is_head = False
    for words, redirects, ends in groups:
        start = 0
        is_head = is_head and words[:1] != ("do",)
        while not is_head and start < len(words) and words[start] in _KEYWORDS:
            is_head = words[start] == "for"
            yield words[start]
            start += 1
        if is_head:
            head = (*(f"{word}=" for word in words[start : start + 1]), ":", *words[start + 1 :])
            yield ControlGroup(head, (), "")
        elif ends in {"(", ")"} or (start == len(words) and ends not in {"", ";", "\n", "&&"}):
            raise StaysError("the script has a group of commands, or a block in the background")
        elif words[start:]:
            yield ControlGroup(words[start:], redirects, ends)
        elif not all(map(_is_quiet, redirects)):
            raise StaysError(f"the script writes to a file: {redirects[0][:60]}")


class _Inside(NamedTuple):
    """What stands in a part of a block."""

    own: list[_Chain]
    below: list[_Chain]
    """In blocks in it."""

    @property
    def commands(self) -> list[ControlGroup]:
        """All of them."""
        return [command for chain in (*self.own, *self.below) for command in chain]


def _part(items: _Items) -> tuple[_Inside, str]:
    """Return what stands up to the keyword that ends a part of a block, and this."""
    inside, depth = _Inside([], []), 0
    for item in items:
        if not isinstance(item, str):
            (inside.below if depth else inside.own).append(item)
        elif depth or item in _OPENS:
            depth += (item in _OPENS) - (item in _CLOSES)
        else:
            return inside, item
    raise StaysError("a loop or a condition of the script does not end")


@dataclass(slots=True)
class _Run:
    """The state of a script while its commands are read."""

    variables: Variables
    script: Leaf
    exported: set[str] = field(default_factory=set)
    started: list[ScriptCommand] = field(default_factory=list)
    ended: bool = False
    """Whether the script runs no more: behind `exit` and `exec`."""

    def block(self, items: _Items, depth: int) -> str:
        """Read commands and blocks, and return the keyword that ends them; empty at the end of the script."""
        if depth > _DEEPEST:
            raise StaysError(f"more than {_DEEPEST} conditions stand in each other")
        for item in items:
            if not isinstance(item, str):
                self._chain(item)
            elif item in _LOOPS:
                self._loop(item, items)
            elif item == "if":
                self._condition(items, depth)
            else:
                return item
            if self.ended:
                break
        return ""

    def _loop(self, keyword: str, items: _Items) -> None:
        """Leave out a loop that only waits for Ray; one that tries to start a node of it starts one."""
        parts = [_part(items)[0], _part(items)[0]]
        inside = [command for part in parts for command in part.commands]
        tries = [command for command in inside if not _only_reads(command, inside=True)]
        firsts = [chain[0] for part in parts for chain in part.own]
        starts = [each._replace(words=each.words[each.words[0] == "!" :], ends="") for each in tries]
        is_ray = all(each.words[:2] == ("ray", "start") for each in starts)
        awaited = any(re.search(r"\bray\b|LWS_", word) for command in inside for word in command.words)
        if len(tries) > 1 or not {*tries} <= {*firsts} or not is_ray or not awaited:
            raise StaysError(f"`{keyword}` does more than wait for Ray, or for the leader")
        self._forget(inside)
        for command in starts:
            self._read(command)

    def _condition(self, items: _Items, depth: int) -> None:
        """Read the branch that the pod takes; where that is not known, no branch may do anything."""
        keyword, is_over = "if", False
        while keyword not in _CLOSES and not self.ended:
            holds = not is_over
            if keyword != "else":
                tests, keyword = _part(items)
                try:
                    holds = holds and self._holds(tests)
                except StaysError:
                    inside = tests.commands
                    while keyword not in _CLOSES:
                        part, keyword = _part(items)
                        inside += part.commands
                    if not all(_only_reads(command, inside=True) for command in inside):
                        raise
                    self._forget(inside)
                    return
            keyword = self.block(items, depth + 1) if holds else _part(items)[1]
            is_over = is_over or holds
            if not keyword and not self.ended:
                raise StaysError("a loop or a condition of the script does not end")

    def _forget(self, inside: Sequence[ControlGroup]) -> None:
        """Take the values of the variables that a block sets as unknown."""
        words = (word for command in inside for word in command.words if ASSIGNMENT.match(word))
        self.variables.own |= dict.fromkeys(word.partition("=")[0] for word in words)

    def _holds(self, tests: _Inside) -> bool:
        """Return whether a test holds."""
        if len(tests.commands) != 1:
            raise StaysError("a condition of the script is more than one command")
        (item,) = tests.commands
        texts = [word if word in _OF_TESTS else self.variables.text(word) for word in item.words]
        words = [self.variables.pod.value(each) for each in texts]
        is_pattern = words[0] == "[[" and re.search(r"[*?\[]", " ".join(words[1:-1]))
        holds = _compared(words[1:-1]) if (words[0], words[-1]) in _TESTS else None
        if item.redirects or is_pattern or holds is None or any(map(references, words)):
            raise StaysError(f"the condition `{' '.join(item.words)[:60]}` is not known")
        return holds

    # --- one command ----------------------------------------------------------------------------------

    def _chain(self, chain: _Chain) -> None:
        """Read commands that are joined, unless they only look: then the last may end the script."""
        if len(chain) == 1 and chain[0].words[0] == "exit":
            self.ended = True
            return
        others = [command for command in chain if not _only_reads(command)]
        ends_script = len(chain) > 1 and chain[-2].ends == "||" and chain[-1].words[0] == "exit"
        if not others or (ends_script and len(others) == 1):
            return
        depends = any(each.ends != "&&" or each.words[0] in _DECIDE for each in chain[:-1])
        if depends or (len(chain) > 1 and chain[-1].ends == "&"):
            raise StaysError(f"`{_shown(others[0].words)}` depends on another command, or on a pipe")
        for command in others:
            self._read(command)

    def _read(self, item: ControlGroup) -> None:
        before = dict(self.variables.own)
        own: dict[str, str | None] = {}
        words = list(item.words)
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
            texts = [text for word in words for text in self.variables.words(word)]
            self._start(texts, own, item)

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


_VALUE: Final = re.compile(r"(?<==).*", re.DOTALL)


def _shown(words: Sequence[str]) -> str:
    """Return the program of a command and its first argument; values of variables may be secret."""
    return " ".join(_VALUE.sub("", word) for word in words[:2])[:60]


# --- tests --------------------------------------------------------------------------------------------

_BRACKETS: Final = frozenset({"[", "]", "[[", "]]", "!"})
_TESTS: Final = {("[", "]"), ("[[", "]]")}
_OF_TESTS: Final = _BRACKETS | {"=", "==", "!="}
_OF_NUMBERS: Final[Mapping[str, Callable[[int, int], bool]]] = {
    f"-{name}": getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")
}


def _compared(words: Sequence[str]) -> bool | None:
    """Return whether a test holds, of words without brackets; None if it is not known."""
    match words:
        case ["-n" | "-z" as test, word]:
            return bool(word) is (test == "-n")
        case [left, "=" | "==" | "!=" as test, right]:
            return (left == right) is (test != "!=")
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
_ENDLESS: Final = re.compile(r"sleep (?:infinity|inf)|tail -f /dev/null|wait")


def is_endless(words: Sequence[str]) -> bool:
    """Return whether a command only keeps its container alive."""
    return _ENDLESS.fullmatch(" ".join(words)) is not None


def _is_quiet(redirect: str) -> bool:
    """Return whether a redirection writes to no file."""
    return _QUIET.fullmatch(redirect) is not None


def _only_reads(command: ControlGroup, *, inside: bool = False) -> bool:
    """Return whether a command, and those whose output it has, change nothing.

    Inside of a loop or a condition, it may set variables, and end what it is in.
    """
    words = [word for word in command.words if not ASSIGNMENT.match(word)]
    if not all(map(_is_quiet, command.redirects)) or any(
        _SETS.search(word) or not _output_reads(word) for word in command.words
    ):
        return False
    return (inside and (not words or words[0] in {"break", "continue", "exit"})) or _reads(words)


def _reads(words: Sequence[str]) -> bool:
    own = words[1:] if words[:1] == ["!"] else words
    if not own or is_endless(own) or own[:2] == ["printf", "-v"]:
        return False
    if own[0] == "set":
        return _OPTIONS.fullmatch(" ".join(own[1:])) is not None
    return own[0] in _READERS or (own[0] == "ray" and not _OF_RAY.isdisjoint(own[1:2]))


def _output_reads(word: str) -> bool:
    """Return whether the commands whose output stands in a word only read."""
    inner = [dollar or backtick for dollar, backtick in _COMMAND.findall(_INNER.sub("", word))]
    named = [text for text in inner if text not in OF_LWS and not text.startswith("(")]
    parts = [part.split() for text in named for part in re.split(r"\|\|?|;|&&", text)]
    plain = [[word for word in part if not _is_quiet(word)] for part in parts]
    return all(">" not in "".join(part) and _reads(part) for part in plain)
