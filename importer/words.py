"""The words of a shell's script, expanded as far as a pod of a group tells.

A variable of the container, or of LWS, that stays in a word is written as the kubelet reads it: `$(NAME)`.
"""

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

POD_IP: Final = "$(status.podIP)"
"""The value of a variable that is the address of the pod."""
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


@dataclass(slots=True)
class Variables:
    """The variables of a script while its commands are read. Each method raises `StaysError`."""

    pod: GroupPod
    own: dict[str, str | None] = field(default_factory=dict)
    """What the script has assigned; None if its value is not known."""
    expanded: int = 0
    """The characters to which variables were expanded."""

    @property
    def known(self) -> Mapping[str, str | None]:
        """The variables of the container and of the script."""
        return {**self.pod.env, **self.own}

    def split(self, word: str) -> Sequence[str]:
        """Return the words that a word expands to: several if it is a variable without quotes."""
        whole = _WHOLE.fullmatch(word)
        return self._words_of(whole[whole.lastindex or 0], word) if whole else [self.text(word)]

    def value(self, name: str, word: str) -> str:
        """Return the value that the assignment of a word gives a variable."""
        value = "".join(self._parts(word, quoted=False, split=False))
        if f"$({name})" in value:
            value = self.pod.value(value)
        if f"$({name})" in value:
            raise StaysError(f"the value of {name} is not known")
        return value

    def _words_of(self, name: str, word: str) -> Sequence[str]:
        """Return the words to which the shell splits a variable without quotes."""
        known: Mapping[str, str | None] = self.pod.env
        if name in self.own and not word.startswith("$("):
            known = self.own
        value = known.get(name)
        self._count(value, name)
        if value is None or (known is self.pod.env and len(value.split()) == 1):
            return [self.text(word)]
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

    def text(self, word: str) -> str:
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
                if fields["kubelet"] in self.own:
                    raise StaysError(f"the script sets {name}, and {part[0]} is the value before that")
                yield self._variable(name, fields["default"], quoted=quoted or not split)
            else:
                yield part[0]

    def _variable(self, name: str, default: str | None, *, quoted: bool) -> str:
        """Return the value of a variable, as the kubelet reads it if it is the container's."""
        if name in self.own:
            value = self.own[name]
            self._count(value, name)
            if value is None or (not quoted and len(self._plain(name, value).split()) > 1):
                raise StaysError(f"the value of {name} is not known, or is several words")
            return value or self.text(default or "")
        if name in OF_LWS or name in self.pod.addresses:
            return f"$({name})"
        if name not in self.pod.env:
            raise StaysError(f"{name} is set neither in the script nor in the container")
        value = self.pod.env[name]
        if value == "" and default is not None:
            return self.text(default)
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
_LARGEST_NUMBER: Final = 2**63 - 1
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
