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

from importer.effects import BRACKETS, DECIDE, is_quiet, is_read, only_reads
from importer.leaves import Leaf
from importer.words import GroupPod, StaysError, Variables, references
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
    run.nodes(_parsed(script.value))
    return tuple(run.started)


# --- the structure ------------------------------------------------------------------------------------

_LOOPS: Final = frozenset({"while", "until", "for"})
_OPENS: Final = _LOOPS | {"if"}
_CLOSES: Final = frozenset({"fi", "done"})
_KEYWORDS: Final = _OPENS | _CLOSES | {"then", "do", "elif", "else"}
_CONTINUES: Final = frozenset({"&&", "||", "|", "|&"})
_DEEPEST: Final = 32
"""The loops and conditions that may stand in each other."""


class _Command(NamedTuple):
    """A command with its words as they are written."""

    words: tuple[str, ...]
    redirects: tuple[str, ...] = ()
    ends: str = ""

    def only_reads(self, *, inside: bool = False) -> bool:
        return only_reads(self.words, self.redirects, inside=inside)


_Chain = tuple[_Command, ...]
"""Commands that are joined by `&&`, `||` and pipes."""


class _Block(NamedTuple):
    """A loop or a condition: each of its keywords, with the commands and blocks behind it."""

    parts: "tuple[tuple[str, Sequence[_Node]], ...]"


_Node = _Chain | _Block


@lru_cache(maxsize=4)
def _parsed(text: str) -> Sequence[_Node]:
    """Parse a script, which is the same for each pod of a group."""
    if len(text) > LONGEST:
        raise StaysError(f"the script has more than {LONGEST} characters")
    groups = control_groups(text)
    if groups is None:
        raise StaysError("the script has a function, a here-document, or a nested command")
    nodes, keyword = _nodes(_items(groups), 0)
    if keyword:
        raise StaysError(f"`{keyword}` ends a block of the script that does not begin")
    return nodes


def _items(groups: Sequence[ControlGroup]) -> Iterator[str | _Command]:
    """Yield the keywords and commands of a script; the head of a `for` assigns, and does nothing else."""
    is_head = False
    for words, redirects, ends in groups:
        start = 0
        is_head = is_head and words[:1] != ("do",)
        while not is_head and start < len(words) and words[start] in _KEYWORDS:
            is_head = words[start] == "for"
            yield words[start]
            start += 1
        if is_head:
            yield _Command((*(f"{word}=" for word in words[start : start + 1]), ":", *words[start + 1 :]))
        elif ends in {"(", ")"} or (start == len(words) and ends not in {"", ";", "\n", "&&"}):
            raise StaysError("the script has a group of commands, or a block in the background")
        elif words[start:]:
            yield _Command(words[start:], redirects, ends)
        elif not all(map(is_quiet, redirects)):
            raise StaysError(f"the script writes to a file: {redirects[0][:60]}")


def _nodes(items: Iterator[str | _Command], depth: int) -> tuple[list[_Node], str]:
    """Return the chains and blocks up to the keyword that ends their block, and this; empty at the end."""
    nodes: list[_Node] = []
    chain: list[_Command] = []
    for item in items:
        if isinstance(item, _Command):
            chain.append(item)
            if item.ends not in _CONTINUES:
                nodes.append(tuple(chain))
                chain = []
        elif chain:
            raise StaysError("a block of the script depends on another command")
        elif item in _OPENS:
            nodes.append(_block(item, items, depth + 1))
        else:
            return nodes, item
    return nodes, ""


def _block(keyword: str, items: Iterator[str | _Command], depth: int) -> _Block:
    if depth > _DEEPEST:
        raise StaysError(f"more than {_DEEPEST} loops and conditions stand in each other")
    parts: list[tuple[str, Sequence[_Node]]] = []
    while keyword not in _CLOSES:
        nodes, ends = _nodes(items, depth)
        if not ends:
            raise StaysError("a loop or a condition of the script does not end")
        parts.append((keyword, nodes))
        keyword = ends
    return _Block(tuple(parts))


def _inside(block: _Block) -> Iterator[_Command]:
    """Yield the commands of a block, and of those in it."""
    for _, nodes in block.parts:
        for node in nodes:
            yield from _inside(node) if isinstance(node, _Block) else node


