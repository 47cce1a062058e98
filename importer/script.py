"""The commands that the script of a shell runs in one pod of a group, with their words and their environment.

    commands(script, rest, pod)     the commands in their order, or `StaysError` with the reason

Variables, arithmetic and conditions are followed as far as the pod tells them: from the script, from the
container, and from LWS. What a container only waits for, or prints, is left out. A variable of the container
or of LWS that stays in a word is written as the kubelet reads it: `$(NAME)`.
"""

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from typing import Final, NamedTuple

from importer.leaves import Leaf
from intent.command_line.programs import ASSIGNMENT
from intent.command_line.shell import LONGEST, ControlGroup, control_groups

POD_IP: Final = "$(status.podIP)"
"""The value of a variable that is the address of the pod."""
SHELLS: Final = frozenset({"/bin/bash", "bash", "/bin/sh", "sh"})
OF_LWS: Final = frozenset({"LWS_LEADER_ADDRESS", "LWS_GROUP_SIZE", "LWS_WORKER_INDEX"})
"""Variables that LWS sets in every container."""


@dataclass(frozen=True, slots=True)
class GroupPod:
    """What the commands of a container are read with."""

    index: int | None = None
    size: int | None = None
    """Of its group; None for what holds in each pod."""
    env: Mapping[str, str | None] = field(default_factory=dict)
    """The variables of the container; None for a value that its manifest does not have."""
    addresses: frozenset[str] = frozenset()
    """Variables whose value is the address of the pod."""

    def value(self, text: str) -> str:
        """Return a text with the references to known variables replaced.

        Raises:
            StaysError: the values are too long.
        """
        own = {"LWS_WORKER_INDEX": self.index, "LWS_GROUP_SIZE": self.size}
        known = {name: str(value) for name, value in {**self.env, **own}.items() if value is not None}
        for _ in range(_NESTED):
            if sum(len(known.get(name, "")) for name in references(text)) > LARGEST:
                raise StaysError(f"variables of the container have more than {LARGEST} characters")
            text = _REFERENCE.sub(lambda reference: known.get(reference[1], reference[0]), text)
        return text


def references(text: str) -> list[str]:
    """Return the names of the variables that the kubelet replaces in a text."""
    return _REFERENCE.findall(text)


class ScriptCommand(NamedTuple):
    """A command that does something, and the variables that the script sets for it."""

    words: tuple[Leaf, ...]
    env: Mapping[str, Leaf]
    if_succeeds: bool = False
    """Whether it runs only if the command before it succeeds: `&&`."""


class StaysError(Exception):
    """A launch stays, since what it starts is not known. The message says what of it."""


def commands(script: Leaf, rest: Sequence[Leaf], pod: GroupPod) -> tuple[ScriptCommand, ...]:
    """Return the commands of a script, whose words come from it; `rest` are the items of its `"$@"`.

    Raises:
        StaysError: the script has a construct, or a word, whose effect is not known.
    """
    run = _Run(pod, script, tuple(rest), _parsed(script.value))
    if run.block(live=True):
        raise StaysError("the script ends a block that does not begin")
    return tuple(run.started)


# --- the structure ------------------------------------------------------------------------------------

_LOOPS: Final = frozenset({"while", "until", "for"})
_OPENS: Final = _LOOPS | {"if"}
_CLOSES: Final = frozenset({"fi", "done"})
_KEYWORDS: Final = _OPENS | _CLOSES | {"then", "do", "elif", "else"}
LARGEST: Final = 1_000_000
"""The characters to which the variables of a script may expand."""
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
        elif not all(map(_is_quiet, redirects)):
            raise StaysError(f"the script writes to a file: {redirects[0][:60]}")


