"""A three-way merge of command and args: an edit of the launched arguments, made to the author's own.

The launcher wrote `injected` from what the author wrote, and it was edited. `transferred` makes the same edit
to the author's arguments, so that they are launched again:

    >>> author = Arguments(("vllm", "serve"), ("org/M", "-tp", "8"))
    >>> injected = Arguments(("ray",), ("symmetric-run", "--", "vllm", "serve", "org/M", "-tp", "8"))
    >>> edited = Arguments(("ray",), ("symmetric-run", "--", "vllm", "serve", "org/M", "-tp", "16"))
    >>> transferred(author, injected, edited)
    Arguments(command=('vllm', 'serve'), args=('org/M', '-tp', '16'))

An edit of what the launcher wrote has no counterpart:

    >>> edited = Arguments(("ray",), ("start", "--", "vllm", "serve", "org/M", "-tp", "8"))
    >>> transferred(author, injected, edited)

Texts are compared by the word, since a launch may be a shell script. The work is bounded: an edit of almost
every word has no counterpart either.
"""

import re
import string
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final, NamedTuple

from catalog.flags import shared_start

Words = tuple[str, ...]
_WORDS: Final = re.compile(r"\s+|[^\s]+")
_END_OF_ITEM: Final = " \0"
_END_OF_FIELD: Final = " \0\0"
"""No word has a space and another character."""
_BLANK: Final = string.whitespace + "\0"
LONGEST: Final = 2000
"""The limit of the words between the first and the last difference."""
WORK: Final = 400_000
"""The limit of the work of `SequenceMatcher`, which takes the third power of the number of words at worst."""


class Arguments(NamedTuple):
    """Command and args of a container; None where the field is absent."""

    command: Words | None
    args: Words | None


def transferred(author: Arguments, injected: Arguments, edited: Arguments) -> Arguments | None:
    """Make an edit of the injected arguments to the author's; None if it changes what the launcher wrote."""
    base, ours, theirs = (_words(arguments) for arguments in (injected, author, edited))
    places = _places(base, ours)
    edits = _edits(base, theirs)
    if places is None or edits is None:
        return None
    merged = list(ours)
    for start, end, words in reversed(edits):
        replaced = _range(places, start, end)
        if replaced is None or _takes_launched(base, places, end, words):
            return None
        merged[replaced[0] : replaced[1]] = words
    return _arguments(merged, author) if merged.count(_END_OF_FIELD) == len(author) else None


def _takes_launched(base: list[str], places: dict[int, int], end: int, words: list[str]) -> bool:
    """Return whether words end with a flag whose value would be the launcher's word behind them."""
    flag = next((word for word in reversed(words) if word.strip(_BLANK)), "")
    behind = next((position for position in range(end, len(base)) if base[position].strip(_BLANK)), None)
    is_value = behind is not None and behind not in places and not base[behind].startswith("-")
    return is_value and flag.startswith("-") and "=" not in flag


def _words(arguments: Arguments) -> list[str]:
    """Return all words, the spaces between them, and the ends of items and of the fields."""
    words: list[str] = []
    for field in arguments:
        for item in field or ():
            words += _WORDS.findall(item)
            words.append(_END_OF_ITEM)
        words.append(_END_OF_FIELD)
    return words


def _arguments(words: Sequence[str], like: Arguments) -> Arguments:
    """Return the fields; one that is empty stays absent where it was absent."""
    fields: list[list[str]] = [[]]
    item = ""
    for word in words:
        if word == _END_OF_FIELD:
            fields.append([])
        elif word == _END_OF_ITEM:
            fields[-1].append(item)
            item = ""
        else:
            item += word
    command, args = (
        tuple(new) if new or old is not None else None for new, old in zip(fields[:2], like, strict=True)
    )
    return Arguments(command, args)


def _edits(base: list[str], other: list[str]) -> list[tuple[int, int, list[str]]] | None:
    """Return what replaces which words of `base`; None if there is too much to compare."""
    start = shared_start(base, other)
    end = shared_start(base[start:][::-1], other[start:][::-1])
    middle, changed = base[start : len(base) - end], other[start : len(other) - end]
    if max(len(middle), len(changed)) > LONGEST:
        return None
    segments = [(0, len(middle), 0, len(changed))]
    if _work(segments) > WORK:
        segments = list(_segments(middle, changed))
        if _work(segments) > WORK:
            return None
    pairs = ((offset, to, middle[offset:below], changed[to:under]) for offset, below, to, under in segments)
    return [
        (start + offset + i, start + offset + j, changed[to + k : to + m])
        for offset, to, old, new in pairs
        for kind, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        if kind != "equal"
    ]


Segment = tuple[int, int, int, int]
"""The start and the end of a range in one list, and of its counterpart in the other."""


def _work(segments: list[Segment]) -> int:
    """Return the cost of comparing segments, at worst."""
    sizes = ((below - start, under - to) for start, below, to, under in segments)
    return sum(size * other * min(size, other) for size, other in sizes)


def _segments(base: list[str], other: list[str]) -> Iterator[Segment]:
    """Yield the ranges between words that both have once, in the same order (patience diff)."""
    start = to = 0
    for here, there in (*_anchors(base, other), (len(base), len(other))):
        if here > start or there > to:
            yield start, here, to, there
        start, to = here + 1, there + 1


def _anchors(base: list[str], other: list[str]) -> list[tuple[int, int]]:
    """Return the positions of words that both have once: the longest sequence with the same order."""
    here, there = Counter(base), Counter(other)
    places = {word: place for place, word in enumerate(other) if there[word] == 1}
    pairs = [(place, places[word]) for place, word in enumerate(base) if here[word] == 1 and word in places]
    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for number, (_, to) in enumerate(pairs):
        length = bisect_left(ends, to)
        before.append(last[length - 1] if length else -1)
        ends[length : length + 1] = [to]
        last[length : length + 1] = [number]
    anchors: list[tuple[int, int]] = []
    number = last[-1] if last else -1
    while number >= 0:
        anchors.append(pairs[number])
        number = before[number]
    return anchors[::-1]


def _places(base: list[str], ours: list[str]) -> dict[int, int] | None:
    """Return which of the author's words each injected word is; None if there is too much to compare."""
    edits = _edits(base, ours)
    if edits is None:
        return None
    places: dict[int, int] = {}
    first = shift = 0
    for start, end, words in (*edits, (len(base), len(base), [])):
        places.update((word, word + shift) for word in range(first, start))
        first, shift = end, shift + len(words) - (end - start)
    return places


def _range(places: dict[int, int], start: int, end: int) -> tuple[int, int] | None:
    """Return the author's words that are those of a range; for an empty one, the place between two words."""
    if start < end:
        first = places.get(start)
        is_whole = first is not None and all(places.get(i) == first + i - start for i in range(start, end))
        return (first, first + end - start) if first is not None and is_whole else None
    if start in places:
        return places[start], places[start]
    before = places.get(start - 1)
    return None if before is None else (before + 1, before + 1)
