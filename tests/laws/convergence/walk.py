"""One sequence of writes on two servers: A without our webhooks, and B with them.

After each step `stored(B) == expand(stored(A))` (`laws`). A write that the API server of A refuses is sent
to neither; one that B's refuses by its schema, where A accepts it, is a violation; one that our validating
webhook denies leaves both unchanged. A violation ends a sequence, or the object is created anew on both.
"""

import copy
from collections.abc import Sequence as Several
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Final, Literal

from intent import Object
from intent.annotations import EXPANSION
from intent.template import Templates
from tests.laws.convergence import clients, laws, managed
from tests.laws.convergence.clients import BY_HAND, EXPORTED, SCALE, TOOLS, Write
from tests.laws.convergence.files import (
    EXPORT,
    PREFIX,
    File,
    changed,
    described,
    draw_change,
    draw_file,
    exported,
    manifest,
    simpler,
)
from tests.laws.convergence.hands import HANDS, RARE, TEMPLATES, Change, Hand
from tests.laws.convergence.managed import without_managers
from tests.laws.convergence.releases import RELEASES
from tests.laws.convergence.schema import LIST_KEYS, Refused, copied
from tests.laws.convergence.server import Denied, Engine, Lost, Server, Unstable, allow
from tests.laws.convergence.templates import FIRST, LIBRARIES, is_read
from tests.laws.convergence.unknowable import APPLY, RETURNED, Side, unknowable, unproven, unseen, with_leader

STALE: Final = "an older expanded file"
"""The client of a step that writes what the object was after an earlier step, with its record, by a tool."""
OTHERS: Final = ("", "", "before", "after")
HABITS: Final = (*((tool,) for tool in TOOLS), TOOLS[:3])
"""What an author uses in one sequence: one tool, or each of those without a state of its own."""
SHARES_BY_HAND: Final = (0.0, 0.0, 0.3, 0.6)
"""The share of changes by hand in one sequence."""
SHARE_RARE: Final = 0.15
"""The share of changes by hand that are rare ones."""

COMPARED: Final = ("compared", "compared in stored order")
Outcome = Literal[
    "compared", "compared in stored order", "side laws", "denied", "refused", "no write", "violated"
]


@dataclass(frozen=True, slots=True)
class Step:
    """One write: the client, and the change of the file or of the stored object."""

    client: str
    change: str
    value: Any = None
    bypasses: bool = False
    """Whether our webhooks are not called."""

    def __str__(self) -> str:
        value = "" if self.value is None else f" = {self.value!r}"
        return f"{self.client}{' past the webhooks' * self.bypasses}: {self.change}{value}"


@dataclass(frozen=True, slots=True)
class Sequence:
    """A file, the tool that creates the object, where another webhook is, and the steps."""

    file: File
    tool: str
    other: str
    steps: tuple[Step, ...]

    def up_to(self, step: int) -> "Sequence":
        """Return the sequence without what follows a step."""
        return Sequence(self.file, self.tool, self.other, self.steps[:step])

    def __str__(self) -> str:
        first = f"{self.tool}: create {described(self.file) or 'the plain file'}"
        other = [f"another webhook is called {self.other} ours"] if self.other else []
        return "\n".join((*other, first, *map(str, self.steps)))


def sequence(file: File, tool: str, *steps: Step, other: str = "") -> Sequence:
    """Return a sequence of these steps, without another webhook unless one is named."""
    return Sequence(file, tool, other, steps)


@dataclass(frozen=True, slots=True)
class Taken:
    """One step that was taken: the writes to A and B, its outcome, and both objects after it."""

    step: Step
    writes: tuple[Write | None, Write | None]
    """None where no client acts. A client that acts may still send nothing."""
    outcome: Outcome
    law: str
    """The violated law, if one is."""
    a: Object | None
    b: Object | None
    delta: tuple[Change, ...]
    is_loose: bool
    is_mixed: bool
    excused: frozenset[str]
    """Side laws that the author's own writes violate."""
    content: Templates | None
    """The templates that the object got."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A law that does not hold after a step; step 0 is the CREATE."""

    law: str
    detail: str
    step: int
    change: str
    cause: str
    """What went wrong, in few words, to group violations."""


