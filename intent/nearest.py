"""What a mistyped name was probably meant to be."""

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from itertools import islice
from typing import Final

LIKE: Final = 0.5
"""How much a name must be like a known one, from 0 to 1 (`difflib`)."""
LONGEST: Final = 64
"""Longer names are not compared: the time grows with the product of both lengths."""
MANY: Final = 64
"""With so many known names one is compared."""
SOUGHT: Final = 10
"""For so many names of one object it is sought: to compare texts is dear, and nobody reads more."""


def nearest(name: str, known: Iterable[str], like: float = LIKE) -> str:
    """Give the known name that is most like one; empty if none is like it.

    Likeness is twice the letters in common by all letters, so what is much longer need not be compared.
    """
    if len(name) > LONGEST:
        return ""
    fits = (one for one in known if len(name) <= len(one) * (2 / like - 1) and len(one) <= LONGEST)
    comparable = list(islice(fits, MANY))
    close = get_close_matches(name, comparable, n=1, cutoff=like) if comparable else ()
    return close[0] if close else ""


def each_nearest(unknown: Iterable[tuple[str, Iterable[str]]]) -> Iterator[str]:
    """Give the nearest for each name, and what is known in its place; of many names for the first alone."""
    for at, (name, known) in enumerate(unknown):
        yield nearest(name, known) if at < SOUGHT else ""


def suggested(meant: str) -> str:
    """Ask for a name behind what is wrong with another one; of none say nothing."""
    return f"; did you mean {meant}?" if meant else ""
