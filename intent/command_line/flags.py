"""The flags of an engine's command line, as its own parser reads them (`intent.command_line.dialects`).

`--f=v` is `--f v`, the last of several applies, and after a `--` there are no flags.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

MODEL: Final = "model"
CONFIG: Final = "config"
PORT: Final = "port"
BACKEND: Final = "distributed-executor-backend"
TENSOR: Final = "tensor-parallel-size"
PIPELINE: Final = "pipeline-parallel-size"
DATA: Final = "data-parallel-size"
CONTEXT: Final = "prefill-context-parallel-size"
LOCAL_DATA: Final = "data-parallel-size-local"
RPC: Final = "data-parallel-rpc-port"
EXPERT_PARALLEL: Final = "enable-expert-parallel"
DATA_BACKEND: Final = "data-parallel-backend"
HYBRID: Final = "data-parallel-hybrid-lb"
EXTERNAL: Final = "data-parallel-external-lb"
MULTI_PORT: Final = "data-parallel-multi-port-external-lb"
SUPERVISOR: Final = "data-parallel-supervisor-port"
NODE_RANK: Final = "node-rank"
RANK: Final = "data-parallel-rank"
START_RANK: Final = "data-parallel-start-rank"
HEADLESS: Final = "headless"
SERVERS: Final = "api-server-count"
HOST: Final = "host"
DEVICE: Final = "device"
TRANSFER: Final = "kv-transfer-config"
MODE: Final = "disaggregation-mode"
BOOTSTRAP: Final = "disaggregation-bootstrap-port"
BACKEND_OF_TRANSFER: Final = "disaggregation-transfer-backend"
SHARED_DATA: Final = "enable-dp-attention"
EXPERTS: Final = "ep"
SERVED_NAME: Final = "--served-model-name"

END: Final = "--"
SIZES: Final = (TENSOR, PIPELINE, DATA, CONTEXT)
"""Sizes whose product is the number of accelerators; expert and decode-context parallelism add none."""
CHANGES_SIZES: Final = frozenset({CONFIG, EXPERTS})
"""Flags that change the meaning of `SIZES`: a file may contain any flag, and LMDeploy's expert size replaces
the tensor size."""
NNODES: Final = "nnodes"
ADDRESS: Final = "data-parallel-address"
DISTRIBUTED: Final = frozenset(
    {
        NNODES,
        NODE_RANK,
        HEADLESS,
        ADDRESS,
        START_RANK,
        "dist-init-addr",
        "nccl-init-addr",
    }
)
"""Flags of vLLM and SGLang that appear only in commands that launch the nodes themselves."""


_SWITCH_PREFIXES: Final = ("--no-", "--enable-", "--disable-")


@dataclass(frozen=True, slots=True)
class Dialect:
    """The flags of one engine: the name for each spelling, and the flags with a value."""

    names: dict[str, str]
    valued: frozenset[str]
    underscored: bool
    """Whether `_` equals `-` in a name."""
    letters: dict[str, str] = field(default_factory=dict)
    """Short flags of one letter that take a value: `-n2` is `-n 2`."""


class Flag(NamedTuple):
    """One flag as written."""

    name: str
    """The full name without dashes; an unknown flag keeps its spelling."""
    value: str | None
    """None if there is none, or if the flag is unknown and the value may be the next argument."""
    at: int
    """The index of the argument."""
    width: int
    """The number of arguments, values included."""

    @property
    def value_at(self) -> int:
        """The index of the argument that holds the value."""
        return self.at + 1 if self.width > 1 else self.at


@dataclass(frozen=True, slots=True)
class Flags:
    """The arguments of one command line, in order."""

    given: tuple[Flag, ...] = ()
    bare: tuple[int, ...] = ()
    """Indexes of positional arguments: the first is the model."""
    stray: tuple[int, ...] = ()
    """Indexes of arguments that are never the model: empty ones, and those after a `--`."""
    applied: Mapping[str, Flag] = field(default_factory=dict, compare=False)
    """The last flag of each name."""

    def last(self, name: str) -> Flag | None:
        """Return the last flag of a name, which applies; None if there is none."""
        return self.applied.get(name)


NO_FLAGS: Final = Flags()


def read_flags(words: Sequence[str], start: int, dialect: Dialect) -> Flags:
    """Parse the arguments from an index on."""
    flags: list[Flag] = []
    bare: list[int] = []
    index, stop = start, end_of_flags(words, start)
    while index < stop:
        if is_flag(words[index]):
            flag = _flag(words, index, dialect)
            flags.append(flag)
            index += flag.width
        else:
            bare.append(index)
            index += 1
    stray = [place for place in bare if not words[place]]
    named, applied = tuple(place for place in bare if words[place]), {flag.name: flag for flag in flags}
    return Flags(tuple(flags), named, (*stray, *range(stop + 1, len(words))), applied)


def end_of_flags(words: Sequence[str], start: int) -> int:
    """Return the index of the first `--`, after which there are no flags; else the end of the arguments."""
    return words.index(END, start) if END in words[start:] else len(words)


def is_flag(word: str) -> bool:
    """Return whether argparse reads an argument as a flag; a negative number is a value."""
    return word[:1] == "-" and len(word) > 1 and not word[1].isdecimal()


def _flag(words: Sequence[str], index: int, dialect: Dialect) -> Flag:
    spelled, equals, value = words[index].partition("=")
    name = dialect.names.get(spelled) or _name(spelled, dialect)
    if equals:
        return Flag(name, value, index, 1)
    if spelled[:2] in dialect.letters and len(spelled) > 2:
        return Flag(dialect.letters[spelled[:2]], spelled[2:], index, 1)
    if name in dialect.valued:
        has_value = index + 1 < len(words) and not is_flag(words[index + 1])
        return Flag(name, words[index + 1], index, 2) if has_value else Flag(name, None, index, 1)
    if name[0] == "-" and not name.startswith(_SWITCH_PREFIXES):
        return Flag(name, None, index, _width(words, index))
    return Flag(name, None, index, 1)


def _name(spelled: str, dialect: Dialect) -> str:
    if not dialect.underscored:
        return spelled
    head, dot, tail = spelled.partition(".")
    dashed = head.replace("_", "-")
    return dialect.names.get(dashed + dot + tail, dashed + dot + tail)


def _width(words: Sequence[str], index: int) -> int:
    """Return the number of arguments that an unknown flag may have: all up to the next flag."""
    stop = index + 1
    while stop < len(words) and not is_flag(words[stop]):
        stop += 1
    return stop - index


def may_be_model(flags: Flags, words: Sequence[str]) -> bool:
    """Return whether an argument after an unknown flag could be the model."""
    following = (
        words[index]
        for flag in flags.given
        if not flag.value
        for index in range(flag.at + 1, flag.at + flag.width)
    )
    return any(not _is_number(word) and not word.startswith("{") for word in following)


def _is_number(word: str) -> bool:
    return word.replace(".", "", 1).isdecimal()


LONGEST: Final = 128 * 1024
"""The maximum bytes of one argument (Linux, `include/uapi/linux/binfmts.h`, MAX_ARG_STRLEN)."""


_REFERENCE: Final = re.compile(r"\$\(([^()]{1,256})\)")


def resolve(value: str, variables: Sequence[tuple[str, str | None]]) -> str | None:
    """Expand `$(X)` as the kubelet does, from literal variables; None if a reference stays unknown.

    One pass: the value of a variable is not expanded again (`k8s.io/kubernetes`
    `third_party/forked/golang/expansion/expand.go`).
    """
    if "$" not in value and "`" not in value:
        return value
    known = dict(variables)
    if _REFERENCE.sub("", value).find("$") >= 0 or _length(value, known) > LONGEST:
        return None
    expanded = _REFERENCE.sub(lambda reference: known.get(reference[1]) or "", value)
    return None if "$" in expanded or "`" in expanded else expanded


def _length(value: str, known: Mapping[str, str | None]) -> int:
    """Return the length of an expanded value; more than `LONGEST` if a variable is unknown."""
    literals = [known.get(name) for name in _REFERENCE.findall(value)]
    return len(value) + sum(LONGEST + 1 if literal is None else len(literal) for literal in literals)