@dataclass(slots=True)
class Walk:
    """What happened in one sequence."""

    taken: list[Taken] = field(default_factory=list)
    """The steps, apart from a CREATE after a violation."""
    outcomes: list[tuple[str, Outcome]] = field(default_factory=list)
    unmapped: list[str] = field(default_factory=list)
    """Changes after which only the side laws are checked."""
    violations: list[Violation] = field(default_factory=list)
    """At most one, unless the sequence was carried on."""


def draw(random: Random) -> Sequence:
    """Draw a sequence of 3 to 8 steps."""
    file, habit, drawn = draw_file(random), random.choice(HABITS), list[Step]()
    now = file
    tool, by_hand = random.choice(habit), random.choice(SHARES_BY_HAND)
    for _ in range(random.randint(3, 8)):
        if random.random() < by_hand:
            drawn.append(_draw_hand(random))
            continue
        tool_now = random.choice(habit)
        if random.random() < 0.1:
            drawn.append(Step(tool_now, "the same file"))
            continue
        if random.random() < 0.04:
            drawn.append(Step(tool_now, EXPORT))
            now = replace(now, opted_in=False)
            continue
        name, value = draw_change(random, now)
        now = changed(now, name, value)
        drawn.append(Step(tool_now, name, value))
    return Sequence(file, tool, random.choice(OTHERS), tuple(drawn))


def drawn(seed: int, number: int) -> Sequence:
    """Return one sequence of a seed: the one that `--seed` and `--only` repeat."""
    return draw(Random(f"{seed}/{number}"))  # noqa: S311 - examples, which are to be repeatable


def _draw_hand(random: Random) -> Step:
    if random.random() < 0.1:
        return Step(SCALE, "replicas", random.randint(0, 4))
    names = RARE if random.random() < SHARE_RARE else tuple(set(HANDS) - set(RARE))
    return Step(random.choice(tuple(BY_HAND)), random.choice(sorted(names)))


# --- the two servers --------------------------------------------------------------------------------------


@dataclass(slots=True)
class World:
    """Both stored objects, and the author's file."""

    without: Server
    with_ours: Server
    file: File
    a: Object | None = None
    b: Object | None = None
    released: Object | None = None
    """Helm's manifest of the last release."""
    templates: Templates | None = None
    """Those that the webhook can read now."""
    content: Templates | None = None
    """Those that the object got."""
    delta: tuple[Change, ...] = ()
    """Changes of the leader alone, where A has no template for it, and that the workers lack."""
    is_loose: bool = False
    """After a change without a mapping, only the side laws are checked."""
    is_mixed: bool = False
    """After a change of the release or a write past the webhooks, only the laws of `stays` are checked, until
    a refresh."""
    unmapped: str = ""
    """The case of the last write, if no admission can know what it wrote (`unknowable`)."""
    excused: frozenset[str] = frozenset()
    """Side laws that the author violates, where A alone does not show it."""
    wanted: Object | None = None
    """What B should hold after the last step, if that is known."""
    writes: tuple[Write | None, Write | None] = (None, None)
    """Those of the last step."""

    def expected(self, a: Object) -> Object | None:
        """Return the object that B should hold; None if that is not known, or no such object is allowed.

        A change of the leader that the workers got too is forgotten: the leader is as any copy then.
        """
        if self.is_loose:
            return None
        made, left = self.expansion(a), list[Change]()
        for change in self.delta:
            bare = copied(made)
            if not change(made):
                return None
            left += [change] if made != bare else []
        self.delta = tuple(left)
        return made

    def excuse(self, sent: Object) -> None:
        """Excuse the side laws that the author's object violates, while B is not compared with it.

        The same applies to what a client sends, which it merged into an object that its author does not know.
        """
        if not self.is_loose or self.a is None:
            return
        self.excused |= laws.violated(sent)
        try:
            made = self.expansion(self.a)
        except Refused:
            return
        made = copied(with_leader(made))
        for change in self.delta:
            change(made)
        self.excused |= laws.violated(made)

    def restart(self) -> None:
        """Delete the object on both servers."""
        self.a = self.b = self.released = self.wanted = None
        self.delta, self.is_loose, self.is_mixed, self.excused = (), False, False, frozenset()

    def expansion(self, a: Object) -> Object:
        """Return what a CREATE of an author's object makes of it."""
        bare = without_managers(a)
        try:
            return self.ours(self.content).admit(bare)
        except (Denied, Refused):
            return self._unchecked(bare)

    def ours(self, templates: Templates | None) -> Server:
        """Return the server with our webhooks, which can read these templates."""
        return replace(self.with_ours, templates=templates)

    def _unchecked(self, bare: Object) -> Object:
        """Expand without validation: an update may keep what a CREATE may not have."""
        engine = self.with_ours.engine or Engine()
        return Server(Engine(engine.mutate, allow), self.with_ours.other, self.content).admit(bare)


