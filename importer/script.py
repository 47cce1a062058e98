"""The commands that the script of a shell runs in one pod of a group, with their words and their environment.

    commands(script, pod)     the commands in their order, or `StaysError` with the reason

Variables and products are followed as far as the pod tells them: from the script, from the container, and
from LWS. What a container only waits for, or prints, is left out. A variable of the container or of LWS that
stays in a word is written as the kubelet reads it: `$(NAME)`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Final, NamedTuple

from importer.leaves import Leaf
from importer.words import OF_LWS, GroupPod, StaysError, Variables, references
from intent.command_line.programs import ASSIGNMENT
from intent.command_line.shell import ControlGroup, control_groups

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
    groups = control_groups(script.value)
    if groups is None:
        raise StaysError("the script is too long, or has a function, a here-document, or a nested command")
    run = _Run(Variables(pod), script)
    remaining = iter(groups)
    for group in remaining:
        run.read(group, remaining)
    if run.chain:
        raise StaysError("the script ends with an operator")
    return tuple(run.started)


_LOOPS: Final = frozenset({"while", "until", "for"})
_DEPTH: Final = {
    **dict.fromkeys((*_LOOPS, "if"), 1),
    **dict.fromkeys(("do", "then", "elif", "else"), 0),
    **dict.fromkeys(("done", "fi"), -1),
}
"""The keywords, with the change of the blocks around the commands after them."""
_CONTINUES: Final = frozenset({"&&", "||", "|", "|&"})
_ENDS: Final = frozenset({"", ";", "\n", "&&"})
"""The operators that may follow a loop."""


@dataclass(slots=True)
class _Run:
    """The state of a script while its commands are read."""

    variables: Variables
    script: Leaf
    exported: set[str] = field(default_factory=set)
    started: list[ScriptCommand] = field(default_factory=list)
    chain: list[ControlGroup] = field(default_factory=list)
    """Commands that are joined by `&&`, `||` and pipes."""
    ended: bool = False
    """Whether the script runs no more: behind `exit` and `exec`."""

    def read(self, group: ControlGroup, others: Iterator[ControlGroup]) -> None:
        """Read what stands between two control operators; of a loop, what follows up to its end too."""
        words, redirects, ends = group
        if words[:1] and words[0] in _DEPTH:
            if self.chain or words[0] not in _LOOPS:
                raise StaysError(f"`{words[0]}` is not read: write what each pod runs in its own template")
            self._leave_out(group, others)
        elif ends in {"(", ")"} or not (words or ends in _ENDS):
            raise StaysError("the script has a group of commands")
        elif words:
            self.chain.append(group)
            if ends not in _CONTINUES:
                self._chain(self.chain)
                self.chain = []
        elif not all(map(_is_quiet, redirects)):
            raise StaysError(f"the script writes to a file: {redirects[0][:60]}")

    def _leave_out(self, first: ControlGroup, others: Iterator[ControlGroup]) -> None:
        """Leave out a loop that only waits; what it sets has no known value then."""
        depth, waits = 0, False
        for group in chain([first], others):
            words = group.words
            while words[:1] and words[0] in _DEPTH:
                depth += _DEPTH[words[0]]
                # the head of a `for` assigns, and does nothing else
                is_head, words = words[0] == "for", words[1:]
                words = (*(f"{name}=" for name in words[:1]), ":", *words[1:]) if is_head else words
            command = group._replace(words=words or (":",))
            if group.ends in {"(", ")"} or not _only_reads(command, inside=True):
                break
            self.variables.own |= {word.partition("=")[0]: None for word in words if ASSIGNMENT.match(word)}
            waits |= any(re.search(r"\bray\b|LWS_", word) for word in words)
            if not depth and waits and group.ends in _ENDS:
                return
            if not depth:
                break
        raise StaysError(f"`{first.words[0]}` does more than wait for Ray, or for the leader")

    def _chain(self, chain: Sequence[ControlGroup]) -> None:
        """Read commands that are joined, unless they only look."""
        (words, redirects, ends), *more = chain
        if _EXIT.fullmatch(" ".join(words)) and not redirects and ends != "&" and not more:
            self.ended = True
        if self.ended:
            return
        if chain[-1].words[0] == "exit" and [each.ends for each in chain[-2:-1]] == ["||"]:
            chain = chain[:-1]  # it ends the script only if the command before it fails
        others = [command for command in chain if not _only_reads(command)]
        if not others:
            return
        depends = any(each.ends != "&&" or each.words[0] in _DECIDE for each in chain[:-1])
        if depends or (chain[1:] and chain[-1].ends == "&"):
            raise StaysError(f"`{shown(others[0].words)}` depends on another command, or on a pipe")
        for command in others:
            self._command(command)

    def _command(self, item: ControlGroup) -> None:
        """Read a command: an assignment, `export`, or a program with the variables for it."""
        before, words = dict(self.variables.own), list(item.words)
        own: dict[str, str | None] = {}
        while words and ASSIGNMENT.match(words[0]):
            name, _, value = words.pop(0).partition("=")
            self.variables.own[name] = own[name] = self.variables.value(name, value)
        if item.ends == "&" and words[:2] != ["ray", "start"]:
            raise StaysError(f"`{shown(item.words)}` runs in the background")
        if not words:
            return
        self.variables.own = before
        if words[0] == "export":
            self._export(words[1:])
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
            raise StaysError(f"`{shown(item.words)}` starts no program")
        if not all(map(_is_quiet, item.redirects)):
            raise StaysError(f"the output of `{shown(texts)}` goes to a file")
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


def shown(words: Sequence[str]) -> str:
    """Return the program of a command and its first argument; values of variables may be secret."""
    return " ".join(_VALUE.sub("", word) for word in words[:2])[:60]


# --- effects ------------------------------------------------------------------------------------------

_LOOK: Final = ("test", "false", "grep", "wc", "awk", "head", "cut", "tr", "cat", "ls", "which", "nc", "ping")
_DECIDE: Final = frozenset((*_LOOK, "[", "[[", "!", "getent", "nslookup"))
"""Programs that only look: what follows one of them with `&&` depends on what it sees."""
_READERS: Final = _DECIDE | {"echo", "printf", "sleep", "date", "true", ":", "hostname", "nvidia-smi", "seq"}
"""Programs that only wait, print or look."""
_OF_RAY: Final = frozenset({"status", "health-check", "list", "stop"})
"""Subcommands of Ray that only look. `stop` is among them: no Ray runs before a script starts it."""
_OPTIONS: Final = re.compile(r"set (?:[-+][eux]*(?:o pipefail)? ?)+")
"""A command that ends a script at an error, or prints its commands."""
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
    is_option = _OPTIONS.fullmatch(" ".join(own)) is not None
    return is_option or own[0] in _READERS or (own[0] == "ray" and not _OF_RAY.isdisjoint(own[1:2]))


def _expands_only(word: str) -> bool:
    """Return whether a word sets no variable, and the commands whose output stands in it only read."""
    texts = [dollar or backtick for dollar, backtick in _COMMAND.findall(_INNER.sub("", word))]
    parts = [control_groups(text) for text in texts if text not in OF_LWS and not text.startswith("(")]
    inner = (group for part in parts for group in part or ())
    return not _SETS.search(word) and None not in parts and all(map(_only_reads, inner))
