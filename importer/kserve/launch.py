"""The command of KServe's presets as a plain one: their shell script ends by evaluating one command line.

The script of a preset looks for network devices, asks the engine for its version, and evaluates
`exec vllm serve …` with the variable `VLLM_ADDITIONAL_ARGS` and the arguments of the container. What it
evaluates is known without a shell, except for what depends on the version of the engine, which the image
may tell. Another script stays as it is.
"""

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from catalog.engines import Version
from importer.leaves import Leaf, Tree, at, items_at, value_at
from importer.script import OF_LWS, SHELLS, UnknownScriptError
from intent.image import read_image
from intent.shapes import text

ADDITIONAL: Final = "VLLM_ADDITIONAL_ARGS"
SERVERS: Final = "VLLM_API_SERVER_COUNT"
DISCOVERS: Final = "KSERVE_INFER_ROCE"
"""Of a script: whether it looks for network devices, and sets variables of NCCL, NVSHMEM and UCX."""
READ: Final = (
    ADDITIONAL,
    SERVERS,
    DISCOVERS,
    "KSERVE_INFER_IB_GID_INDEX_GREP",
    "DP_ADDRESS_RESOLVE_ATTEMPTS",
)
"""Variables that only the script reads."""
KV_TRANSFER: Final = "KV_TRANSFER_ARGS"
"""The script's variable for a KV cache in memory and on disks; without that, it is empty."""
TRANSFERS: Final = ("--kv-transfer-config", "--kv_transfer_config")
_EVALUATED: Final = re.compile(r'^\s*eval "exec (?P<line>vllm serve .*)"\s*\Z', re.DOTALL | re.MULTILINE)
_CONDITION: Final = re.compile(r'^\s*if .*"(?P<since>\d+(?:\.\d+)+)" "\$\{VLLM_VERSION\}"')
_OPENS: Final = re.compile(r"^\s*(?:if|for|while)\b|^\s*case\b")
_CLOSES: Final = re.compile(r"^\s*(?:fi|done|esac)\b")
_ASSIGNMENT: Final = re.compile(r'^\s*(?P<name>[A-Z_]+_ARGS)="(?P<value>.*)"\s*$')
_VARIABLE: Final = re.compile(r"\$\{?(?P<name>[A-Za-z_]\w*)(?::-(?P<default>[^}]*))?\}?")
_PARTS: Final = re.compile(r"""'[^']*'|[^']+|'""")
"""The parts of a text between single quotes, and the others."""
_OF_KUBELET: Final = re.compile(r"\$\((?P<name>[A-Za-z_][\w.-]*)\)")
_META: Final = re.compile(r"[`;&|<>\n\\$*?~{\[]")
"""Characters that a shell acts upon, after the references that the kubelet replaces are removed."""
RESOLVED: Final = ("DP_ADDRESS", "START_RANK")
"""Variables with which the script tells a pod its place in the group, as values of flags in `OURS`."""
OURS: Final[Mapping[str, int]] = {
    "--tensor-parallel-size": 1,
    "--data-parallel-size": 1,
    "--data-parallel-size-local": 1,
    "--data-parallel-rpc-port": 1,
    "--enable-expert-parallel": 0,
    "--data-parallel-address": 1,
    "--data-parallel-start-rank": 1,
    "--headless": 0,
}
"""Flags of the script that `parallelism` and the launcher give, with the number of their values."""


@dataclass(frozen=True, slots=True)
class Launched:
    """A container's launch without the script."""

    arguments: tuple[Leaf, ...]
    """The arguments of `vllm serve`."""
    read: frozenset[str]
    """Names of the variables that only the script reads."""


def is_script(container: Tree) -> bool:
    """Return whether a container's command is the script of a preset."""
    command = at(container, "command")
    words = [text(one.value) for one in command if isinstance(one, Leaf)] if isinstance(command, list) else []
    return (
        len(words) in (3, 4)
        and words[0] in SHELLS
        and words[1] == "-c"
        and _EVALUATED.search(words[2]) is not None
    )


def launched(container: Tree) -> Launched:
    """Return the launch of a container whose command is the script of a preset.

    Raises:
        UnknownScriptError: the script, or a variable, has what only a shell can tell.
    """
    script = container["command"][2]
    evaluated = _EVALUATED.search(script.value)
    if evaluated is None:  # `is_script`
        raise UnknownScriptError("it evaluates no command")
    variables = {text(value_at(one, "name")): one for one in items_at(container, "env")}
    chosen = _chosen(script.value, read_image(text(value_at(container, "image"))).version)
    line = evaluated["line"].replace("\\\n", " ").replace('"', "")
    known = _Known(script, tuple(items_at(container, "args")), variables, chosen)
    found = [one for word in line.split()[2:] for one in _expanded(word, known)]
    words = [one for one in found if not _is_transfer_twice(one, found)]
    return Launched(tuple(_without_ours(words)), frozenset(variables.keys() & set(READ)))