def run(sequence: Sequence, engine: Engine | None = None, *, carry_on: bool = False) -> Walk:
    """Run a sequence up to its first violation, or to its end, with a CREATE after each violation."""
    world = World(Server(None, sequence.other), Server(engine or Engine(), sequence.other), sequence.file)
    world.templates = LIBRARIES[FIRST]
    walk = Walk()
    for at, step in enumerate((Step(sequence.tool, "create"), *sequence.steps)):
        was_loose = world.is_loose
        outcome, law, detail = _step(world, step, walk.taken)
        if world.is_loose and not was_loose:
            walk.unmapped.append(world.unmapped or step.change)
        walk.outcomes.append((f"{step.client}: {step.change}", outcome))
        walk.taken.append(_taken(world, step, outcome, law))
        if law:
            cause = laws.cause(law, world.b, world.wanted)
            walk.violations.append(Violation(law, detail, at, f"{step.client}: {step.change}", cause))
            if not carry_on:
                break
            world.restart()
            _step(world, Step(sequence.tool, "create"), ())
        if world.b is None:
            break
    return walk


def _taken(world: World, step: Step, outcome: Outcome, law: str) -> Taken:
    of_world = (world.a, world.b, world.delta, world.is_loose, world.is_mixed, world.excused, world.content)
    return Taken(step, world.writes, outcome, law, *of_world)


def _step(world: World, step: Step, taken: Several[Taken]) -> tuple[Outcome, str, str]:
    """Take one step, which may be none of a client that writes; return as `_take` does."""
    match step.client:
        case "templates":
            world.templates = LIBRARIES[step.value]
        case "release":
            world.with_ours, world.is_mixed = replace(world.with_ours, engine=RELEASES[step.value]), True
        case "an older expanded file" if step.value >= len(taken):
            pass
        case client:
            try:
                return _write_again(world, taken[step.value], step) if client == STALE else _take(world, step)
            except Unstable as error:  # on B, or in the CREATE with which B is compared
                return "violated", "a second call changes the object", str(error)
            except Lost as error:
                return "violated", "edits of an injected container stay", str(error)
    return "no write", "", ""


def _take(world: World, step: Step) -> tuple[Outcome, str, str]:
    """Take one step on both servers; return its outcome, and the violated law with what is wrong.

    An exported file that Helm sends has no mapping: Helm leaves no trace of what its manifest holds, so that
    the write equals one that only removes our annotations.
    """
    before = copy.copy(world)
    file = _file(world, step) if step.client in TOOLS else None
    world.is_loose = world.is_loose or (step.change == EXPORT and step.client.startswith("helm"))
    hand = HANDS.get(step.change) if step.client in BY_HAND else None
    world.writes, world.unmapped = _writes(world, step, file, hand), ""
    a, b = clients.sent(world.a, world.writes[0]), clients.sent(world.b, world.writes[1])
    if b is None and a is None:
        _restore(world, before)
        return "no write", "", ""
    if b is not None and is_read(b, world.b):
        world.content = world.templates
    if file is not None and not world.is_loose:
        world.unmapped = _unknowable(world, step, file, (a, b))
        world.is_loose = bool(world.unmapped)
    if not _has_leader(world.a) and _has_leader(a):
        world.delta = ()  # the author's template replaces the edited copy
    if step.client == SCALE:
        world.a, world.b = a, b
        return _checked(world, before, step, None)
    try:
        new_a = world.without.admit(a, world.a) if a is not None else world.a
    except Refused:
        _restore(world, before)
        return "refused", "", ""
    server = world.without if step.bypasses else world.ours(world.templates)
    try:
        world.a, world.b = new_a, server.admit(b, world.b) if b is not None else world.b
        if step.client == APPLY and file is not None:
            b = _migrate(world, server, step, file) or b
    except (Refused, Denied) as error:
        new_a = new_a if world.a is before.a else world.a
        world.a, world.b = before.a, before.b
        return _not_admitted(world, before, new_a, error)
    if file is not None:
        world.file = file
        world.released = manifest(file)
    is_refreshed = step.change == "refresh" and world.file.opted_in
    world.is_mixed = (world.is_mixed and not is_refreshed) or step.bypasses
    return _checked(world, before, step, b)


