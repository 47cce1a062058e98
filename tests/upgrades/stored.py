"""Objects as the API server stores them under an earlier release: the fixture of the upgrades.

`stored.jsonl.xz` has a line for each golden case and each state of it: what its author wrote, and everything
that is stored then, with statuses and owners of fields. The release at `COMMIT` expanded the objects and its
controller wrote the others (`hack/stored.py`, which alone writes the file). Every later release finds such
objects in clusters, so the file stays as it is. To read it: `xzcat tests/upgrades/stored.jsonl.xz`.
"""

import lzma
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import orjson

from intent import Object
from intent.annotations import EXPANSION

COMMIT: Final = "c558d28b"
FILE: Final = Path(__file__).parent / "stored.jsonl.xz"
APPLIED: Final = "applied"
SERVER_SIDE: Final = "server-side"
SCALED: Final = "scaled"
EDITED: Final = "edited"
WITHDRAWN: Final = "withdrawn"
EJECTED: Final = "ejected"
FORGED: Final = "forged"
OVERSIZED: Final = "oversized"
STATES: Final = (APPLIED, SERVER_SIDE, SCALED, EDITED, WITHDRAWN, EJECTED, FORGED, OVERSIZED)
"""What happened to the objects of a case:

    applied      kubectl applied the file
    server-side  kubectl applied it server-side
    scaled       as applied; then each LeaderWorkerSet got a replica more through its scale subresource
    edited       as applied; then another manager added a label to each object, and an annotation to pods
    withdrawn    as applied; then the author applied the file without our annotations, and the record was left
    ejected      as applied; then annotations and record were removed together, the InferenceService first
    forged       as applied; then somebody added a privileged init container to each record
    oversized    as server-side, of a file with a variable of half a megabyte in each engine; few cases
"""


@dataclass(frozen=True, slots=True, eq=False)
class Stored:
    """One case in one state. The objects must not be changed: tests share them."""

    case: str
    state: str
    written: tuple[Object, ...]
    """What the author wrote last, in the namespace of the case."""
    objects: tuple[Object, ...]
    """What is stored in that namespace."""

    def __str__(self) -> str:
        return f"{self.case}-{self.state}"

    @property
    def namespace(self) -> str:
        """The namespace of the objects."""
        return namespace_of(self.case, self.state)

    def of_kind(self, *kinds: str) -> list[Object]:
        """Return the objects of some kinds."""
        return [one for one in self.objects if one["kind"] in kinds]


def namespace_of(case: str, state: str) -> str:
    """Return the namespace in which the objects of a case in a state are stored."""
    return f"{case}-{state}"


@cache
def stored() -> tuple[Stored, ...]:
    """Read the fixture."""
    lines = map(orjson.loads, lzma.decompress(FILE.read_bytes()).splitlines())
    return tuple(
        Stored(one["case"], one["state"], tuple(one["written"]), tuple(one["objects"])) for one in lines
    )


def sample(those: Iterable[Stored]) -> tuple[Stored, ...]:
    """Return few that have every class that any of these has; the one that adds most is next."""
    classes = {one: set(_classes(one)) for one in those}
    left, kept = set[tuple[str, str]]().union(*classes.values()), list[Stored]()
    while left:
        kept.append(max(classes, key=lambda one: len(classes[one] & left)))
        left -= classes[kept[-1]]
    return tuple(kept)


def _classes(one: Stored) -> Iterator[tuple[str, str]]:
    """Yield the kinds that an author wrote in this state, and what any state has: kinds, parts, launchers."""
    yield from ((one.state, obj["kind"]) for obj in one.written)
    for obj in one.objects:
        record = orjson.loads(obj["metadata"].get("annotations", {}).get(EXPANSION, "{}"))
        for found in (obj["kind"], *record.get("parts", ()), *record.get("decided", {}).values()):
            yield "", found


def write(found: list[Stored]) -> None:
    """Write the fixture anew."""
    lines = [
        orjson.dumps(
            {"case": one.case, "state": one.state, "written": one.written, "objects": one.objects},
            option=orjson.OPT_SORT_KEYS,
        )
        for one in found
    ]
    FILE.write_bytes(lzma.compress(b"\n".join(lines), preset=9 | lzma.PRESET_EXTREME))
