"""What a mistyped name was probably meant to be."""

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import Final

SOUGHT: Final = 10
"""For so many names of one object it is sought: to compare texts is dear, and nobody reads more."""


def nearest(unknown: Iterable[tuple[str, Iterable[str]]]) -> Iterator[str]:
    """For each name, and what is known in its place, give the known one that is most like it, or nothing."""
    for at, (name, known) in enumerate(unknown):
        close = get_close_matches(name, list(known), n=1, cutoff=0.5) if at < SOUGHT else ()
        yield close[0] if close else ""