def _migrate(world: World, server: Server, step: Step, file: File) -> Object | None:
    """Take the further writes of a first server-side apply (`migrated`); return the object of the last."""
    if world.a is None or world.b is None:
        return None
    old_a, old_b = managed.migrated(world.a), managed.migrated(world.b)
    if (old_a, old_b) == (world.a, world.b):
        return None
    a, b = managed.apply(old_a, manifest(file)), managed.apply(old_b, manifest(file))
    if not world.is_loose:
        world.unmapped = _unknowable(world, step, file, (a, b))
        world.is_loose = bool(world.unmapped)
    try:
        world.a = world.without.admit(a, old_a)
    except Refused:  # kubectl fails, and what it applied first stays
        return None
    world.b = server.admit(b, old_b)
    return b


def _write_again(world: World, then: Taken, step: Step) -> tuple[Outcome, str, str]:
    """Write both objects as they were after an earlier step, from a file: B with its record."""
    if not (then.a and then.b and world.a and world.b):
        return "no write", "", ""
    before = copy.copy(world)
    of_a, of_b = clients.file_of(then.a), clients.file_of(then.b)
    world.writes = Write(step.change, of_a), Write(step.change, of_b)
    sides = Side(world.a, of_a), Side(world.b, of_b)
    world.unmapped = unproven(*sides, is_of_others=world.is_mixed)
    a, b = clients.sent(world.a, world.writes[0]), clients.sent(world.b, world.writes[1])
    if not (a and b):
        _restore(world, before)
        return "no write", "", ""
    world.delta, world.excused = then.delta, then.excused
    world.is_loose = then.is_loose or bool(world.unmapped)
    world.content = then.content
    try:
        world.a, world.b = world.without.admit(a, world.a), world.ours(world.templates).admit(b, world.b)
    except (Refused, Denied) as error:
        return _not_admitted(world, before, a, error)
    world.is_mixed = world.is_mixed or then.is_mixed
    return _checked(world, before, step, b)


def _checked(world: World, before: World, step: Step, sent: Object | None) -> tuple[Outcome, str, str]:
    """Check the laws after a write of B, of which the object before admission is given."""
    if step.bypasses:
        return "side laws", "", ""
    law, detail = _returned(world, before) if world.unmapped == RETURNED else ("", "")
    if law:
        return "violated", law, detail
    return _stays(world, before, step) if world.is_mixed else _compared(world, before, sent)


def _stays(world: World, before: World, step: Step) -> tuple[Outcome, str, str]:
    """Check what holds across releases: pods that nobody changed stay, and their author gets them back."""
    if world.delta and world.a:
        world.expected(world.a)  # forgets the changes of the leader that the workers got too
    if world.is_loose or world.delta or before.delta or not (world.a and world.b):
        return "side laws", "", ""
    if step.client in TOOLS and before.b and before.a and _author(before.a) == _author(world.a):
        groups = (lws["spec"]["leaderWorkerTemplate"] for lws in (before.b, world.b))
        one, other = (laws.without_empty(laws.without_edits(group)) for group in groups)
        if one != other:
            return "violated", "pods that nobody changed stay", _difference(one, other)
    law, detail = _opting_out(world, world.a)
    return "violated" if law else "side laws", law, detail


def _returned(world: World, before: World) -> tuple[str, str]:
    """Check an ejected object that gets its file back: if the file expands to it, its pods stay.

    Opting out gives the file then. Return the violated law with what is wrong, or nothing.
    """
    author = world.without.admit(manifest(world.file))
    if not (before.b and world.b) or laws.restarts(before.b, world.expansion(author)):
        return "", ""
    if laws.restarts(before.b, world.b):
        return "pods of an ejected object stay", _difference(before.b["spec"], world.b["spec"])
    return _opting_out(world, author)


