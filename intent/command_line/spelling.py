"""Flags that a release of an engine does not parse: which releases do, and which flag was meant.

A flag is parsed as written, abbreviated, negated or dotted, as far as the releases of the table do so. What
no release parses may be the flag of a newer one or of a plugin, so what was meant is said of near misses
alone: a misspelt flag differs from a known one in the letters of one word, in hyphens, underscores or
capitals, or is a name that only other engines have for the same setting.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final, NamedTuple

from catalog.engines import Version, shown
from catalog.flags import OTHER_NAMES, FlagTable, flag_tables
from intent.command_line.flags import Flag
from intent.errors import RENAMED, SOUGHT, nearest

UNDERSCORED: Final = frozenset({"vllm"})
"""Engines that read `_` in a flag as `-`."""
_NEVER: Final[Version] = (1 << 30,)
DOTTED: Final[Mapping[str, Version]] = {"vllm": (0, 9)}
"""The first release of each engine that reads `--flag.key` (`FlexibleArgumentParser`)."""
INVERSE: Final[Mapping[str, Version]] = {"vllm": (0, 33)}
"""The first release of each engine that reads `--disable-x` for `--enable-x`, and the other way round."""
_INVERSES: Final = (("--enable-", "--disable-"), ("--disable-", "--enable-"))
_ALWAYS: Final = {"vllm": ("-O", "--help"), "sglang": ("--help",)}
"""Beginnings of arguments that each release reads although no table has them."""
_FLAG: Final = re.compile(r"--?[A-Za-z][A-Za-z0-9_.-]{1,63}")
"""A flag of no release: without the blanks, quotes and dollar signs of a shell."""
_NEGATED: Final = "--no-"
_SHORTEST: Final = 5
"""Letters of the shortest word that may lack one or have another; shorter words are too alike."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """The flags of one engine, for lookups."""

    engine: str
    table: FlagTable
    ordered: tuple[str, ...]
    squeezed: Mapping[str, str]
    """The flags by their letters alone."""

    def accepts(self, spelled: str, version: Version = ()) -> bool:
        """Return whether a release parses a flag; of an unknown one, whether some release does."""
        is_listed = spelled in self.table.spans and spelled not in OTHER_NAMES[self.engine]
        is_parsed = is_listed and not (version and self.table.lacks(spelled, version))
        return (
            is_parsed
            or spelled.startswith(_ALWAYS[self.engine])
            or any(
                not version or (version >= since and not self.table.lacks(flag, version))
                for flag, since in self._read_as(spelled)
            )
        )

    def having(self, spelled: str) -> str:
        """Return the releases that parse a flag, for a message; empty if none does."""
        for flag, since in self._read_as(spelled):
            (first, last), every = self.table.spans[flag], self.table.releases
            first = max(first, next((one for one in every if one >= since), first))
            if last == every[-1]:
                return f"{shown(first)} or later"
            return f"{shown(last)} or earlier" if first == every[0] else f"{shown(first)} to {shown(last)}"
        return ""

    def _read_as(self, spelled: str) -> Iterator[tuple[str, Version]]:
        """Yield the known flags that a flag stands for, each with the first release that reads it so.

        An abbreviation stands for each flag that begins so.
        """
        flag, dot, _ = spelled.partition(".")
        if self.engine in UNDERSCORED:
            flag = flag.replace("_", "-")
        since = DOTTED.get(self.engine, _NEVER) if dot else ()
        if flag in OTHER_NAMES[self.engine] or since == _NEVER:
            return
        if flag[1:2] != "-" and flag[:2] in self.table.spans:  # `-n2`
            flag = flag if flag in self.table.spans else flag[:2]
        negated = [(flag, since), (_positive(flag), since)][: 1 + flag.startswith(_NEGATED)]
        first = INVERSE.get(self.engine, _NEVER)
        inverse = [(to + flag.removeprefix(of), first) for of, to in _INVERSES if flag.startswith(of)]
        for begin, release in (*negated, *inverse):
            for at in range(bisect_left(self.ordered, begin), len(self.ordered)):
                if not self.ordered[at].startswith(begin):
                    break
                yield self.ordered[at], release

    def meant(self, spelled: str, version: Version) -> str:
        """Return the flag that an unaccepted one was meant to be; empty if this version has none like it."""
        if not _FLAG.fullmatch(spelled):
            return ""
        head, dot, rest = spelled.partition(".")
        found, own = self._near(head), head.replace("_", "-") if self.engine in UNDERSCORED else head
        is_there = found not in {"", own} and not (version and self.table.lacks(_positive(found), version))
        return found + dot + rest if is_there else ""

    def _near(self, spelled: str) -> str:
        dashed = spelled.replace("_", "-")
        flag = f"--{dashed.lstrip('-')}".lower()
        exact = OTHER_NAMES[self.engine].get(dashed) or self.squeezed.get(_squeezed(flag))
        if exact:
            return exact
        if (short := dashed.rstrip("0123456789")) in self.table.spans:  # `-tp8`
            return short
        found = self._near_word(_positive(flag))
        return _NEGATED + found.removeprefix("--") if found and flag.startswith(_NEGATED) else found

    def _near_word(self, flag: str) -> str:
        """Return the flag of which one word has other letters; empty if there is none."""
        words = _words(flag)
        known = [one for one in map(_words, self.ordered) if len(one) == len(words)]
        for at, word in enumerate(words):
            before, after = words[:at], words[at + 1 :]
            others = [one[at] for one in known if one[:at] == before and one[at + 1 :] == after]
            swapped = (one for one in others if sorted(one) == sorted(word))
            long = (one for one in others if min(len(one), len(word)) >= _SHORTEST)
            if meant := next(swapped, "") or nearest(word, long, RENAMED):
                return "--" + "-".join((*before, meant, *after))
        return ""


def spelling_of(engine: str, table: FlagTable) -> Spelling:
    """Return the lookups of a table of flags."""
    return Spelling(
        engine,
        table,
        tuple(sorted(table.spans)),
        {_squeezed(flag): flag for flag in table.spans if flag.startswith("--")},
    )


@cache
def _spelling(engine: str) -> Spelling:
    return spelling_of(engine, flag_tables()[engine])


class Unparsed(NamedTuple):
    """A flag that a release does not parse."""

    flag: Flag
    meant: str
    """The flag that it was meant to be; empty if there is none like it."""
    having: str
    """The releases that parse it, for a message; empty if none does."""


def unparsed(
    engine: str, version: Version, flags: tuple[Flag, ...], argv: tuple[str, ...]
) -> Iterator[Unparsed]:
    """Yield the flags of a command line that a release does not parse; only the first of them are compared.

    Of an unknown release, and one that is newer than the table, they are those that no release parses.
    """
    if engine not in OTHER_NAMES:
        return
    known, sought = _spelling(engine), 0
    judged = version if version <= known.table.releases[-1] else ()
    for flag in flags:
        spelled = argv[flag.at].partition("=")[0]
        if (flag.name[0] != "-" and not judged) or known.accepts(spelled, judged):
            continue
        having = known.having(spelled)
        if having or _FLAG.fullmatch(spelled):
            yield Unparsed(flag, _meant(engine, spelled, version), having)
        sought += 1
        if sought == SOUGHT:
            return


def is_listed(engine: str, version: Version) -> bool:
    """Return whether the table of an engine has the flags of a release."""
    return version in flag_tables()[engine].releases


@lru_cache(maxsize=1024)
def _meant(engine: str, spelled: str, version: Version) -> str:
    return _spelling(engine).meant(spelled, version)


# --- words --------------------------------------------------------------------------------------------


def _positive(flag: str) -> str:
    """Return the flag that a negated one negates; any other one unchanged."""
    return f"--{flag.removeprefix(_NEGATED)}" if flag.startswith(_NEGATED) else flag


def _words(flag: str) -> list[str]:
    return flag.removeprefix("--").split("-")


def _squeezed(flag: str) -> str:
    return flag.replace("-", "").replace("_", "").lower()
