"""Misspelt flags: the known flag that an unknown one was meant to be.

Only what is almost a known flag is reported. An unknown flag may be that of a newer release or of a plugin,
so a flag that differs in a whole word is never one: `--enable-eplb` is not `--enable-lora`. A misspelt flag
differs from a known one in the letters of one word, in hyphens, underscores or capitals, or is a name that
only other engines have for the same setting.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final, NamedTuple
from unicodedata import category

from catalog.engines import Version
from catalog.flags import OTHER_NAMES, FlagTable, flag_tables
from intent.command_line.flags import Flag
from intent.errors import SOUGHT

LONGEST_ITEM: Final = 4096
"""The characters of a list item that are searched for flags."""
_SHOWN: Final = 40
UNDERSCORED: Final = frozenset({"vllm"})
"""Engines that read `_` in a flag as `-`."""
_FLAG: Final = re.compile(r"--?[A-Za-z][A-Za-z0-9_.-]{1,63}")
"""A misspelt flag: without the blanks, quotes and dollar signs of a shell."""
_NEGATED: Final = "--no-"
_SHORTEST: Final = 5
"""Letters of the shortest word in which one may be wrong; shorter words are too alike."""
_TWICE: Final = 9
"""Letters of the shortest word in which two may be wrong."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """The flags of one engine, for lookups."""

    table: FlagTable
    others: Mapping[str, str]
    """Names that it does not accept, each with its own flag."""
    underscored: bool
    ordered: tuple[str, ...]
    squeezed: Mapping[str, str]
    """The flags by their letters alone."""
    masked: Mapping[tuple[str, ...], tuple[str, ...]]
    """By the words of a flag with one of them left empty: the words that known flags have there."""

    def accepts(self, spelled: str) -> bool:
        """Return whether a release accepts a flag: as written, abbreviated, negated, or dotted."""
        flag = spelled.partition(".")[0]
        if self.underscored:
            flag = flag.replace("_", "-")
        if flag in self.table.spans:
            return True
        if flag in self.others:
            return False
        flag = _positive(flag)
        at = bisect_left(self.ordered, flag)
        return at < len(self.ordered) and self.ordered[at].startswith(flag)

    def meant(self, spelled: str, version: Version) -> str:
        """Return the flag that an unaccepted one was meant to be; empty if this version has none like it."""
        if not _FLAG.fullmatch(spelled):
            return ""
        head, dot, rest = spelled.partition(".")
        found = self._near(head)
        return found + dot + rest if found and self._has(_positive(found), version) else ""

    def _has(self, flag: str, version: Version) -> bool:
        """Return whether a version has a flag, as far as the releases that were read show."""
        first, last = self.table.spans[flag]
        return not version or (first <= version and (version <= last or last == self.table.releases[-1]))

    def _near(self, spelled: str) -> str:
        dashed = spelled.replace("_", "-")
        flag = f"--{dashed.lstrip('-')}".lower()
        exact = self.others.get(dashed) or self.squeezed.get(_squeezed(flag))
        if exact:
            return exact
        found = self._near_word(_positive(flag))
        return _NEGATED + found.removeprefix("--") if found and flag.startswith(_NEGATED) else found

    def _near_word(self, flag: str) -> str:
        """Return the flag of which one word has other letters; empty if there is none."""
        for mask, word in _masks(flag):
            for other in self.masked.get(mask, ()):
                if _is_typo(word, other):
                    return "--" + "-".join(part or other for part in mask)
        return ""


def spelling_of(engine: str, table: FlagTable) -> Spelling:
    """Return the lookups of a table of flags."""
    masked: dict[tuple[str, ...], set[str]] = {}
    for flag in table.spans:
        for mask, word in _masks(flag):
            masked.setdefault(mask, set()).add(word)
    return Spelling(
        table,
        OTHER_NAMES[engine],
        engine in UNDERSCORED,
        tuple(sorted(table.spans)),
        {_squeezed(flag): flag for flag in table.spans if flag.startswith("--")},
        {mask: tuple(sorted(words)) for mask, words in masked.items()},
    )


@cache
def _spelling(engine: str) -> Spelling:
    return spelling_of(engine, flag_tables()[engine])


def misspelt(
    engine: str, version: Version, flags: tuple[Flag, ...], argv: tuple[str, ...]
) -> Iterator[tuple[Flag, str]]:
    """Yield the misspelt flags of a command line, each with the flag that was meant.

    Only flags that no dialect reads are looked up, and only the first of the unknown ones are compared.
    """
    sought = 0
    for flag in flags if engine in OTHER_NAMES else ():
        if flag.name[0] != "-" or _spelling(engine).accepts(spelled := argv[flag.at].partition("=")[0]):
            continue
        if meant := _meant(engine, spelled, version):
            yield flag, meant
        sought += 1
        if sought == SOUGHT:
            return


def knows_all(engine: str, flags: tuple[Flag, ...], argv: tuple[str, ...]) -> bool:
    """Return whether some release of an engine accepts each flag of a command line."""
    unread = (flag for flag in flags if flag.name[0] == "-")
    return all(_spelling(engine).accepts(argv[flag.at].partition("=")[0]) for flag in unread)


@lru_cache(maxsize=1024)
def _meant(engine: str, spelled: str, version: Version) -> str:
    return _spelling(engine).meant(spelled, version)


def is_flag_of(engine: str, word: str) -> bool:
    """Return whether a word is a flag of an engine, written in full."""
    return word in flag_tables()[engine].spans


# --- dashes -------------------------------------------------------------------------------------------


class Dashed(NamedTuple):
    """Arguments that are meant to be a flag, and that no engine reads as one."""

    at: int
    stop: int
    """The index after its name and its value."""
    meant: str
    cause: str


def dashed(engine: str, argv: tuple[str, ...], start: int, bare: tuple[int, ...]) -> Iterator[Dashed]:
    """Yield flags that begin with a typographic dash, or whose dashes are a word of their own."""
    for at in (at for at in range(start, len(argv)) if _is_dash(argv[at][:1])):
        word, *others = argv[at][:LONGEST_ITEM].split(None, 2)
        following = others[0] if others else argv[at + 1] if at + 1 < len(argv) else ""
        name = _undashed(word)
        if meant := _torn(engine, word, following):
            gap = "a blank or line break" if others else "the end of the item"
            cause = f"{gap} is between {word} and {following[:_SHOWN]}"
            yield Dashed(at, at + (2 if others else 3), meant, cause)
        elif at in bare and word[0] != "-" and name:
            cause = f"begins with a typographic dash, so {name[:_SHOWN]} is not read as a flag"
            yield Dashed(at, at + 2, f"--{name}", cause)


def _is_dash(char: str) -> bool:
    """Return whether a character is a dash of any kind: `-`, or what editors and web pages write for it."""
    return bool(char) and (char in "-\N{MINUS SIGN}" or category(char) == "Pd")


def _undashed(word: str) -> str:
    """Return a word without the dashes before it."""
    return word[next((at for at, char in enumerate(word) if not _is_dash(char)), len(word)) :]


def _torn(engine: str, first: str, second: str) -> str:
    """Return the flag of which two words are the dashes and the name: `--` and `port`; empty if none."""
    name = _undashed(second)
    if _undashed(first) or len(first) + len(second) - len(name) > len("--"):
        return ""
    spelled = name.partition("=")[0].replace("_", "-")
    known = (dashes for dashes in ("--", "-") if is_flag_of(engine, dashes + spelled))
    return next((dashes + name for dashes in known), "")


# --- words --------------------------------------------------------------------------------------------


def _positive(flag: str) -> str:
    """Return the flag that a negated one negates; any other one unchanged."""
    return f"--{flag.removeprefix(_NEGATED)}" if flag.startswith(_NEGATED) else flag


def _masks(flag: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield a flag's words with one of them left empty, and that word, for each of them."""
    words = tuple(flag.removeprefix("--").split("-"))
    for at, word in enumerate(words):
        yield (*words[:at], "", *words[at + 1 :]), word


def _squeezed(flag: str) -> str:
    return flag.replace("-", "").replace("_", "").lower()


def _is_typo(word: str, known: str) -> bool:
    """Return whether words differ in one letter, in two if they are long, or in the order of two letters."""
    shorter = min(len(word), len(known))
    most = 0 if shorter < _SHORTEST else 1 if shorter < _TWICE else 2
    if sorted(word) == sorted(known):
        most = max(most, 1)
    return most > 0 and abs(len(word) - len(known)) <= most and _distance(word, known) <= most


def _distance(one: str, other: str) -> int:
    """Return the number of letters to insert, remove, replace or swap (optimal string alignment)."""
    before: list[int] = []
    last = list(range(len(other) + 1))
    for at, letter in enumerate(one, 1):
        row = [at]
        for to, target in enumerate(other, 1):
            cost = min(last[to] + 1, row[-1] + 1, last[to - 1] + (letter != target))
            if at > 1 and to > 1 and letter == other[to - 2] and one[at - 2] == target:
                cost = min(cost, before[to - 2] + 1)
            row.append(cost)
        before, last = last, row
    return last[-1]