@dataclass(slots=True)
class _Run:
    """The state of a script while its commands are read."""

    pod: GroupPod
    script: Leaf
    rest: tuple[Leaf, ...]
    items: tuple[_Item, ...]
    position: int = 0
    variables: dict[str, str | None] = field(default_factory=dict)
    """What the script has assigned; None if its value is not known."""
    exported: set[str] = field(default_factory=set)
    started: list[ScriptCommand] = field(default_factory=list)
    depends: str = ""
    """The command on whose success or output the next one depends."""
    if_succeeds: bool = False
    """Whether the next command runs only if the last one of `started` succeeds."""
    ended: bool = False
    """Whether the script runs no more: behind `exit` and `exec`."""
    expanded: int = 0
    """The characters to which variables were expanded."""

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
        only_reads = all(each.keyword or _only_reads(each, inside=True) for each in inside)
        variables = dict(self.variables)
        if keyword in _LOOPS and live and not (only_reads and self._awaits_ray(inside)):
            raise StaysError(f"`{keyword}` does more than wait for Ray, or for the leader")
        if live and keyword not in _LOOPS:
            try:
                self._branches()
            except StaysError:
                if not only_reads:
                    raise
            else:
                return
        words = [word for each in inside for word in each.words if live and ASSIGNMENT.match(word)]
        self.variables = variables | dict.fromkeys(word.partition("=")[0] for word in words)
        self.position = stop

    def _awaits_ray(self, inside: Sequence[_Item]) -> bool:
        """Return whether a loop looks at nothing but Ray and the pods of the group."""
        text = " ".join(word for item in inside for word in item.words)
        known = {**self.pod.env, **self.variables}
        values = (known.get(name) or "" for name in re.findall(r"\w+", text))
        return not _LOOKS.search(text) or re.search(r"\bray\b|LWS_", " ".join((text, *values))) is not None

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
        depends, before = self.depends, dict(self.variables)
        if item.ends in {"||", "|", "|&"} or (item.ends == "&&" and item.words[0] in _DECIDE):
            self.depends = depends or _shown(item.words)
        elif item.ends != "&&":
            self.depends = ""
        if _only_reads(item) or (depends and item.words[:1] == ("exit",)):
            return
        if depends or item.ends in {"|", "|&"}:
            raise StaysError(f"`{_shown(item.words)}` depends on another command, or on a pipe")
        own: dict[str, str | None] = {}
        words = list(item.words)
        while words and ASSIGNMENT.match(words[0]):
            name, _, value = words.pop(0).partition("=")
            self.variables[name] = own[name] = self._assigned(name, value)
        if item.ends == "&" and (not words or words[0] == "export"):
            raise StaysError(f"`{_shown(item.words)}` runs in the background")
        if not words:
            return
        self.variables = before
        if words[0] == "export":
            self._export(words[1:])
            return
        expanded = [each for word in words for each in self._split(word)]
        known = self.variables.keys() | self.pod.env.keys()
        unsets = words[0] == "unset" and any(word.value in known for word in expanded)
        if unsets or not _is_read(words):
            raise StaysError(f"`{_shown(words)}` is not read")
        self._start(expanded, own, item)

    def _start(self, words: list[Leaf], own: dict[str, str | None], item: _Item) -> None:
        """Record a command with the variables that the script sets for it."""
        words = words[1:] if words[:1] and words[0].value == "exec" else words
        if not words:
            raise StaysError(f"`{_shown(item.words)}` starts no program")
        texts = [word.value for word in words]
        is_node = texts[:2] == ["ray", "start"]
        if not all(_is_quiet(to) if is_node else _ITSELF.fullmatch(to) for to in item.redirects):
            raise StaysError(f"the output of `{' '.join(texts[:2])}` goes to a file")
        if item.ends == "&" and not is_node:
            raise StaysError(f"`{' '.join(texts[:2])}` runs in the background")
        names = self.exported | (self.variables.keys() & self.pod.env.keys())
        env = {name: self.variables[name] for name in sorted(names) if name in self.variables} | own
        for name, value in env.items():
            if value is None or (POD_IP in value and value != POD_IP):
                raise StaysError(f"the value of {name} is not known")
            if any(name in references(other or "") for other in self.pod.env.values()):
                raise StaysError(f"the script sets {name}, and another variable of the container names it")
        known = {name: self.script.having(value) for name, value in env.items()}
        self.started.append(ScriptCommand(tuple(words), known, self.if_succeeds))

    def _export(self, words: Sequence[str]) -> None:
        assigned: dict[str, str | None] = {}
        for word in words:
            name, has_value, value = word.partition("=")
            if not re.fullmatch(_NAME, name):
                raise StaysError(f"`export {word[:60]}` is not read")
            self.exported.add(name)
            if has_value:
                assigned[name] = self._assigned(name, value)
        self.variables |= assigned

    def _assigned(self, name: str, word: str) -> str | None:
        """Return the value of an assignment."""
        if _ADDRESS_OF_POD.fullmatch(word.strip('"')):
            return POD_IP
        if _COMMAND.search(_INNER.sub("", word)) and _output_reads(word) and "$((" not in word:
            return None
        value = "".join(self._parts(word, quoted=False, split=False))
        if f"$({name})" in value:
            value = self.pod.value(value)
        if f"$({name})" in value:
            raise StaysError(f"the value of {name} is not known")
        return value

    def _holds(self, item: _Item) -> bool:
        """Return whether a test holds."""
        words = [self.pod.value(word if word in _OF_TESTS else self._text(word)) for word in item.words]
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

    # --- words ----------------------------------------------------------------------------------------

    def _split(self, word: str) -> Iterator[Leaf]:
        """Yield the words that a word expands to: several if it is a variable without quotes."""
        if word in {'"$@"', '"${@}"'}:
            yield from self.rest
        elif whole := _WHOLE.fullmatch(word):
            yield from map(self.script.having, self._words_of(whole[whole.lastindex or 0], word))
        else:
            yield self.script.having(self._text(word))

    def _words_of(self, name: str, word: str) -> Sequence[str]:
        """Return the words to which the shell splits a variable without quotes."""
        known: Mapping[str, str | None] = self.pod.env
        if name in self.variables and not word.startswith("$("):
            known = self.variables
        value = known.get(name)
        self._count(value, name)
        if value is None or (known is self.pod.env and len(value.split()) == 1):
            return [self._text(word)]
        if len(self._plain(name, value).split()) != len(value.split()):
            value = self._plain(name, value)
        if re.search(r"[*?\[]", value):
            raise StaysError(f"the shell may replace a part of {name} by names of files")
        return value.split()

    def _count(self, value: str | None, name: str) -> None:
        """Count the characters of a value that is expanded."""
        self.expanded += len(value or "")
        if self.expanded > LARGEST:
            raise StaysError(f"the values of {name} and others have more than {LARGEST} characters")

    def _plain(self, name: str, value: str) -> str:
        """Return the value of a variable whose words matter, without references to the container's."""
        if any(self.pod.env.get(other, "") is None for other in references(value)):
            raise StaysError(f"{name} may be several words, or none: write it in quotes")
        return self.pod.value(value)

    def _text(self, word: str) -> str:
        """Return a word without quotes and expansions."""
        return "".join(self._parts(word, quoted=False))

    def _parts(self, word: str, *, quoted: bool, split: bool = True) -> Iterator[str]:
        """Yield the parts of a word without quotes; `split`: variables outside of quotes may become words."""
        position, form = 0, _QUOTED_PART if quoted else _PART
        while position < len(word):
            part = form.match(word, position)
            if part is None:
                raise StaysError(f"the shell expands `{word[:60]}`")
            position, fields = part.end(), part.groupdict()
            if fields.get("single"):
                yield part[0][1:-1]
            elif fields.get("double"):
                yield from self._parts(part[0][1:-1], quoted=True)
            elif escaped := fields["escaped"]:
                yield escaped if quoted and escaped[1] not in '"\\`\n' else escaped[1].strip("\n")
            elif fields["sum"]:
                yield str(self._number(part[0][3:-2]))
            elif name := fields["name"] or fields["braced"] or fields["kubelet"]:
                if fields["kubelet"] in self.variables:
                    raise StaysError(f"the script sets {name}, and {part[0]} is the value before that")
                yield self._variable(name, fields["default"], quoted=quoted or not split)
            else:
                yield part[0]

    def _variable(self, name: str, default: str | None, *, quoted: bool) -> str:
        """Return the value of a variable, as the kubelet reads it if it is the container's."""
        if name in self.variables:
            value = self.variables[name]
            self._count(value, name)
            if value is None or (not quoted and len(self._plain(name, value).split()) > 1):
                raise StaysError(f"the value of {name} is not known, or is several words")
            return value or self._text(default or "")
        if name in OF_LWS or name in self.pod.addresses:
            return f"$({name})"
        if name not in self.pod.env:
            raise StaysError(f"{name} is set neither in the script nor in the container")
        value = self.pod.env[name]
        if value == "" and default is not None:
            return self._text(default)
        if not quoted and (value is None or len(value.split()) != 1):
            raise StaysError(f"{name} may be several words, or none: write it in quotes")
        return f"$({name})"

    def _number(self, text: str) -> int:
        """Return the result of an arithmetic expression."""
        named = _OPERAND.sub(self._operand, text)
        try:
            return _folded(ast.parse(named.strip(), mode="eval").body)
        except (SyntaxError, ValueError, ZeroDivisionError, RecursionError) as error:
            raise StaysError(f"the result of `{text.strip()[:60]}` is not known") from error

    def _operand(self, operand: re.Match[str]) -> str:
        name = operand["name"] or operand["braced"] or operand["kubelet"]
        value = self.pod.value(self._variable(name, operand["default"], quoted=True))
        return value if operand[0].startswith("$") else f"({value})"


