"""Flags that a release of an engine does not parse: which releases do, and which flag was meant.

A flag is parsed as written, abbreviated, negated or dotted, as far as the releases of the table do so. What
no release parses may be the flag of a newer one or of a plugin, so what was meant is said of two kinds
alone: a flag that differs from a known one in hyphens, underscores or capitals, and a name that only other
engines have for the same setting.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from catalog.engines import Version, shown
from catalog.flags import OTHER_NAMES, FlagTable, flag_tables
from intent.command_line.flags import Flag
from intent.errors import SOUGHT

FLEXIBLE: Final = "vllm"
"""The engine that reads `_` as `-`, and `--flag.key` (`FlexibleArgumentParser`)."""
_INVERSE: Final[Version] = (0, 33, 0)
"""Its first release that reads `--disable-x` for `--enable-x`, and the other way round."""
_ALWAYS: Final = {"vllm": ("-O", "--help"), "sglang": ("--help",)}
"""Beginnings of arguments that each release of an engine reads although no table has them."""
_FLAG: Final = re.compile(r"--?[A-Za-z][A-Za-z0-9_.-]{1,63}")
"""A flag of no release: without the blanks, quotes and dollar signs of a shell."""
_NEGATED: Final = "--no-"


@dataclass(frozen=True, slots=True)
class Spelling:
    """The flags of one engine, for lookups."""

    engine: str
    table: FlagTable

    def accepts(self, spelled: str, version: Version = ()) -> bool:
        """Return whether a release parses a flag; of an unknown one, whether some release does."""
        is_listed = spelled in self.table.spans and spelled not in OTHER_NAMES[self.engine]
        if is_listed and not (version and self.table.lacks(spelled, version)):  # as nearly all are
            return True
        is_inverted = self.engine == FLEXIBLE and (not version or version >= _INVERSE)
        inverse = self.read_as(_inverse(spelled)) if is_inverted else ()
        return spelled.startswith(_ALWAYS[self.engine]) or any(
            not version or not self.table.lacks(flag, version) for flag in (*self.read_as(spelled), *inverse)
        )

    def having(self, spelled: str) -> str:
        """Return the releases that parse a flag, for a message; empty if none does."""
        for flag in self.read_as(spelled):
            (first, last), every = self.table.spans[flag], self.table.releases
            if last == every[-1]:
                return f"{shown(first)} or later"
            return f"{shown(last)} or earlier" if first == every[0] else f"{shown(first)} to {shown(last)}"
        inverse = self.read_as(_inverse(spelled)) if self.engine == FLEXIBLE else ()
        is_there = any(not self.table.lacks(flag, _INVERSE) for flag in inverse)
        return f"{shown(_INVERSE)} or later" if is_there else ""

    def read_as(self, spelled: str) -> Iterator[str]:
        """Yield the known flags that a flag stands for, itself first; an abbreviation, all that begin so."""
        known, flag = self.table.spans, self._dashed(spelled.partition(".")[0])
        if (self.engine != FLEXIBLE and "." in spelled) or flag in OTHER_NAMES[self.engine]:
            return
        if flag in known:
            yield flag
        elif flag[1:2] != "-" and flag[:2] in known:  # `-n2`
            flag = flag[:2]
        for begin in dict.fromkeys((flag, _positive(flag))):
            yield from self.table.beginning(begin)

    def meant(self, spelled: str, version: Version) -> str:
        """Return the flag that an unaccepted one was meant to be; empty if this version has none like it."""
        head, dot, rest = spelled.partition(".")
        flag = self._near(head) if _FLAG.fullmatch(spelled) else ""
        is_there = flag not in {"", self._dashed(head)}
        lacks = is_there and version and self.table.lacks(_positive(flag), version)
        return flag + dot + rest if is_there and not lacks else ""

    def _dashed(self, flag: str) -> str:
        return flag.replace("_", "-") if self.engine == FLEXIBLE else flag

    def _near(self, spelled: str) -> str:
        """Return the flag of another name, or with other hyphens or capitals; empty if there is none."""
        known, dashed = self.table.spans, spelled.replace("_", "-")
        alike = (flag for flag in known if flag[:2] == "--" and _squeezed(flag) == _squeezed(dashed))
        short = dashed.rstrip("0123456789")  # `-tp8`
        return OTHER_NAMES[self.engine].get(dashed) or next(alike, "") or (short if short in known else "")


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
    known, sought = Spelling(engine, flag_tables()[engine]), 0
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
    return Spelling(engine, flag_tables()[engine]).meant(spelled, version)


# --- words --------------------------------------------------------------------------------------------


def _positive(flag: str) -> str:
    """Return the flag that a negated one negates; any other one unchanged."""
    return f"--{flag.removeprefix(_NEGATED)}" if flag.startswith(_NEGATED) else flag


def _inverse(flag: str) -> str:
    """Return the flag that switches the same on or off the other way; any other one unchanged."""
    if flag.startswith("--enable-"):
        return flag.replace("--enable-", "--disable-", 1)
    return flag.replace("--disable-", "--enable-", 1)


def _squeezed(flag: str) -> str:
    return flag.replace("-", "").replace("_", "").lower()
