"""The rooms of the tree in lines of Python, with blank lines and docstrings, beside what they may have.

A commit that makes a room larger than it may be either deletes something or raises its row, and says why.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[1]


class Room(NamedTuple):
    """A room: its packages, the lines that it may have now, and those that it is to have (design)."""

    packages: tuple[str, ...]
    most: int
    goal: int


ROOMS: Final[Mapping[str, Room]] = {
    "webhook": Room(("webhook",), 10_460, 8_100),
    "intent": Room(("intent",), 8_698, 9_100),
    "catalog": Room(("catalog",), 1_865, 2_300),
    "controller": Room(("sync", "kube", "certs"), 9_242, 8_100),
    "command": Room(("fusioninfer", "server", "importer", "plan"), 9_881, 10_000),
    "tests": Room(("tests",), 83_949, 70_000),
    "hack": Room(("hack",), 4_058, 3_900),
}


def lines(room: Room) -> int:
    """Return how many lines the modules of a room have."""
    paths = (path for package in room.packages for path in (ROOT / package).rglob("*.py"))
    return sum(path.read_bytes().count(b"\n") for path in paths)


def table() -> str:
    """Return a row for each room."""
    rows = (f"{name:10} {lines(room):7,} {room.most:7,} {room.goal:7,}" for name, room in ROOMS.items())
    return "\n".join((f"{'room':10} {'lines':>7} {'at most':>7} {'goal':>7}", *rows))


def crowded() -> Iterator[str]:
    """Yield what to do about each room that has more lines than it may."""
    for name, room in ROOMS.items():
        if (excess := lines(room) - room.most) > 0:
            remedy = "delete some, or raise its row in hack/rooms.py and say why"
            yield f"{name} has {excess} lines too many: {remedy}."
