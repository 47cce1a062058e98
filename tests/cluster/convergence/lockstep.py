"""One sequence of writes in the simulation, and again on the real API server with real clients.

The simulation runs first. Its writes are then made by real clients. After each step, both stored objects and
the owners of their fields equal the simulated ones, and the law has the same outcome. A write that the
simulated API server refuses, or our validating webhook denies, is sent to that side alone, and fails there.

The templates of a step are put into the namespace of B (`library`).
"""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final, Literal

from intent import Object
from tests.cluster.convergence.clients import RESOURCE, RefusedError, send, stored
from tests.cluster.convergence.placed import Place, owners, placed, written
from tests.cluster.convergence.servers import EXPANDING, WITH, WITHOUT, Servers
from tests.cluster.testbed.api import create, delete, path
from tests.laws.convergence import laws
from tests.laws.convergence.clients import Write
from tests.laws.convergence.managed import managers_of, without_managers
from tests.laws.convergence.templates import FIRST, LIBRARIES, TEMPLATES
from tests.laws.convergence.walk import COMPARED, Sequence, Taken, run

Answer = Literal["sent", "denied", "refused"]
DENIED: Final = re.compile(r"^(?!Warning: ).*\(FI\d{3}\)", re.MULTILINE)
"""A code in what a client says, apart from warnings: our validating webhook denied a write."""


@dataclass(slots=True)
class Result:
    """What a sequence showed on the real API server."""

    number: int
    sequence: Sequence
    steps: list[tuple[str, str]] = field(default_factory=list)
    """Each step and its outcome."""
    differences: list[str] = field(default_factory=list)
    """Where the real object differs from the simulated one; the sequence ends there."""
    violation: str = ""
    """The violated law, and what is wrong."""

    def __str__(self) -> str:
        """Return the sequence up to its end, with what is wrong, after its number."""
        steps = self.sequence.up_to(max(len(self.steps) - 1, 0))
        wrong = [*self.differences, *filter(None, [self.violation])]
        return "\n".join((f"{self.number}:", str(steps), *wrong))


def repeat(servers: Servers, number: int, sequence: Sequence) -> Result:
    """Run a sequence in the simulation and in the cluster; stop at the first difference."""
    result = Result(number, sequence)
    sides = {
        side: Place(servers, servers.namespace(side, sequence.other), f"s{number}")
        for side in (WITHOUT, WITH, EXPANDING)
    }
    if servers.library:
        servers.library.put(sides[WITH].namespace, LIBRARIES[FIRST])
    try:
        for at, taken in enumerate(run(sequence).taken):
            differences = [f"step {at}, {one}" for one in _differences(sides, taken, at, result)]
            result.steps.append((f"{taken.step.client}: {taken.step.change}", taken.outcome))
            result.differences += differences
            if differences:
                break
    finally:
        for side in (WITHOUT, WITH):
            place = sides[side]
            delete(servers.cluster.api, path(RESOURCE, place.namespace, place.name))
    return result


def _differences(sides: dict[str, Place], taken: Taken, at: int, result: Result) -> Iterator[str]:
    """Take a step in the cluster; yield what differs from the simulation."""
    if taken.step.client == TEMPLATES:
        assert sides[WITH].servers.library
        sides[WITH].servers.library.put(sides[WITH].namespace, LIBRARIES[taken.step.value])
        return
    expected = _answers(taken)
    places = (sides[WITHOUT], sides[WITH])
    with ThreadPoolExecutor(2) as pool:
        writes = zip(places, taken.writes, expected, strict=True)
        pending = [pool.submit(_answer, place, write, at) for place, write, each in writes if each]
        answers = [one.result() for one in pending]
        reading = [pool.submit(stored, place) for place in places]
        a, b = (one.result() for one in reading)
    for wanted, (answer, said) in zip(filter(None, expected), answers, strict=True):
        if wanted != answer:
            yield f"{wanted} in the simulation, {answer} in the cluster: {said}"
    yield from (f"A: {one}" for one in compared(taken.a, a))
    yield from (f"B: {one}" for one in compared(taken.b, b))
    if a is not None and b is not None and taken.outcome in (*COMPARED, "side laws", "violated"):
        yield from _judged(sides[EXPANDING], taken, (a, b), result)


def _answers(taken: Taken) -> tuple[Answer | None, Answer | None]:
    """Return what A's and B's servers answer in the simulation; None where nothing is sent."""
    if taken.outcome == "denied":
        return None, "denied"
    if taken.outcome == "refused":
        return "refused", None
    if taken.law == "refused by the schema":
        return None, "refused"
    return "sent", "sent"


def _answer(place: Place, write: Write | None, turn: int) -> tuple[Answer, str]:
    """Make a write, and return how it was answered, with what the client said."""
    if write is None:
        return "sent", ""
    try:
        send(place, write, turn)
    except RefusedError as error:
        return ("denied" if DENIED.search(str(error)) else "refused"), str(error)
    return "sent", ""


# --- the comparison -----------------------------------------------------------------------------------


def compared(simulated: Object | None, real: Object | None) -> Iterator[str]:
    """Yield the differences of a simulated and a real object: what was written, and the owners of fields."""
    if simulated is None or real is None:
        if simulated is not real:
            yield f"there is one in the {'cluster' if simulated is None else 'simulation'} only"
        return
    one, other = written(simulated), written(real)
    yield from laws.difference(one, other)
    if one != other:
        return
    mine, theirs = managers_of(simulated), owners(real)
    for manager in sorted(mine.keys() | theirs.keys()):
        had, has = mine.get(manager, frozenset()), theirs.get(manager, frozenset())
        for title, fields in (("owns", has - had), ("does not own", had - has)):
            if fields:
                yield f"{manager} {title} {sorted(fields, key=str)[:6]} in the cluster"


def _judged(expanding: Place, taken: Taken, real: tuple[Object, Object], result: Result) -> Iterator[str]:
    """Check the law on the real objects; yield the difference if the simulation decided otherwise.

    A CREATE has no stored order. Where the simulation compared in that, the real object, which equals the
    simulated one, may have it.
    """
    a, b = real
    expected = None if taken.is_loose else _expanded(expanding, a, taken)
    law, detail = laws.violation(written(b), expected, taken.excused)
    if law == "order" and taken.outcome == "compared in stored order":
        law = ""
    if law:
        result.violation = f"{law}: {detail}"
    if law != taken.law:
        yield f"violated in the simulation: {taken.law or 'none'}; in the cluster: {law or 'none'} {detail}"


def _expanded(expanding: Place, a: Object, taken: Taken) -> Object | None:
    """Return what B should hold: a CREATE of A's object with our webhooks, and the changes of B alone."""
    api, where = expanding.servers.cluster.api, path(RESOURCE, expanding.namespace)
    if expanding.servers.library:
        expanding.servers.library.put(expanding.namespace, taken.content)
    bare = {"apiVersion": a["apiVersion"], "kind": a["kind"], **placed(written(a), expanding)}
    made = written(create(api, where, without_managers(bare), dryRun="All"))
    return made if all(change(made) for change in taken.delta) else None