_NESTED: Final = 3
"""How many references to variables in variables are followed."""
_NAME: Final = r"[A-Za-z_]\w*"
_BRACED: Final = rf"\$\{{(?P<braced>{_NAME})(?::-(?P<default>[^{{}}]*))?\}}"
_EXPANDED: Final = rf"""
    (?P<escaped>\\[^$]) | (?P<sum>\$\(\((?:[^()]|\([^()]*\))*\)\)) | \$\((?P<kubelet>{_NAME})\)
  | {_BRACED} | \$(?P<name>{_NAME})"""
"""What a shell replaces. Not among them: the output of a command, and parameters of other forms."""
_QUOTED_PART: Final = re.compile(rf"{_EXPANDED} | [^$`\\]", re.VERBOSE | re.DOTALL)
_PART: Final = re.compile(
    rf"""(?P<single>'[^']*') | (?P<double>"(?:[^"\\]|\\.)*") | {_EXPANDED} | [^$`\\*?\[\]{{}}~!"']""",
    re.VERBOSE | re.DOTALL,
)
_WHOLE: Final = re.compile(rf"\$(?:({_NAME})|\{{({_NAME})\}}|\(({_NAME})\))")
_OPERAND: Final = re.compile(rf"{_BRACED}|\$\((?P<kubelet>{_NAME})\)|\$?(?P<name>{_NAME})")
_REFERENCE: Final = re.compile(rf"\$\(({_NAME})\)")
_ADDRESS_OF_POD: Final = re.compile(
    r"""\$\(hostname\ +-[iI]
        (?:\ *\|\ *(?:awk\ +'\{\ *print\ \$1;?\ *\}' | cut\ +-d\ *['"]\ ['"]\ +-f\ *1))?\ *\)""",
    re.VERBOSE,
)
_LARGEST_NUMBER: Final = 2**63 - 1
_BRACKETS: Final = frozenset({"[", "]", "[[", "]]", "!"})
_OPERATORS: Final[Mapping[type[ast.operator], Callable[[int, int], int]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.floordiv,
    ast.Mod: operator.mod,
}


def _folded(node: ast.expr) -> int:
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = _folded(node.left), _folded(node.right)
        if isinstance(node.op, ast.Div | ast.Mod) and min(left, right) < 0:
            raise ValueError  # a shell rounds towards zero
        result = _OPERATORS[type(node.op)](left, right)
        if abs(result) > _LARGEST_NUMBER:
            raise ValueError
        return result
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    raise ValueError


_COMPARISONS: Final = {"=": operator.eq, "==": operator.eq, "!=": operator.ne}
_OF_TESTS: Final = _BRACKETS | _COMPARISONS.keys()
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


# --- commands that change nothing ---------------------------------------------------------------------

_PRINT: Final = ("echo", "printf", "sleep", "date", "true", ":", "hostname", "nvidia-smi", "seq")
_LOOKING: Final = (
    *("grep", "wc", "awk", "head", "cut", "tr", "cat", "ls", "which", "nc", "getent", "nslookup"),
)
_DECIDE: Final = (*_BRACKETS, "test", "false", *_LOOKING)
"""Programs that only look: what follows one of them with `&&` depends on what it sees."""
_READS: Final[Mapping[str, re.Pattern[str]]] = {
    **dict.fromkeys((*_PRINT, *_DECIDE), re.compile(".*", re.DOTALL)),
    "printf": re.compile(r"(?!-v\b).*", re.DOTALL),
    "ray": re.compile(r"(?:status|health-check|list nodes|stop)\b.*", re.DOTALL),
}
"""Programs that only wait, print or look, with the form of their arguments.

`ray stop` is among them, since no Ray runs before a script starts it.
"""
_LOOKS: Final = re.compile(rf"(?:^|[\s(|`])(?:(?:\[\[?|test)\s+(?:!\s+)?-[a-mo-y]|{'|'.join(_LOOKING)})\s")
"""A test of a file, or a program whose output depends on files or on other pods."""
_SETS: Final = re.compile(r"\$\{\w+:?=|\$\(\(.*(?:[^=!<>]=[^=]|\+\+|--).*\)\)", re.DOTALL)
"""An expansion that sets a variable."""
_ANYTHING: Final = re.compile(".*", re.DOTALL)
_VALUE: Final = re.compile(r"(?<==).*", re.DOTALL)
_APPENDS: Final = re.compile(r"\w+\+=")
_BUILTINS: Final[Mapping[str, re.Pattern[str]]] = {
    "set": re.compile(r"(?:[-+][eux]*(?:o pipefail)? ?)+"),
    **dict.fromkeys(
        (
            *("declare", "typeset", "local", "readonly", "let", "read", "mapfile", "readarray", "getopts"),
            *("printf", "trap", "exit", "return", "break", "continue"),
        ),
        re.compile(r"(?!)"),
    ),
}
"""Commands of the shell that set variables, or say what runs, with the form of arguments that is read.

Of `set`: options that end a script at an error, or print its commands.
"""
_ITSELF: Final = re.compile(r"[0-9]?>&[0-9]")
_QUIET: Final = re.compile(rf"{_ITSELF.pattern}|(?:[0-9]?>|&>)/dev/null")
_LEAVES: Final = frozenset({"break", "continue", "exit"})
_COMMAND: Final = re.compile(r"\$\(((?:[^()]|\([^()]*\))*)\)|`([^`]*)`")
_INNER: Final = re.compile(r"'[^']*'")
_ENDLESS: Final = re.compile(r"sleep (?:infinity|inf)|tail -f /dev/null|wait")


def is_endless(words: Sequence[str]) -> bool:
    """Return whether a command only keeps its container alive."""
    return _ENDLESS.fullmatch(" ".join(words)) is not None


def _is_read(words: Sequence[str]) -> bool:
    """Return whether the effect of a command on the variables of the script is known."""
    form = _BUILTINS.get(words[0], _ANYTHING)
    return not _APPENDS.match(words[0]) and form.fullmatch(" ".join(words[1:])) is not None


def _is_quiet(redirect: str) -> bool:
    """Return whether a redirection writes to no file."""
    return _QUIET.fullmatch(redirect) is not None


def _only_reads(item: _Item, *, inside: bool = False) -> bool:
    """Return whether a command, and those whose output it has, change nothing.

    Inside of a loop or a condition, it may set variables, and end what it is in.
    """
    if not all(map(_is_quiet, item.redirects)):
        return False
    words = [word for word in item.words if not ASSIGNMENT.match(word)]
    if not all(map(_output_reads, item.words)) or any(map(_SETS.search, item.words)):
        return False
    return (inside and (not words or words[0] in _LEAVES)) or (bool(words) and _reads(words))


def _reads(words: Sequence[str]) -> bool:
    own = words[1:] if words[0] == "!" and len(words) > 1 else words
    form = _READS.get(own[0])
    return not is_endless(own) and form is not None and form.fullmatch(" ".join(own[1:])) is not None


def _output_reads(word: str) -> bool:
    """Return whether the commands whose output stands in a word only read."""
    inner = [dollar or backtick for dollar, backtick in _COMMAND.findall(_INNER.sub("", word))]
    named = [text for text in inner if text not in OF_LWS and not text.startswith("(")]
    parts = [part.split() for text in named for part in re.split(r"\|\|?|;|&&", text)]
    plain = [[word for word in part if not _is_quiet(word)] for part in parts]
    return all(part and ">" not in "".join(part) and _reads(part) for part in plain)


def _shown(words: Sequence[str]) -> str:
    """Return the program of a command and its first argument; values of variables may be secret."""
    return " ".join(_VALUE.sub("", word) for word in words[:2])[:60]