@dataclass(slots=True)
class _Run:
    """The state of a script while its commands are read."""

    variables: Variables
    script: Leaf
    exported: set[str] = field(default_factory=set)
    started: list[ScriptCommand] = field(default_factory=list)
    ended: bool = False
    """Whether the script runs no more: behind `exit` and `exec`."""

    def nodes(self, nodes: Sequence[_Node]) -> None:
        """Read commands and blocks in their order."""
        for node in nodes:
            if self.ended:
                return
            if not isinstance(node, _Block):
                self._chain(node)
            elif node.parts[0][0] in _LOOPS:
                self._loop(node)
            else:
                self._condition(node)

    def _loop(self, block: _Block) -> None:
        """Leave out a loop that only waits for Ray; one that tries to start a node of it starts one."""
        inside = tuple(_inside(block))
        tries = [command for command in inside if not command.only_reads(inside=True)]
        firsts = [node[0] for _, nodes in block.parts for node in nodes if not isinstance(node, _Block)]
        starts = [each._replace(words=each.words[each.words[0] == "!" :], ends="") for each in tries]
        is_ray = all(each.words[:2] == ("ray", "start") for each in starts)
        awaited = any(re.search(r"\bray\b|LWS_", word) for command in inside for word in command.words)
        if len(tries) > 1 or not {*tries} <= {*firsts} or not is_ray or not awaited:
            raise StaysError(f"`{block.parts[0][0]}` does more than wait for Ray, or for the leader")
        self._forget(inside)
        for command in starts:
            self._read(command)

    def _condition(self, block: _Block) -> None:
        """Read the branch that the pod takes; where that is not known, no branch may do anything."""
        inside = tuple(_inside(block))
        try:
            branch = self._taken(block)
        except StaysError:
            if not all(command.only_reads(inside=True) for command in inside):
                raise
            self._forget(inside)
        else:
            self.nodes(branch)

    def _taken(self, block: _Block) -> Sequence[_Node]:
        holds = False
        for keyword, nodes in block.parts:
            if keyword == "else" or (keyword == "then" and holds):
                return nodes
            if keyword != "then":
                (chain,) = nodes if len(nodes) == 1 else ((),)
                if isinstance(chain, _Block) or len(chain) != 1:
                    raise StaysError("a condition of the script is more than one command")
                holds = self._holds(chain[0])
        return ()

    def _forget(self, inside: Sequence[_Command]) -> None:
        """Take the values of the variables that a block sets as unknown."""
        words = (word for command in inside for word in command.words if ASSIGNMENT.match(word))
        self.variables.own |= dict.fromkeys(word.partition("=")[0] for word in words)

    # --- one command ----------------------------------------------------------------------------------

    def _chain(self, chain: _Chain) -> None:
        """Read commands that are joined, unless they only look: then the last may end the script."""
        if len(chain) == 1 and chain[0].words[0] == "exit":
            self.ended = True
            return
        others = [command for command in chain if not command.only_reads()]
        ends_script = len(chain) > 1 and chain[-2].ends == "||" and chain[-1].words[0] == "exit"
        if not others or (ends_script and len(others) == 1):
            return
        depends = any(each.ends != "&&" or each.words[0] in DECIDE for each in chain[:-1])
        if depends or (len(chain) > 1 and chain[-1].ends == "&"):
            raise StaysError(f"`{_shown(others[0].words)}` depends on another command, or on a pipe")
        for command in others:
            self._read(command)

    def _read(self, item: _Command) -> None:
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
        elif is_read(words):
            texts = [text for word in words for text in self.variables.words(word)]
            self._start(texts, own, item)
        else:
            raise StaysError(f"`{_shown(words)}` is not read")

    def _start(self, texts: list[str], own: dict[str, str | None], item: _Command) -> None:
        """Record a command with the variables that the script sets for it."""
        if texts[:1] == ["exec"]:
            texts, self.ended = texts[1:], True
        if not texts:
            raise StaysError(f"`{_shown(item.words)}` starts no program")
        program = " ".join(texts[:2])
        if not all(map(is_quiet, item.redirects)):
            raise StaysError(f"the output of `{program}` goes to a file")
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

    def _holds(self, item: _Command) -> bool:
        """Return whether a test holds."""
        texts = [word if word in _OF_TESTS else self.variables.text(word) for word in item.words]
        words = [self.variables.pod.value(each) for each in texts]
        is_pattern = words[0] == "[[" and re.search(r"[*?\[]", " ".join(words[1:-1]))
        holds = _compared(words[1:-1]) if (words[0], words[-1]) in _TESTS else None
        if item.redirects or is_pattern or holds is None or any(map(references, words)):
            raise StaysError(f"the condition `{' '.join(item.words)[:60]}` is not known")
        return holds


_TESTS: Final = {("[", "]"), ("[[", "]]")}
_COMPARISONS: Final = {"=": operator.eq, "==": operator.eq, "!=": operator.ne}
_OF_TESTS: Final = BRACKETS | _COMPARISONS.keys()
_OF_NUMBERS: Final[Mapping[str, Callable[[int, int], bool]]] = {
    f"-{name}": getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")
}


def _compared(words: Sequence[str]) -> bool | None:
    """Return whether a test holds, of words without brackets; None if it is not known."""
    if len(words) == 2 and words[0] in {"-n", "-z"}:
        return bool(words[1]) is (words[0] == "-n")
    if len(words) == 3 and words[1] in _COMPARISONS:
        return bool(_COMPARISONS[words[1]](words[0], words[2]))
    if len(words) == 3 and words[1] in _OF_NUMBERS and words[0].isdecimal() and words[2].isdecimal():
        return _OF_NUMBERS[words[1]](int(words[0]), int(words[2]))
    return None


_VALUE: Final = re.compile(r"(?<==).*", re.DOTALL)


def _shown(words: Sequence[str]) -> str:
    """Return the program of a command and its first argument; values of variables may be secret."""
    return " ".join(_VALUE.sub("", word) for word in words[:2])[:60]
