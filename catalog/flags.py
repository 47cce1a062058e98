"""The flags of vLLM and SGLang by release, from `flags.json`, and the names that other tools use for them.

`python -m hack.engine_flags` generates the file from the sources of the releases that it lists. It
is part of the package, and is read once.
"""

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import islice, takewhile
from typing import Final

from catalog.engines import Version


@dataclass(frozen=True, slots=True)
class FlagTable:
    """The flags of one engine."""

    source: str
    """The files of the engine that define them."""
    releases: tuple[Version, ...]
    """The releases that were read, in order."""
    spans: Mapping[str, tuple[Version, Version]]
    """By flag, as in `--tensor-parallel-size`: the first and the last of these releases that have it."""
    ordered: tuple[tuple[str, ...], ...] = ()
    """The flags of each of these releases, and what Python's parser adds, in order."""
    flags: tuple[str, ...] = ()
    """The flags of all releases, in order."""

    def beginning(self, start: str) -> Iterator[str]:
        """Yield the flags that begin so. A command line may have thousands of abbreviations."""
        rest = islice(self.flags, bisect_left(self.flags, start), None)
        yield from takewhile(lambda flag: flag.startswith(start), rest)

    def lacks(self, flag: str, version: Version) -> bool:
        """Return whether a version is known to lack a flag.

        Between two releases that were read, of which one has the flag, it is not known.
        """
        first, last = self.spans[flag]
        before, after = bisect_left(self.releases, first), bisect_right(self.releases, last)
        is_older = before > 0 and version <= self.releases[before - 1]
        return is_older or (after < len(self.releases) and version >= self.releases[after])

    def shortest(self, flag: str) -> int:
        """Return the letters of the shortest beginning by which one of these releases reads a flag."""
        positive, least = flag.replace("--no-", "--"), len(flag)
        for flags in self.ordered:
            index = bisect_left(flags, positive)
            if flags[index : index + 1] == (positive,):
                beside = (flags[index - 1 : index] if index else ()) + flags[index + 1 : index + 2]
                longest = max(shared_start(positive, other) for other in beside)
                least = min(least, longest + 1 + len(flag) - len(positive))
        return least


@cache
def flag_tables() -> Mapping[str, FlagTable]:
    """Read the tables, by engine."""
    entries = json.loads(files("catalog").joinpath("flags.json").read_text(encoding="utf-8"))
    return {engine: _table(entry) for engine, entry in entries.items()}


def _table(entry: dict[str, dict[str, str]]) -> FlagTable:
    releases = tuple(map(_version, entry["releases"]))
    split = {flag: [_version(version) for version in span.split()] for flag, span in entry["flags"].items()}
    spans = {flag: (span[0], span[-1]) for flag, span in split.items()}
    of_each = (
        {flag for flag, (first, last) in spans.items() if first <= release <= last} | _OF_PYTHON
        for release in releases
    )
    ordered = tuple(tuple(sorted(flags)) for flags in of_each)
    return FlagTable(str(entry["source"]), releases, spans, ordered, tuple(sorted(spans)))


def shared_start(left: Sequence[str], right: Sequence[str]) -> int:
    """Return with how many of the same letters, or words, both begin."""
    pairs = zip(left, right, strict=False)
    return next((index for index, (mine, its) in enumerate(pairs) if mine != its), min(len(left), len(right)))


_OF_PYTHON: Final = {"--help", "--no-"}
"""A flag, and the beginning of flags, that `argparse` adds."""


def _version(text: str) -> Version:
    return tuple(int(part) for part in text.split("."))


_FOR_VLLM: Final = {
    **dict.fromkeys(("--tp", "--tp-size"), "--tensor-parallel-size"),
    **dict.fromkeys(("--pp", "--pp-size"), "--pipeline-parallel-size"),
    **dict.fromkeys(("--dp", "--dp-size"), "--data-parallel-size"),
    **dict.fromkeys(("--context-length", "--ctx-size", "--max-model-length"), "--max-model-len"),
    **dict.fromkeys(("--mem-fraction-static", "--gpu-mem-utilization"), "--gpu-memory-utilization"),
    "--model-path": "--model",
    "--max-running-requests": "--max-num-seqs",
}
_FOR_SGLANG: Final = {
    "-tp": "--tp-size",
    "-pp": "--pp-size",
    "-dp": "--dp-size",
    **dict.fromkeys(("--max-model-len", "--max-model-length", "--ctx-size"), "--context-length"),
    **dict.fromkeys(("--gpu-memory-utilization", "--gpu-mem-utilization"), "--mem-fraction-static"),
    "--max-num-seqs": "--max-running-requests",
}
OTHER_NAMES: Final[Mapping[str, Mapping[str, str]]] = {"vllm": _FOR_VLLM, "sglang": _FOR_SGLANG}
"""By engine: names that it does not accept, each with its own flag for that setting.

They are the names of the other engine, of llama.cpp (`--ctx-size`), or words written in full or cut.
"""
RELEASED: Final[Mapping[str, str]] = {"vllm": "vllm/vllm-openai", "sglang": "lmsysorg/sglang"}
"""By engine: the repository of its project, in which a tag `v0.17.1` is that release, unchanged."""
