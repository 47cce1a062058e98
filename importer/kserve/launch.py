"""The command of KServe's presets as a plain one: their shell script ends by evaluating one command line.

The script of a preset looks for network devices, asks the engine for its version, and evaluates
`exec vllm serve …` with the variable `VLLM_ADDITIONAL_ARGS` and the arguments of the container. What it
evaluates is known without a shell, except for what depends on the version of the engine, which the image
may tell. Another script stays as it is.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from catalog.engines import Version
from importer.leaves import Leaf, Tree, at, items_at, value_at
from importer.script import SHELLS, commands
from importer.words import OF_LWS, GroupPod, StaysError
from intent.image import read_image
from intent.shapes import text

DISCOVERS: Final = "KSERVE_INFER_ROCE"
"""Of a script: whether it looks for network devices, and sets variables of NCCL, NVSHMEM and UCX."""
READ: Final = (
    *("VLLM_ADDITIONAL_ARGS", "VLLM_API_SERVER_COUNT", "DP_ADDRESS_RESOLVE_ATTEMPTS"),
    *(DISCOVERS, "KSERVE_INFER_IB_GID_INDEX_GREP"),
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
_ESCAPED: Final = re.compile(r'\\(["\\$`])')
_VARIABLE: Final = re.compile(r"\$\{?(?P<name>@|[A-Za-z_]\w*)(?::-(?P<default>[^}]*))?\}?")
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


def arguments(container: Tree) -> tuple[Leaf, ...] | None:
    """Return the arguments of `vllm serve` that the script of a preset starts in a container.

    None if its command is its author's, or if only a shell can tell it.
    """
    command = items_at(container, "command")
    words = [text(value_at(word)) for word in command]
    evaluated = _EVALUATED.search(words[2]) if len(words) in (3, 4) else None
    if evaluated is None or words[0] not in SHELLS or words[1] != "-c":
        return None
    named = ((text(value_at(entry, "name")), entry) for entry in items_at(container, "env"))
    env = {name: at(entry, "value") for name, entry in named if name}
    chosen = _chosen(words[2], read_image(text(value_at(container, "image"))).version)
    script: Leaf = command[2]
    values = {
        **{name: [script.having(f"$({name})")] for name in OF_LWS},
        **{name: [value] for name, value in env.items()},
        **{name: [script.having(value)] for name, value in chosen.items()},
        "@": items_at(container, "args"),
    }
    line = evaluated["line"].replace("\\\n", " ").replace('"', "")
    try:
        parts = [_expanded(word, script, values, env) for word in _without_ours(line.split()[2:])]
    except StaysError:
        return None
    flags = {word.value.partition("=")[0] for name, part in parts if name not in chosen for word in part}
    is_twice = not flags.isdisjoint(TRANSFERS)
    return tuple(word for name, part in parts if not (is_twice and name == KV_TRANSFER) for word in part)


def _without_ours(words: Sequence[str]) -> Iterator[str]:
    """Yield the words of the line without the flags that `parallelism` and the launcher give."""
    skipped = 0
    for word in words:
        if skipped:
            skipped -= 1
        elif word in OURS:
            skipped = OURS[word]
        else:
            yield word


def _expanded(
    word: str, script: Leaf, values: Mapping[str, Sequence[Tree]], env: Mapping[str, Tree]
) -> tuple[str, list[Leaf]]:
    """Return the words that the shell passes on for a word of the line, and the name of its variable."""
    reference = _VARIABLE.fullmatch(word)
    name, default = reference.group("name", "default") if reference else ("", word)
    leaves = values.get(name, [script.having(default or "")])
    return name, [part for leaf in leaves for part in _split(leaf, env)]


def _split(leaf: Tree, env: Mapping[str, Tree]) -> list[Leaf]:
    """Return the words of a text as `eval` reads it; references to variables become those of the kubelet.

    The text stands between two words that have to be there again: it is no comment, and ends no command.
    """
    if not isinstance(leaf, Leaf) or not isinstance(leaf.value, str):
        raise StaysError("an argument is no text")
    values = {name: value_at(value) for name, value in env.items()}
    texts = {name: value if isinstance(value, str) else None for name, value in values.items()}
    started = commands(leaf.having(f"begin {leaf.value} end"), (), GroupPod(env=texts))
    words = list(started[0].words)
    if len(started) > 1 or (words[0].value, words[-1].value) != ("begin", "end"):
        raise StaysError("a shell does more than pass an argument on")
    return words[1:-1]


def _chosen(script: str, version: Version) -> dict[str, str]:
    """Return the variables that the script sets by the version of the engine.

    Of an unknown version, only what the service asks for is taken: its KV transfer.
    """
    chosen: dict[str, str] = {}
    conditions: list[Version] = []
    for line in script.splitlines():
        assignment = _ASSIGNMENT.match(line)
        is_asked = assignment and assignment["name"] == KV_TRANSFER and not version
        if assignment and (is_asked or all(version >= since for since in conditions)):
            chosen[assignment["name"]] = _ESCAPED.sub(r"\1", assignment["value"])
        if _OPENS.match(line):
            condition = _CONDITION.match(line)
            conditions.append(tuple(map(int, condition["since"].split("."))) if condition else ())
        elif _CLOSES.match(line) and conditions:
            conditions.pop()
    if not version:
        chosen |= dict.fromkeys(("ACCESS_LOG_ARGS", "SHUTDOWN_TIMEOUT_ARGS"), "")
    return chosen
