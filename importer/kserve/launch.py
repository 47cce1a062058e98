"""The command of KServe's presets as a plain one: their shell script ends by evaluating one command line.

The script of a preset looks for network devices, asks the engine for its version, and evaluates
`exec vllm serve …` with the variable `VLLM_ADDITIONAL_ARGS` and the arguments of the container. What it
evaluates is known without a shell; the version of the engine is that of the image, if its tag tells one.
Another script stays as it is.
"""

import re
from typing import Final

from importer.leaves import Leaf, Tree, at, items_at, origins, value_at
from importer.script import SHELLS, commands
from importer.words import OF_LWS, GroupPod, StaysError
from intent.image import read_image
from intent.shapes import text

DISCOVERS: Final = "KSERVE_INFER_ROCE"
"""Of a script: whether it looks for network devices, and sets variables of NCCL, NVSHMEM and UCX."""
ADDITIONAL: Final = "VLLM_ADDITIONAL_ARGS"
READ: Final = (
    *(ADDITIONAL, "VLLM_API_SERVER_COUNT", "DP_ADDRESS_RESOLVE_ATTEMPTS"),
    *(DISCOVERS, "KSERVE_INFER_IB_GID_INDEX_GREP"),
)
"""Variables that only the script reads."""
_EMPTY: Final = (ADDITIONAL, "ACCESS_LOG_ARGS", "SHUTDOWN_TIMEOUT_ARGS", "KV_TRANSFER_ARGS")
"""Variables of the line that may be empty: their flags depend on the version of the engine."""
_ASSIGNMENT: Final = re.compile(
    r'^(?:if .*"(?P<since>\d+(?:\.\d+)+)" "\$\{VLLM_VERSION\}".*\n\s*)?(?P<name>[A-Z_]+)="(?P<value>[^"]*)"$',
    re.MULTILINE,
)
"""An assignment of the script, if it is for any version, or from one on."""
_EVALUATED: Final = re.compile(r'^\s*eval "exec (?P<line>vllm serve .*)"\s*\Z', re.DOTALL | re.MULTILINE)
_VARIABLE: Final = re.compile(r"\$\{?(?P<name>@|[A-Za-z_]\w*)(?::-(?P<default>[^}]*))?\}?")
_OURS: Final = re.compile(
    r"(?<!\S)--(?:(?:tensor-parallel-size|data-parallel-(?:size|size-local|rpc-port|address|start-rank))\s+\S+"
    r"|enable-expert-parallel|headless)(?!\S)"
)
"""Flags of the script that `parallelism` and the launcher give."""


def arguments(container: Tree) -> tuple[Leaf, ...] | None:
    """Return the arguments of `vllm serve` that the script of a preset starts in a container.

    None if its command is its author's, or if only a shell can tell it.
    """
    command = items_at(container, "command")
    words = [text(value_at(word)) for word in command]
    evaluated = _EVALUATED.search(words[2]) if len(words) in (3, 4) else None
    if evaluated is None or words[0] not in SHELLS or words[1] != "-c":
        return None
    env = {text(value_at(entry, "name")): at(entry, "value") for entry in items_at(container, "env")}
    values: dict[str, list[Tree]] = {
        **{name: [] for name in _EMPTY},
        **{name: [Leaf(f"$({name})")] for name in OF_LWS},
        **{name: [value] for name, value in env.items()},
        **{name: [Leaf(value)] for name, value in _assigned(words[2], container).items()},
        "@": items_at(container, "args"),
    }
    line = _OURS.sub("", evaluated["line"].replace("\\\n", " ").replace('"', ""))
    names = [reference["name"] for reference in _VARIABLE.finditer(line)]
    used = [command[2], *(leaf for name in names for leaf in values.get(name, []))]
    texts = {name: " ".join(text(value_at(leaf)) for leaf in own) for name, own in values.items()}
    if not all(isinstance(value_at(leaf), str) for leaf in used):
        return None

    def replacement(part: re.Match[str]) -> str:
        own = texts.get(part["name"], part["default"])
        return part[0] if own is None else own

    known = {name: value_at(value) for name, value in env.items()}
    pod = GroupPod(env={name: each if isinstance(each, str) else None for name, each in known.items()})
    try:
        # eval reads the line as text; its last word shows that no comment begins before
        started = commands(Leaf(f"{_VARIABLE.sub(replacement, line)} end", tuple(origins(used))), pod)
    except StaysError:
        return None
    is_whole = len(started) == 1 and started[0].words[-1].value == "end"
    return started[0].words[2:-1] if is_whole else None


def _assigned(script: str, container: Tree) -> dict[str, str]:
    """Return the variables that the script sets for the version of the engine; none if that is unknown."""
    version = read_image(text(value_at(container, "image"))).version
    return {
        assignment["name"]: assignment["value"]
        for assignment in _ASSIGNMENT.finditer(script)
        if version and version >= tuple(map(int, (assignment["since"] or "0").split(".")))
    }
