"""The commands that the script of a shell runs in one pod of a group, with their words and their environment.

    commands(script, rest, pod)     the commands in their order, or `StaysError` with the reason

Variables, arithmetic and conditions are followed as far as the pod tells them: from the script, from the
container, and from LWS. What a container only waits for, or prints, is left out. A variable of the container
or of LWS that stays in a word is written as the kubelet reads it: `$(NAME)`.
"""

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from typing import Final, NamedTuple

from importer.effects import (
    BRACKETS,
    DECIDE,
    ITSELF,
    LOOKS,
    has_output,
    is_quiet,
    is_read,
    only_reads,
    output_reads,
)
from importer.leaves import Leaf
from importer.words import POD_IP, GroupPod, StaysError, Variables, references
from intent.command_line.programs import ASSIGNMENT
from intent.command_line.shell import LONGEST, ControlGroup, control_groups

SHELLS: Final = frozenset({"/bin/bash", "bash", "/bin/sh", "sh"})


class ScriptCommand(NamedTuple):
    """A command that does something, and the variables that the script sets for it."""

    words: tuple[Leaf, ...]
    env: Mapping[str, Leaf]
    if_succeeds: bool = False
    """Whether it runs only if the command before it succeeds: `&&`."""


def commands(script: Leaf, rest: Sequence[Leaf], pod: GroupPod) -> tuple[ScriptCommand, ...]:
    """Return the commands of a script, whose words come from it; `rest` are the items of its `"$@"`.

    Raises:
        StaysError: the script has a construct, or a word, whose effect is not known.
    """
    run = _Run(Variables(pod), script, tuple(rest), _parsed(script.value))
    if run.block(live=True):
        raise StaysError("the script ends a block that does not begin")
    return tuple(run.started)


# --- the structure ------------------------------------------------------------------------------------

_LOOPS: Final = frozenset({"while", "until", "for"})
_OPENS: Final = _LOOPS | {"if"}
_CLOSES: Final = frozenset({"fi", "done"})
_KEYWORDS: Final = _OPENS | _CLOSES | {"then", "do", "elif", "else"}
_DEEPEST: Final = 32
"""The loops and conditions that may stand in each other."""


class _Item(NamedTuple):
    """A keyword, or a command with its words as they are written."""

    keyword: str
    words: tuple[str, ...] = ()
    redirects: tuple[str, ...] = ()
    ends: str = ""


@lru_cache(maxsize=4)
def _parsed(text: str) -> tuple[_Item, ...]:
    """Parse a script, which is the same for each pod of a group."""
    if len(text) > LONGEST:
        raise StaysError(f"the script has more than {LONGEST} characters")
    if "\r" in text:
        raise StaysError("lines of the script end with a carriage return, which a shell takes as text")
    groups = control_groups(text)
    if groups is None:
        raise StaysError("the script has a function, a here-document, or a nested command")
    items = tuple(_items(groups))
    steps = ((item.keyword in _OPENS) - (item.keyword in _CLOSES) for item in items)
    if max(accumulate(steps), default=0) > _DEEPEST:
        raise StaysError(f"more than {_DEEPEST} loops and conditions stand in each other")
    return items


def _items(groups: Sequence[ControlGroup]) -> Iterator[_Item]:
    """Yield the keywords and commands of a script; the words of a `for` are a command that does nothing."""
    is_head = False
    for words, redirects, ends in groups:
        start = 0
        is_head = is_head and words[:1] != ("do",)
        while not is_head and start < len(words) and words[start] in _KEYWORDS:
            is_head = words[start] == "for"
            yield _Item(words[start])
            start += 1
        if is_head:
            yield _Item("", (":", *words[start:]))
            continue
        if ends in {"(", ")"} or (start == len(words) and ends not in {"", ";", "\n", "&&"}):
            raise StaysError("the script has a group of commands, or a block in the background")
        if words[start:]:
            yield _Item("", words[start:], redirects, ends)
        elif not all(map(is_quiet, redirects)):
            raise StaysError(f"the script writes to a file: {redirects[0][:60]}")


