"""The program at an index of a command line: an engine, in every form in which engines are started."""

import re
from typing import Final, Literal

Program = Literal[
    "flags",  # only arguments, for the entrypoint of a known image
    "subcommand",  # `serve M …`, for the entrypoint of a known image
    "serve",  # `vllm serve …`, `python3 -m vllm.entrypoints.cli.main serve …`
    "module",  # `python3 -m vllm.entrypoints.openai.api_server …`
    "interpreter",  # the same with an interpreter of its own, or with flags for it
    "sglang",  # `python3 -m sglang.launch_server …`, `sglang serve …`
    "lmdeploy",  # `lmdeploy serve …`
    "tensorrt-llm",  # `trtllm-serve …`
    "distributed",  # launches several nodes by itself
    "complex",  # a shell script that is not understood
    "unknown",
]

API_SERVER: Final = "vllm.entrypoints.openai.api_server"

_PROGRAMS: Final[dict[tuple[str, ...], Program]] = {
    ("vllm", "serve"): "serve",
    ("sglang", "serve"): "sglang",
    ("lmdeploy", "serve", "api_server"): "lmdeploy",
    ("lmdeploy", "serve"): "lmdeploy",
    ("trtllm-serve", "serve"): "tensorrt-llm",
    ("trtllm-serve",): "tensorrt-llm",
}
_MODULES: Final[dict[str, Program]] = {
    API_SERVER: "module",
    "sglang.launch_server": "sglang",
    "lmdeploy": "lmdeploy",
    "tensorrt_llm.commands.serve": "tensorrt-llm",
}
_CLIS: Final[dict[str, str]] = {"vllm.entrypoints.cli.main": "vllm"}
"""Modules with the arguments of a program: `python3 -m MODULE serve …` is `vllm serve …`."""
_PYTHON: Final = re.compile(r"(?:.*/)?python[0-9.]*")
_BARE_PYTHON: Final = re.compile(r"python[0-9.]*")
_PYTHON_VALUED: Final = frozenset({"-W", "-X"})


_PREFIXES: Final = {
    "exec": frozenset({"-a"}),
    "env": frozenset({"-u", "-C", "--unset", "--chdir"}),
    "tini": frozenset({"-p", "-e"}),
    "dumb-init": frozenset({"-r", "--rewrite"}),
    "numactl": frozenset({
        *("-C", "--physcpubind", "-N", "--cpunodebind", "-m", "--membind", "-i", "--interleave"),
        *("-p", "--preferred"),
    }),
    "nvidia_entrypoint.sh": frozenset[str](),
}  # fmt: skip
"""Programs (the last segment of the path) that run the command after them, and their flags whose value is the
next argument; any other flag is one argument. A launcher is written after them, on leader and workers.

Sources: GNU coreutils `env`; `tini(1)`; `dumb-init --help`; `numactl(8)`;
`/opt/nvidia/nvidia_entrypoint.sh` of NVIDIA's images, which ends in `exec "$@"`.
"""
_EMPTIES: Final = frozenset({"-", "-i", "--ignore-environment"})
"""Flags of `env` with which it is no prefix: the command loses the pod's variables."""
ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*=")


def program(words: tuple[str, ...], head: int) -> tuple[Program, int]:
    """Return the kind of program at an index, and the index of its first argument."""
    if head >= len(words):
        return "unknown", head
    name = words[head].rpartition("/")[2]
    for width in (3, 2, 1):
        kind = _PROGRAMS.get((name, *words[head + 1 : head + width]))
        if kind is not None:
            return kind, head + width
    return _python(words, head) if name.startswith("python") else ("unknown", head)


def _python(words: tuple[str, ...], head: int) -> tuple[Program, int]:
    if not _PYTHON.fullmatch(words[head]):
        return "unknown", head
    index = _behind_options(words, head + 1, _PYTHON_VALUED, stops=frozenset({"-m", "-c"}))
    if words[index : index + 1] != ("-m",) or index + 1 >= len(words):
        return "unknown", head
    if cli := _CLIS.get(words[index + 1]):
        return _PROGRAMS.get((cli, *words[index + 2 : index + 3]), "unknown"), index + 3
    kind = _MODULES.get(words[index + 1], "unknown")
    if kind == "module" and (index > head + 1 or not _BARE_PYTHON.fullmatch(words[head])):
        kind = "interpreter"
    return kind, index + 2


def behind_prefixes(words: tuple[str, ...]) -> int:
    """Return the index of the program after prefixes such as `exec`, `env K=V` and `tini --`."""
    head = 0
    while head < len(words) and (valued := _PREFIXES.get(name := words[head].rpartition("/")[2])) is not None:
        end = _behind_options(words, head + 1, valued)
        if name == "env":
            if not _EMPTIES.isdisjoint(words[head + 1 : end]):
                return head
            while end < len(words) and ASSIGNMENT.match(words[end]):
                end += 1
        head = end
    return head


def _behind_options(
    words: tuple[str, ...], index: int, valued: frozenset[str], stops: frozenset[str] = frozenset()
) -> int:
    while index < len(words) and words[index].startswith("-") and words[index] not in stops:
        if words[index] == "--":
            return index + 1
        index += 2 if words[index] in valued else 1
    return index
