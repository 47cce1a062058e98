"""Which program stands at a word of a command line: an engine, in the ways that engines are started."""

import re
from typing import Final, Literal

Kind = Literal[
    "flags",  # only arguments, for the entrypoint of a known image
    "subcommand",  # `serve M …`, for the entrypoint of a known image
    "serve",  # `vllm serve …`
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

_PROGRAMS: Final[dict[tuple[str, ...], Kind]] = {
    ("vllm", "serve"): "serve",
    ("sglang", "serve"): "sglang",
    ("lmdeploy", "serve", "api_server"): "lmdeploy",
    ("lmdeploy", "serve"): "lmdeploy",
    ("trtllm-serve", "serve"): "tensorrt-llm",
    ("trtllm-serve",): "tensorrt-llm",
}
_MODULES: Final[dict[str, Kind]] = {
    API_SERVER: "module",
    "sglang.launch_server": "sglang",
    "lmdeploy": "lmdeploy",
    "tensorrt_llm.commands.serve": "tensorrt-llm",
}
_PYTHON: Final = re.compile(r"(?:.*/)?python[0-9.]*")
_BARE_PYTHON: Final = re.compile(r"python[0-9.]*")
_PYTHON_VALUED: Final = frozenset({"-W", "-X"})

_PREFIXES: Final[dict[str, frozenset[str]]] = {
    "exec": frozenset({"-a"}),
    "env": frozenset({"-u", "-C", "--unset", "--chdir"}),
    "tini": frozenset({"-p", "-e"}),
    "dumb-init": frozenset({"-r", "--rewrite"}),
    "nice": frozenset({"-n", "--adjustment"}),
}
"""Programs that become the one behind them, and which of their flags take a value."""
ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*=")


def program(words: tuple[str, ...], head: int) -> tuple[Kind, int]:
    """Say which program stands at a word, and where its arguments begin."""
    if head >= len(words):
        return "unknown", head
    name = words[head].rpartition("/")[2]
    for width in (3, 2, 1):
        kind = _PROGRAMS.get((name, *words[head + 1 : head + width]))
        if kind is not None:
            return kind, head + width
    return _python(words, head) if name.startswith("python") else ("unknown", head)


def _python(words: tuple[str, ...], head: int) -> tuple[Kind, int]:
    if not _PYTHON.fullmatch(words[head]):
        return "unknown", head
    at = _behind_options(words, head + 1, _PYTHON_VALUED, stops=frozenset({"-m", "-c"}))
    if words[at : at + 1] != ("-m",) or at + 1 >= len(words):
        return "unknown", head
    kind = _MODULES.get(words[at + 1], "unknown")
    if kind == "module" and (at > head + 1 or not _BARE_PYTHON.fullmatch(words[head])):
        kind = "interpreter"
    return kind, at + 2


def behind_prefixes(words: tuple[str, ...]) -> int:
    """Find the first word that is a program of its own, behind `exec`, `env K=V`, `tini --` and such."""
    at = 0
    while at < len(words) and (valued := _PREFIXES.get(words[at].rpartition("/")[2])) is not None:
        is_env = words[at].endswith("env")
        at = _behind_options(words, at + 1, valued)
        while is_env and at < len(words) and ASSIGNMENT.match(words[at]):
            at += 1
    return at


def _behind_options(
    words: tuple[str, ...], at: int, valued: frozenset[str], stops: frozenset[str] = frozenset()
) -> int:
    while at < len(words) and words[at].startswith("-") and words[at] not in stops:
        if words[at] == "--":
            return at + 1
        at += 2 if words[at] in valued else 1
    return at