@dataclass(slots=True)
class _Run:
    """The state of a script while its commands are read."""

    variables: Variables
    script: Leaf
    rest: tuple[Leaf, ...]
    items: tuple[_Item, ...]
    position: int = 0
    exported: set[str] = field(default_factory=set)
    started: list[ScriptCommand] = field(default_factory=list)
    depends: str = ""
    """The command on whose success or output the next one depends."""
    if_succeeds: bool = False
    """Whether the next command runs only if the last one of `started` succeeds."""
    ended: bool = False
    """Whether the script runs no more: behind `exit` and `exec`."""

    def block(self, *, live: bool) -> str:
        """Read commands up to the keyword that ends their block, and return it; empty at the end."""
        while self.position < len(self.items):
            item = self.items[self.position]
            self.position += 1
            if item.keyword in _OPENS:
                self._compound(item.keyword, live=live and not self.ended)
            elif item.keyword:
                return item.keyword
            elif live and not self.ended:
                self._command(item)
        return ""

    def _compound(self, keyword: str, *, live: bool) -> None:
        """Leave out a loop that only waits, or read the branch of a condition that the pod takes."""
        begins, stop = self.position, self._end()
        inside = self.items[begins:stop]
        reads = all(each.keyword or only_reads(each.words, each.redirects, inside=True) for each in inside)
        before = dict(self.variables.own)
        if keyword in _LOOPS and live and not (reads and self._awaits_ray(inside)):
            raise StaysError(f"`{keyword}` does more than wait for Ray, or for the leader")
        if live and keyword not in _LOOPS:
            try:
                self._branches()
            except StaysError:
                if not reads:
                    raise
            else:
                return
        words = [word for each in inside for word in each.words if live and ASSIGNMENT.match(word)]
        self.variables.own = before | dict.fromkeys(word.partition("=")[0] for word in words)
        self.position = stop

    def _awaits_ray(self, inside: Sequence[_Item]) -> bool:
        """Return whether a loop looks at nothing but Ray and the pods of the group."""
        text = " ".join(word for item in inside for word in item.words)
        known = self.variables.known
        values = (known.get(name) or "" for name in re.findall(r"\w+", text))
        return not LOOKS.search(text) or re.search(r"\bray\b|LWS_", " ".join((text, *values))) is not None

    def _end(self) -> int:
        """Return the index behind the keyword that closes the construct which has just begun."""
        depth = 1
        for index in range(self.position, len(self.items)):
            depth += (self.items[index].keyword in _OPENS) - (self.items[index].keyword in _CLOSES)
            if not depth:
                return index + 1
        raise StaysError("a loop or a condition of the script does not end")

    def _branches(self) -> None:
        taken, keyword = False, "if"
        while keyword in {"if", "elif"}:
            condition = self.items[self.position]
            if condition.keyword or self.items[self.position + 1].keyword != "then":
                raise StaysError("a condition of the script is more than one command")
            self.position += 2
            holds = not taken and self._holds(condition)
            keyword = self.block(live=holds)
            taken = taken or holds
        if keyword == "else":
            keyword = self.block(live=not taken)
        if keyword != "fi":
            raise StaysError("a condition of the script does not end")

    # --- one command ----------------------------------------------------------------------------------

    def _command(self, item: _Item) -> None:
        begun = len(self.started)
        if item.words[0] == "exit" and not (self.depends or self.if_succeeds):
            self.ended = True
            return
        self._read(item)
        self.ended = item.words[0] == "exec" and item.ends != "&"
        if len(self.started) > begun or item.ends != "&&":
            self.if_succeeds = item.ends == "&&"

    def _read(self, item: _Item) -> None:
        depends, before = self.depends, dict(self.variables.own)
        if item.ends in {"||", "|", "|&"} or (item.ends == "&&" and item.words[0] in DECIDE):
            self.depends = depends or _shown(item.words)
        elif item.ends != "&&":
            self.depends = ""
        if only_reads(item.words, item.redirects) or (depends and item.words[:1] == ("exit",)):
            return
        if depends or item.ends in {"|", "|&"}:
            raise StaysError(f"`{_shown(item.words)}` depends on another command, or on a pipe")
        own: dict[str, str | None] = {}
        words = list(item.words)
        while words and ASSIGNMENT.match(words[0]):
            name, _, value = words.pop(0).partition("=")
            self.variables.own[name] = own[name] = self._assigned(name, value)
        if item.ends == "&" and (not words or words[0] == "export"):
            raise StaysError(f"`{_shown(item.words)}` runs in the background")
        if not words:
            return
        self.variables.own = before
        if words[0] == "export":
            self._export(words[1:])
            return
        expanded = [each for word in words for each in self._expanded(word)]
        unsets = words[0] == "unset" and any(word.value in self.variables.known for word in expanded)
        if unsets or not is_read(words):
            raise StaysError(f"`{_shown(words)}` is not read")
        self._start(expanded, own, item)

    def _expanded(self, word: str) -> Iterator[Leaf]:
        """Yield the words that a word expands to."""
        if word in {'"$@"', '"${@}"'}:
            yield from self.rest
        else:
            yield from map(self.script.having, self.variables.split(word))

    def _start(self, words: list[Leaf], own: dict[str, str | None], item: _Item) -> None:
        """Record a command with the variables that the script sets for it."""
        words = words[1:] if words[:1] and words[0].value == "exec" else words
        if not words:
            raise StaysError(f"`{_shown(item.words)}` starts no program")
        texts = [word.value for word in words]
        is_node = texts[:2] == ["ray", "start"]
        if not all(is_quiet(to) if is_node else ITSELF.fullmatch(to) for to in item.redirects):
            raise StaysError(f"the output of `{' '.join(texts[:2])}` goes to a file")
        if item.ends == "&" and not is_node:
            raise StaysError(f"`{' '.join(texts[:2])}` runs in the background")
        container, script = self.variables.pod.env, self.variables.own
        names = script.keys() & (self.exported | container.keys())
        env = {name: script[name] for name in sorted(names)} | own
        for name, value in env.items():
            if value is None or (POD_IP in value and value != POD_IP):
                raise StaysError(f"the value of {name} is not known")
            if any(name in references(other or "") for other in container.values()):
                raise StaysError(f"the script sets {name}, and another variable of the container names it")
        known = {name: self.script.having(value) for name, value in env.items()}
        self.started.append(ScriptCommand(tuple(words), known, self.if_succeeds))

    def _export(self, words: Sequence[str]) -> None:
        assigned: dict[str, str | None] = {}
        for word in words:
            name, has_value, value = word.partition("=")
            if not name.isidentifier():
                raise StaysError(f"`export {word[:60]}` is not read")
            self.exported.add(name)
            if has_value:
                assigned[name] = self._assigned(name, value)
        self.variables.own |= assigned

    def _assigned(self, name: str, word: str) -> str | None:
        """Return the value of an assignment."""
        if _ADDRESS_OF_POD.fullmatch(word.strip('"')):
            return POD_IP
        if has_output(word) and output_reads(word):
            return None
        return self.variables.value(name, word)

    def _holds(self, item: _Item) -> bool:
        """Return whether a test holds."""
        known = self.variables.pod.value
        words = [known(word if word in _OF_TESTS else self.variables.text(word)) for word in item.words]
        is_negated = words[:1] == ["!"]
        words = words[is_negated:]
        if words[:1] == ["test"]:
            words = words[1:]
        elif tuple(words[:1] + words[-1:]) in {("[", "]"), ("[[", "]]")}:
            words = words[1:-1]
        else:
            raise StaysError(f"the condition `{' '.join(item.words)[:60]}` is not known")
        is_pattern = item.words[is_negated] == "[[" and re.search(r"[*?\[]", words[-1] if words else "")
        holds = _compared(words)
        if item.redirects or is_pattern or holds is None or any("$(" in word for word in words):
            raise StaysError(f"the condition `{' '.join(item.words)[:60]}` is not known")
        return holds is not is_negated


_ADDRESS_OF_POD: Final = re.compile(
    r"""\$\(hostname\ +-[iI]
        (?:\ *\|\ *(?:awk\ +'\{\ *print\ \$1;?\ *\}' | cut\ +-d\ *['"]\ ['"]\ +-f\ *1))?\ *\)""",
    re.VERBOSE,
)
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