def _opting_out(world: World, author: Object) -> tuple[str, str]:
    """Check that opting out gives what the author wrote; return the violated law with what is wrong."""
    assert world.b is not None
    wanted = _opted_out(world.b, keeps=EXPANSION)
    if wanted == world.b:
        return "", ""
    try:
        found = world.ours(world.templates).admit(clients.put(world.b, wanted) or world.b, world.b)
    except (Refused, Denied) as error:
        return "its author may opt out", str(error)
    one, other = (laws.compared(_opted_out(lws), LIST_KEYS) for lws in (author, found))
    return ("opting out gives the author's", _difference(one, other)) if one != other else ("", "")


def _difference(expected: Object, stored: Object) -> str:
    return "; ".join([*laws.difference(expected, stored)][:4])


def _author(lws: Object) -> Any:
    """Return what admission reads of an author's object."""
    keys = lws["metadata"].get("annotations", {})
    ours = {key: value for key, value in keys.items() if key.startswith(PREFIX)}
    return ours, lws["spec"]["leaderWorkerTemplate"]


def _opted_out(lws: Object, keeps: str = "") -> Object:
    """Return an object without our annotations, but for the record."""
    keys = lws["metadata"].get("annotations", {})
    left = {key: value for key, value in keys.items() if key == keeps or not key.startswith(PREFIX)}
    return {**lws, "metadata": {**lws["metadata"], "annotations": left}}


def _not_admitted(
    world: World, before: World, a: Object | None, error: Exception
) -> tuple[Outcome, str, str]:
    """Return the outcome of a write that B did not accept, and A did."""
    is_known = not world.is_loose
    is_creatable = is_known and a is not None and _is_creatable(world, a)
    _restore(world, before)
    if isinstance(error, Refused):
        return ("violated", "refused by the schema", str(error)) if is_known else ("refused", "", "")
    if is_creatable:
        return "violated", "denied though a CREATE is allowed", str(error)
    return "denied", "", ""


def _with_copy(lws: Object) -> Object:
    """Return the object with its leader's template, if it has one, as a copy of the workers'."""
    if not _has_leader(lws):
        return lws
    group = lws["spec"]["leaderWorkerTemplate"]
    whole = {**group, "leaderTemplate": group["workerTemplate"]}
    return {**lws, "spec": {**lws["spec"], "leaderWorkerTemplate": whole}}


def _has_leader(lws: Object | None) -> bool:
    return lws is not None and "leaderTemplate" in lws["spec"]["leaderWorkerTemplate"]


def _file(world: World, step: Step) -> File:
    """Return the file that the author writes in a step."""
    if step.change in ("create", "the same file"):
        return world.file
    if step.change == EXPORT and world.b is not None:
        return exported(world.file, world.b)
    return changed(world.file, step.change, step.value)


def _unknowable(world: World, step: Step, file: File, sent: tuple[Object | None, Object | None]) -> str:
    """Return the case of a write of a file that no admission can map, or nothing."""
    if world.a is None or world.b is None:
        return ""
    a, b = (
        Side(stored, stored if one is None else one)
        for stored, one in zip((world.a, world.b), sent, strict=True)
    )
    try:
        created = world.without.admit(manifest(file))
    except Refused:
        return ""
    edited = copied(with_leader(world.a))
    for change in world.delta:
        change(edited)
    known = {"created": created, "edited": edited}
    case = unknowable(step.client, manifest(file), a, b, **known, expansion=world.expansion)
    return case or (unseen(a, b, is_edited=bool(world.delta)) if step.bypasses else "")


def _restore(world: World, before: World) -> None:
    world.delta, world.is_loose, world.content = before.delta, before.is_loose, before.content


def _is_creatable(world: World, a: Object) -> bool:
    try:
        world.ours(world.content).admit(without_managers(a))
    except (Denied, Refused):
        return False
    return True


