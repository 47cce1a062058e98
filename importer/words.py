"""The words of a shell's script, expanded as far as a pod of a group tells.

A variable of the container, or of LWS, that stays in a word is written as the kubelet reads it: `$(NAME)`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Final

OF_LWS: Final = frozenset({"LWS_LEADER_ADDRESS", "LWS_GROUP_SIZE", "LWS_WORKER_INDEX"})
"""Variables that LWS sets in every container."""
LARGEST: Final = 1 << 18
"""The characters to which variables may expand."""


class StaysError(Exception):
    """A launch stays, since what it starts is not known. The message says what of it."""


@dataclass(slots=True)
class GroupPod:
    """What the commands of a container are read with."""

    index: int | None = None
    size: int | None = None
    """Of its group; None for what holds in each pod."""
    env: Mapping[str, str | None] = field(default_factory=dict)
    """The variables of the container; None for a value that its manifest does not have."""
    addresses: frozenset[str] = frozenset()
    """Variables whose value is the address of the pod."""
    _known: dict[str, str] = field(default_factory=dict, init=False, repr=False, compare=False)
    """The values of variables, with those that they name, as far as they are not too long together."""

    def __post_init__(self) -> None:
        own = {"LWS_WORKER_INDEX": self.index, "LWS_GROUP_SIZE": self.size}
        self._known |= {name: str(value) for name, value in own.items() if value is not None}
        room = LARGEST
        for name, value in self.env.items():
            if name not in OF_LWS and value is not None and (size := self._size(value)) <= room:
                self._known[name] = self.value(value)
                room -= size

    def value(self, text: str) -> str:
        """Return a text with the references to known variables replaced; as it is, if that is too long."""
        if self._size(text) > LARGEST:
            return text
        return _REFERENCE.sub(lambda reference: self._known.get(reference[1], reference[0]), text)

    def _size(self, text: str) -> int:
        return len(text) + sum(len(self._known.get(name, "")) for name in references(text))


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

    def value(self, name: str, word: str) -> str:
        """Return the value that the assignment of a word gives a variable."""
        value = self.text(word, splits=False)
        if f"$({name})" in value:
            raise StaysError(f"the script makes {name} of the value that the container gives it")
        return value

    def text(self, word: str, *, splits: bool = True) -> str:
        """Return a word without quotes and expansions; `splits`: unquoted variables may be words."""
        parts, quoted, position = list[str](), False, 0
        while position < len(word):
            part = (_QUOTED_PART if quoted else _PART).match(word, position)
            if part is None:
                raise StaysError(f"the shell expands `{word[:60]}`")
            position = part.end()
            if part[0] == '"':
                quoted = not quoted
            elif _named(part):
                parts.append(self._variable(part))
                if splits and not quoted and self._fields(parts[-1]) != [parts[-1]]:
                    raise StaysError(f"`{part[0]}` is several words, or none: write it in quotes")
            elif part["sum"]:
                parts.append(str(self._product(part["sum"])))
            elif escaped := part["escaped"]:
                parts.append(part[0] if quoted and escaped not in '"\\`\n' else escaped.strip("\n"))
            else:
                parts.append(part[0][1:-1] if part[0][0] == "'" and not quoted else part[0])
        return "".join(parts)

    def _fields(self, value: str) -> list[str]:
        """Return the words to which the shell splits a value outside of quotes."""
        known = self.pod.value(value)
        if unknown := {*references(known)} - OF_LWS - self.pod.addresses:
            raise StaysError(f"{min(unknown)} may be several words, or none: write it in quotes")
        if re.search(r"[*?\[]", known):
            raise StaysError(f"the shell may replace a part of `{value[:60]}` by names of files")
        return [value] if known.split() == [known] else known.split()

    def _variable(self, part: re.Match[str]) -> str:
        """Return the value of a variable, as the kubelet reads it if it is the container's."""
        name, env = _named(part), self.pod.env
        if name in self.own and part["kubelet"]:
            raise StaysError(f"the script sets {name}, and {part[0]} is the value before that")
        is_set = name in OF_LWS or env.get(name, "") != ""
        value = self.own.get(name, f"$({name})" if is_set else env.get(name))
        if value is None:
            raise StaysError(f"neither the script nor the container tells the value of {name}")
        self.expanded += len(value)
        if self.expanded > LARGEST:
            raise StaysError(f"the values of {name} and others have more than {LARGEST} characters")
        return value or self.text(part["default"] or "")

    def _product(self, text: str) -> int:
        """Return a number, or the product of some."""
        numbers = _OPERAND.sub(self._operand, text)
        result = prod(map(int, numbers.split("*"))) if _PRODUCT.fullmatch(numbers) else None
        if result is None or result > _LARGEST_NUMBER:
            raise StaysError(f"the result of `{text.strip()[:60]}` is not known")
        return result

    def _operand(self, operand: re.Match[str]) -> str:
        value = self.pod.value(self._variable(operand))
        return value if value.isdecimal() else "?"


def _named(part: re.Match[str]) -> str:
    """Return the name of the variable that a part of a word is; empty if it is none."""
    return part["name"] or part["braced"] or part["kubelet"] or ""


_NAME: Final = r"[A-Za-z_]\w*"
_VARIABLE: Final = rf"\$\{{(?P<braced>{_NAME})(?::-(?P<default>[^{{}}]*))?\}}|\$\((?P<kubelet>{_NAME})\)"
_EXPANDED: Final = rf"""
    " | \\(?P<escaped>[^$]) | \$\(\((?P<sum>(?:[^()]|\([^()]*\))*)\)\) | {_VARIABLE} | \$(?P<name>@|{_NAME})
"""
"""What a shell replaces. Not among them: the output of a command, and parameters of other forms."""
_QUOTED_PART: Final = re.compile(rf"{_EXPANDED} | [^$`\\]", re.VERBOSE | re.DOTALL)
_PART: Final = re.compile(rf"'[^']*' | {_EXPANDED} | [^$`\\*?\[\]{{}}~!']", re.VERBOSE | re.DOTALL)
_REFERENCE: Final = re.compile(rf"\$\(({_NAME})\)")
_OPERAND: Final = re.compile(rf"{_VARIABLE}|\$?(?P<name>{_NAME})")
_NUMBER: Final = r"(?:0|[1-9][0-9]{0,17})"
_PRODUCT: Final = re.compile(rf"\s*{_NUMBER}(?:\s*[*]\s*{_NUMBER})*\s*")
_LARGEST_NUMBER: Final = 2**63 - 1