@dataclass(frozen=True, slots=True)
class _Known:
    """What the shell would know: the script, its arguments, variables, and those that it sets itself."""

    script: Leaf
    arguments: tuple[Tree, ...]
    variables: Mapping[str, Tree]
    chosen: Mapping[str, str]


def _is_transfer_twice(word: "_Word", words: "list[_Word]") -> bool:
    """Return whether a word belongs to the script's KV transfer where the author has one of their own."""
    has_own = any(one.leaf.value.partition("=")[0] in TRANSFERS for one in words if one.is_authors)
    return word.of == KV_TRANSFER and has_own


@dataclass(frozen=True, slots=True)
class _Word:
    leaf: Leaf
    is_authors: bool = False
    of: str = ""
    """The variable of the script that it is from."""


def _expanded(word: str, known: _Known) -> Iterator[_Word]:
    """Yield the words that the shell would pass on for one word of the line."""
    reference = _VARIABLE.fullmatch(word)
    if word in ("$@", "${@}"):
        for leaf in known.arguments:
            yield from (_Word(one, is_authors=True) for one in _split(leaf, known.variables))
    elif reference is None:
        if _META.search(_OF_KUBELET.sub("", word)):
            raise UnknownScriptError(f"only a shell can tell what {word[:40]} is")
        yield _Word(known.script.having(word))
    else:
        yield from _value(word, reference, known)


def _value(word: str, reference: re.Match[str], known: _Known) -> Iterator[_Word]:
    name = reference["name"]
    if name in known.chosen:
        yield from (_Word(one, of=name) for one in _split(known.script.having(known.chosen[name]), {}))
    elif name in OF_LWS:
        yield _Word(known.script.having(f"$({name})"))
    elif name in RESOLVED:
        yield _Word(known.script.having(word))
    elif name in known.variables:
        leaf = at(known.variables[name], "value")
        if not isinstance(leaf, Leaf):
            raise UnknownScriptError(f"the value of {name} is in another object")
        yield from (_Word(one, is_authors=True) for one in _split(leaf, known.variables))
    elif reference["default"]:
        yield _Word(known.script.having(reference["default"]))


def _split(leaf: Tree, variables: Mapping[str, Tree]) -> Iterator[Leaf]:
    """Yield the words of a text as `eval` reads it; references to variables become those of the kubelet."""
    if not isinstance(leaf, Leaf) or not isinstance(leaf.value, str):
        raise UnknownScriptError("an argument is no text")
    parts = [_replaced(part, variables) for part in _PARTS.findall(leaf.value)]
    try:
        yield from (leaf.having(word) for word in shlex.split("".join(parts)))
    except ValueError as error:
        raise UnknownScriptError(f"an argument has a quote without its pair: {error}") from error


def _replaced(part: str, variables: Mapping[str, Tree]) -> str:
    """Return a part of a text with its references; nothing is replaced between single quotes."""
    if part.startswith("'"):
        return part
    names = OF_LWS | variables.keys()
    if unknown := next((one for one in _VARIABLE.finditer(part) if one["name"] not in names), None):
        raise UnknownScriptError(f"only a shell can tell what {unknown[0][:40]} is")
    replaced = _VARIABLE.sub(lambda found: f"$({found['name']})", part)
    if _META.search(_OF_KUBELET.sub(lambda found: "" if found["name"] in names else found[0], replaced)):
        raise UnknownScriptError("an argument has characters that a shell acts upon")
    return replaced


def _chosen(script: str, version: Version) -> dict[str, str]:
    """Return the variables that the script sets by the version of the engine.

    Of an unknown version, only what the service asks for is taken: its KV transfer.
    """
    found: dict[str, str] = {}
    conditions: list[Version] = []
    for line in script.splitlines():
        assignment = _ASSIGNMENT.match(line)
        is_asked = assignment and assignment["name"] == KV_TRANSFER and not version
        if assignment and (is_asked or _holds(conditions, version)):
            found[assignment["name"]] = _unescaped(assignment["value"])
        if _OPENS.match(line):
            condition = _CONDITION.match(line)
            conditions.append(tuple(map(int, condition["since"].split("."))) if condition else ())
        elif _CLOSES.match(line) and conditions:
            conditions.pop()
    if not version:
        found |= dict.fromkeys(("ACCESS_LOG_ARGS", "SHUTDOWN_TIMEOUT_ARGS"), "")
    return found


def _holds(conditions: list[Version], version: Version) -> bool:
    return all(version >= since for since in conditions)


def _unescaped(value: str) -> str:
    """Return the value of an assignment in double quotes."""
    return re.sub(r'\\(["\\$`])', r"\1", value)


def _without_ours(words: list[_Word]) -> Iterator[Leaf]:
    """Yield the words without the flags that `parallelism` and the launcher give."""
    skipped = 0
    for word in words:
        if skipped:
            skipped -= 1
        elif not word.is_authors and word.leaf.value in OURS:
            skipped = OURS[word.leaf.value]
        else:
            yield word.leaf