def _compared(world: World, before: World, sent: Object | None) -> tuple[Outcome, str, str]:
    """Check the laws after a write of B, of which the object before admission is given."""
    if world.a is None or world.b is None:
        return "denied", "", ""
    is_restart = before.b is not None and laws.restarts(before.b, world.b)
    is_moved = before.a is not None and laws.moved(before.a, world.a)
    ordered = sent if sent is None or _has_leader(world.a) else _with_copy(sent)
    unordered = laws.VOLUMES if is_restart else ()
    pods = (ordered, world.b) if is_restart or is_moved else ()
    for a in (world.a, laws.with_others_last(world.a)):
        made = expected = world.expected(a)
        if made and before.b:
            earlier = with_leader(before.a) if before.a else None
            expected = laws.in_order(made, laws.Orders(with_leader(before.b), with_leader(a), earlier, *pods))
        world.wanted = expected
        if expected is None:
            world.is_loose = True
            world.excuse(sent or world.b)
        law, detail = laws.violation(world.b, expected, world.excused, unordered)
        if law != "order":
            break
    if law:
        return "violated", law, detail
    if made is None or expected is None:
        return "side laws", "", ""
    is_as_made = made == expected or laws.compared(made) == laws.compared(expected)
    return ("compared" if is_as_made else "compared in stored order"), "", ""


# --- writes ---------------------------------------------------------------------------------------------


def _writes(
    world: World, step: Step, file: File | None, hand: Hand | None
) -> tuple[Write | None, Write | None]:
    """Return what the client does to A and to B; None where it does nothing."""
    if file is not None:
        if step.client == "replace":
            world.delta = ()
        write = Write(step.client, manifest(file), world.released)
        return write, write
    if world.a is None or world.b is None:
        return None, None
    if step.client == SCALE:
        scale = Write(SCALE, {"spec": {"replicas": step.value}})
        return scale, scale
    return _hand_writes(world, step, hand) if hand else (None, None)


def _hand_writes(world: World, step: Step, hand: Hand) -> tuple[Write | None, Write | None]:
    assert world.a is not None
    assert world.b is not None
    wanted_b, wanted_a = copied(world.b), copied(world.a)
    if not hand.change(wanted_b) or wanted_b == world.b:
        return None, None
    b = Write(step.client, wanted_b)
    if step.change == "eject":
        world.delta = ()
        return Write("edit", wanted_b), b  # the author keeps the expanded object
    if step.change == "drop leader template":
        world.delta = ()
    is_taken_over = step.change == "lose record" and step.client == EXPORTED
    has_leader = _has_leader(world.a)
    is_of_both = world.is_mixed and not (hand.delta or hand.one_part or has_leader)
    # the file of the export holds all that was injected; past the webhooks one template lost what is edited
    if is_taken_over or (is_of_both and _spares_one(world.b, wanted_b)):
        world.is_loose = True
        return None, b
    if hand.delta and not has_leader:
        world.delta = (*world.delta, hand.change)
        return None, b
    is_made = hand.on_two(wanted_a, world.b, wanted_b) if has_leader else hand.mapped(wanted_a)
    if not is_made:
        world.is_loose = True
        return None, b
    return Write(step.client, wanted_a), b


def _spares_one(before: Object, wanted: Object) -> bool:
    """Return whether a change leaves one of two templates as it was."""
    was, now = (one["spec"]["leaderWorkerTemplate"] for one in (before, wanted))
    both = [was[name] == now.get(name) for name in TEMPLATES if name in was]
    return len(both) > 1 and any(both) and not all(both)


# --- shrinking ------------------------------------------------------------------------------------------


def shrunk(sequence: Sequence) -> Sequence:
    """Return the smallest sequence found that violates the same law, by dropping one part after the other."""
    violations = run(sequence).violations
    if not violations:
        return sequence
    found = violations[0]
    sequence = sequence.up_to(found.step)
    while True:
        for smaller in _smaller(sequence):
            others = run(smaller).violations
            if others and (others[0].cause, others[0].step) == (found.cause, len(smaller.steps)):
                sequence = smaller
                break
        else:
            return sequence


def _smaller(sequence: Sequence) -> Several[Sequence]:
    file, tool, other, steps = sequence.file, sequence.tool, sequence.other, sequence.steps
    found = [Sequence(file, tool, other, (*steps[:at], *steps[at + 1 :])) for at in range(len(steps))]
    if other:
        found.append(Sequence(file, tool, "", steps))
    if tool != TOOLS[0]:
        plain = tuple(Step(TOOLS[0], one.change, one.value) if one.client in TOOLS else one for one in steps)
        found.append(Sequence(file, TOOLS[0], other, plain))
    found += [Sequence(one, tool, other, steps) for one in simpler(file)]
    return found
