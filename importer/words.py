"""The words of a shell's script, expanded as far as a pod of a group tells.

A variable of the container, or of LWS, that stays in a word is written as the kubelet reads it: `$(NAME)`.
"""

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

OF_LWS: Final = frozenset({"LWS_LEADER_ADDRESS", "LWS_GROUP_SIZE", "LWS_WORKER_INDEX"})
"""Variables that LWS sets in every container."""
LARGEST: Final = 1_000_000
"""The characters to which the variables of a script may expand."""


class StaysError(Exception):
    """A launch stays, since what it starts is not known. The message says what of it."""


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
    devices: tuple[str, ...] = ()
    """The counts of accelerators that the container asks for."""
    _values: dict[str, str] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What `value` returned, by text: a script may name a variable many times."""

    def value(self, text: str) -> str:
        """Return a text with the references to known variables replaced.

        A variable of the container may name earlier ones. Those that the text does not need are not expanded.

        Raises:
            StaysError: the values are too long.
        """
        if text not in self._values:
            self._values[text] = self._expanded(text)
        return self._values[text]

    def _expanded(self, text: str) -> str:
        needed, room = set(references(text)), LARGEST
        if not needed:
            return text
        own = {"LWS_WORKER_INDEX": self.index, "LWS_GROUP_SIZE": self.size}
        known = {name: str(value) for name, value in own.items() if value is not None}
        for name in reversed(list(self.env)):
            if name in needed:
                needed.update(references(self.env[name] or ""))
        for name, value in self.env.items():
            if name in needed and name not in own and value is not None:
                known[name] = _replaced(value, known, room)
                room -= len(known[name])
        return _replaced(text, known, LARGEST)


def _replaced(text: str, known: Mapping[str, str], room: int) -> str:
    """Return a text with its references replaced by known values of at most `room` characters."""
    if sum(len(known.get(name, "")) for name in references(text)) > room:
        raise StaysError(f"variables of the container have more than {LARGEST} characters")
    return _REFERENCE.sub(lambda reference: known.get(reference[1], reference[0]), text)


def references(text: str) -> list[str]:
    """Return the names of the variables that the kubelet replaces in a text."""
    return _REFERENCE.findall(text)


@dataclass(slots=True)
class Variables:
    """The variables of a script while its commands are read. Each method raises `StaysError`."""

    pod: GroupPod
    own: dict[str, str | None] = field(default_factory=dict)
    """What the script has assigned; None if its value is not known."""
    expanded: int = 0
    """The characters to which variables were expanded."""

    def words(self, word: str) -> Sequence[str]:
        """Return the words that a word expands to: several if it is a variable without quotes."""
        part = _PART.fullmatch(word)
        return self._fields(self._variable(part)) if part and _named(part) else [self.text(word)]

    def text(self, word: str) -> str:
        """Return a word without quotes and expansions."""
        return "".join(self._parts(word))

    def value(self, name: str, word: str) -> str:
        """Return the value that the assignment of a word gives a variable."""
        value = "".join(self._parts(word, splits=False))
        if f"$({name})" in value:
            value = self.pod.value(value)
        if f"$({name})" in value:
            raise StaysError(f"the value of {name} is not known")
        return value

    def _fields(self, value: str) -> Sequence[str]:
        """Return the words to which the shell splits a value outside of quotes."""
        known = self.pod.value(value)
        if unknown := {*references(known)} - OF_LWS - self.pod.addresses:
            raise StaysError(f"{min(unknown)} may be several words, or none: write it in quotes")
        if re.search(r"[*?\[]", known):
            raise StaysError(f"the shell may replace a part of `{value[:60]}` by names of files")
        return [value] if known.split() == [known] else known.split()

    def _parts(self, word: str, *, splits: bool = True) -> Iterator[str]:
        """Yield the parts of a word without quotes; `splits`: a variable outside of quotes may be words."""
        quoted, position = False, 0
        while position < len(word):
            part = (_QUOTED_PART if quoted else _PART).match(word, position)
            if part is None:
                raise StaysError(f"the shell expands `{word[:60]}`")
            position = part.end()
            if part[0] == '"':
                quoted = not quoted
            elif _named(part):
                value = self._variable(part)
                if splits and not quoted and list(self._fields(value)) != [value]:
                    raise StaysError(f"`{part[0]}` is several words, or none: write it in quotes")
                yield value
            elif part["sum"]:
                yield str(self._number(part["sum"]))
            elif escaped := part["escaped"]:
                yield part[0] if quoted and escaped not in '"\\`\n' else escaped.strip("\n")
            else:
                yield part[0][1:-1] if part[0][0] == "'" and not quoted else part[0]

    def _variable(self, part: re.Match[str]) -> str:
        """Return the value of a variable, as the kubelet reads it if it is the container's."""
        name = _named(part)
        if name in self.own and part["kubelet"]:
            raise StaysError(f"the script sets {name}, and {part[0]} is the value before that")
        if name in OF_LWS or self.pod.env.get(name, "") != "":
            container: str | None = f"$({name})"
        else:
            container = self.pod.env.get(name)
        value = self.own.get(name, container)
        if value is None:
            raise StaysError(f"neither the script nor the container tells the value of {name}")
        self.expanded += len(value)
        if self.expanded > LARGEST:
            raise StaysError(f"the values of {name} and others have more than {LARGEST} characters")
        return value or self.text(part["default"] or "")

    def _number(self, text: str) -> int:
        """Return the result of an arithmetic expression."""
        try:
            return _folded(ast.parse(_OPERAND.sub(self._operand, text).strip(), mode="eval").body)
        except (SyntaxError, ValueError, RecursionError) as error:
            raise StaysError(f"the result of `{text.strip()[:60]}` is not known") from error

    def _operand(self, operand: re.Match[str]) -> str:
        """Return the value of a variable in an expression: a number, since it may be one itself."""
        value = self.pod.value(self._variable(operand))
        if not value.isdecimal():
            raise ValueError
        return value


def _named(part: re.Match[str]) -> str:
    """Return the name of the variable that a part of a word is; empty if it is none."""
    return part["name"] or part["braced"] or part["kubelet"] or ""


_NAME: Final = r"[A-Za-z_]\w*"
_VARIABLE: Final = rf"\$\{{(?P<braced>{_NAME})(?::-(?P<default>[^{{}}]*))?\}}|\$\((?P<kubelet>{_NAME})\)"
_EXPANDED: Final = rf"""
    " | \\(?P<escaped>[^$]) | \$\(\((?P<sum>(?:[^()]|\([^()]*\))*)\)\) | {_VARIABLE} | \$(?P<name>{_NAME})"""
"""What a shell replaces. Not among them: the output of a command, and parameters of other forms."""
_QUOTED_PART: Final = re.compile(rf"{_EXPANDED} | [^$`\\]", re.VERBOSE | re.DOTALL)
_PART: Final = re.compile(rf"'[^']*' | {_EXPANDED} | [^$`\\*?\[\]{{}}~!']", re.VERBOSE | re.DOTALL)
_OPERAND: Final = re.compile(rf"{_VARIABLE}|\$?(?P<name>{_NAME})")
_REFERENCE: Final = re.compile(rf"\$\(({_NAME})\)")
_LARGEST_NUMBER: Final = 2**63 - 1
_OPERATORS: Final[Mapping[type[ast.operator], Callable[[int, int], int]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}


def _folded(node: ast.expr) -> int:
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        result = _OPERATORS[type(node.op)](_folded(node.left), _folded(node.right))
        if abs(result) <= _LARGEST_NUMBER:
            return result
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    raise ValueError
