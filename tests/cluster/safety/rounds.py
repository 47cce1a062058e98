"""Rounds: faults begin, a new service is made, people go on with their work, the faults end; then the law.

The law: no pod of a live service is started anew, and none of its objects is deleted. A new service of an
innocent tenant is served soon after the faults, or while they last if they do not concern it. What was
changed by hand is repaired. When all is well, nothing is written any more. No controller ends by an error.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from random import Random
from typing import Final

from tests.cluster.chaos.people import Service
from tests.cluster.safety.faults import BY_HAND, KINDS, ROLES, Kind, innocent
from tests.cluster.safety.scene import NotTakenError, Scene, until
from tests.cluster.testbed.ours import is_expanded

HELD: Final = (1.5, 3.0)
"""Seconds that faults last, at least and at most."""
QUIET: Final = 1.5
"""Seconds without a write that count as idle."""
MOST: Final = 4
"""Faults at once."""
DELETED: Final = "configurations deleted"


@dataclass(frozen=True, slots=True)
class Round:
    """One round: which faults, for how long, which new services; and the seed of what they choose."""

    number: int
    kinds: tuple[Kind, ...]
    held: float
    services: tuple[Service, ...]
    seed: str

    @property
    def names(self) -> frozenset[str]:
        """The names of the kinds of faults."""
        return frozenset(kind.name for kind in self.kinds)


@dataclass(slots=True)
class Tally:
    """The results of all rounds."""

    rounds: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    pods: int = 0
    objects: int = 0
    violations: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def __str__(self) -> str:
        """Sum it up in a line for each thing."""
        by_kind = ", ".join(f"{name} {count}" for name, count in sorted(self.faults.items()))
        longest = max(self.seconds, default=0.0)
        mean = sum(self.seconds) / max(1, len(self.seconds))
        return (
            f"summary: {self.rounds} rounds (mean {mean:.1f} s, longest {longest:.1f} s), "
            f"{self.pods} pods and {self.objects} objects watched, {len(self.violations)} violations\n"
            f"summary: faults: {by_kind}"
        )


# --- choosing -------------------------------------------------------------------------------------------


def rounds(seed: int, count: int) -> Iterator[Round]:
    """Choose rounds: every kind of fault comes before one comes again. Every third round is bearable."""
    random = Random(seed)  # noqa: S311 - chooses what to break
    decks: dict[bool, list[Kind]] = {True: [], False: []}
    for number in range(1, count + 1):
        chosen = _dealt(decks, random, bearable=number % 3 == 0)
        yield one_round(number, chosen, random)


def one_round(number: int, kinds: tuple[Kind, ...], random: Random) -> Round:
    """Make a round of some kinds of faults. Without admission only InferenceServices wait for it."""
    shapes = ("rendered",) if DELETED in {kind.name for kind in kinds} else ("workers", "rendered")
    services = tuple(Service(f"new-{number:03}-{shape}", shape, there=True) for shape in shapes)
    return Round(number, kinds, random.uniform(*HELD), services, f"{random.random()}")


def _dealt(decks: dict[bool, list[Kind]], random: Random, *, bearable: bool) -> tuple[Kind, ...]:
    """Draw the next kinds of faults from a shuffled deck; two that undo each other are never combined."""
    chosen: list[Kind] = []
    for _ in range(random.randint(2, MOST)):
        if not decks[bearable]:
            decks[bearable] = random.sample(
                kinds := [kind for kind in KINDS if kind.bearable == bearable], len(kinds)
            )
        taken = {kind.name for kind in chosen}
        if decks[bearable][-1].name in taken or ({decks[bearable][-1].name, *taken} >= ROLES):
            break
        chosen.append(decks[bearable].pop())
    return tuple(chosen)


# --- playing --------------------------------------------------------------------------------------------


def play(scene: Scene, one: Round, say: Callable[[str], None], tally: Tally) -> list[str]:
    """Play a round; say what is against the law."""
    random, began = Random(one.seed), time.monotonic()  # noqa: S311 - chooses what to break
    wrong: list[str] = []
    _attempt(wrong, lambda: _faults(scene, one, random, say, wrong))
    _attempt(wrong, lambda: _recover(scene, one))
    wrong += scene.crashed()
    if deleted := scene.unlawful():
        wrong.append(f"deleted: {', '.join(map(str, deleted))}")
    scene.license(*(service.name for service in one.services))
    _attempt(wrong, lambda: scene.insist(*_deleted(one.services)))
    wrong += [f"{each} are not watched" for each in sorted(scene.witness.unwatched)]
    tally.rounds, seconds = tally.rounds + 1, time.monotonic() - began
    tally.faults.update(one.names)
    tally.seconds.append(seconds)
    tally.violations += [f"round {one.number}: {each}" for each in wrong]
    say(f"round {one.number}: {'well' if not wrong else '; '.join(wrong)} after {seconds:.1f} s")
    return wrong


def _attempt(wrong: list[str], act: Callable[[], None]) -> None:
    """Do a part of a round; what goes wrong is noted, and the others follow."""
    try:
        act()
    except (AssertionError, NotTakenError, TimeoutError) as error:
        wrong.append(str(error))


def _faults(scene: Scene, one: Round, random: Random, say: Callable[[str], None], wrong: list[str]) -> None:
    """Have all faults at once for a while; those by hand begin first and end last."""
    ordered = sorted(one.kinds, key=lambda kind: kind.name not in BY_HAND)
    bearable = all(kind.bearable for kind in one.kinds)
    with ExitStack() as stack:
        told = [stack.enter_context(kind.act(scene, random)) for kind in ordered]
        scene.apply(*one.services, insist=False)
        told.append(innocent(scene, random, one.names))
        say(f"round {one.number}: {'; '.join(told)}")
        scene.rest(one.held)
        if bearable:
            _attempt(wrong, lambda: _become_served(scene, one, "meanwhile"))


def _recover(scene: Scene, one: Round) -> None:
    """Wait until all is well again: the new service is served, what was there is whole, nobody writes."""
    until(scene, lambda: is_expanded(scene.cluster), "admission is back")
    scene.apply(*one.services)
    _become_served(scene, one, "afterwards")
    try:
        until(scene, lambda: not scene.unwell(), "the live services are well")
    except TimeoutError as error:
        raise TimeoutError(f"{error}: {'; '.join(scene.unwell())}") from error
    until(scene, lambda: _is_quiet(scene), "nothing is written")


def _become_served(scene: Scene, one: Round, when: str) -> None:
    for service in one.services:
        until(scene, lambda: scene.is_served(service), f"{service.name} is served {when}")  # noqa: B023 - at once


def _is_quiet(scene: Scene) -> bool:
    """Return whether no controller writes about services for a while."""
    began = time.monotonic()
    scene.rest(QUIET)
    return not scene.writes(scene.namespace, began)


def _deleted(services: tuple[Service, ...]) -> tuple[str, ...]:
    resources = {"rendered": "inferenceservices", "workers": "leaderworkersets"}
    names = (f"{resources[service.shape]}/{service.name}" for service in services)
    return ("delete", "--ignore-not-found", "--wait=false", *names)
