"""The nodes while pods are placed on them. Nodes of equal state are one class, so cost grows with classes."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Final

from plan.amounts import CPU, MEMORY, UNLIMITED, is_device
from plan.demand import Demand
from plan.placing import NAME, Obstacle, disliked, keys, obstacle, preference
from plan.scoring import BALANCED, ResourceUse, Scoring, preferred, score, tainted
from plan.supply import Supply, Taint

NodeState = tuple[int, tuple[int, ...], tuple[int, int]]
"""The kind of a node, what is free of each resource, and what counts as requested for comparison."""
Choose = Callable[[int], int]
"""Returns which of so many equally good classes is taken."""
EXACT: Final = (CPU, MEMORY, BALANCED)


@dataclass(frozen=True, slots=True)
class NodeKind:
    """What nodes have in common: the labels that count, the taints, and what they have."""

    labels: tuple[tuple[str, str], ...]
    taints: tuple[Taint, ...]
    allocatable: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Earlier:
    """The other demand of a group: a node that had no room for it is not taken for the group again."""

    demand: int
    taken: set[int] = field(default_factory=set)
    """The nodes that were taken since it was placed last: they had room for it then."""


@dataclass(frozen=True, slots=True)
class Way:
    """Whether pods of one demand may use nodes of one kind, and how they like them."""

    obstacle: Obstacle
    preference: int
    disliked: int


def first(_: int) -> int:
    """Take the first of equally good classes."""
    return 0


class NodePool:
    """Nodes, and the pods that were placed on them. A demand is named by its position in `demands`."""

    def __init__(self, demands: Sequence[Demand], choose: Choose = first) -> None:
        """Prepare what depends on the pods alone."""
        self.demands = demands
        self.choose = choose
        self.nodes: list[Supply] = []
        self.states: list[NodeState] = []
        self.kinds: list[NodeKind] = []
        self.work = [0]
        """How many times a class was compared with a pod, here and in copies."""
        self.ties = 0
        """How many times classes were equally good."""
        asked = {name for one in demands for name, _ in one.requests}
        self.resources = tuple(sorted({*asked, *EXACT}))
        self.needs = [
            [(self.resources.index(name), amount) for name, amount in one.requests if amount]
            for one in demands
        ]
        self.whole = [0] * len(self.resources)
        """What all nodes have together."""
        self._classes: dict[NodeState, list[int]] = {}
        """The nodes of each state, as a heap; nodes that have left are dropped when they come first."""
        self._sizes: dict[NodeState, int] = {}
        self._numbers: dict[NodeKind, int] = {}
        self._labels = frozenset[str]().union(*map(keys, demands))
        self._ways: dict[tuple[int, int], Way] = {}
        self._scores: dict[tuple[int, NodeState, Scoring], float] = {}
        self._exact = [self.resources.index(name) for name in EXACT]

    def copy(self, choose: Choose | None = None) -> "NodePool":
        """Return a pool with the same nodes, which changes by itself."""
        other = NodePool(self.demands, choose or self.choose)
        other.nodes, other.states, other.whole = [*self.nodes], [*self.states], [*self.whole]
        other.work = self.work
        other.kinds, other._numbers = [*self.kinds], dict(self._numbers)
        other._classes = {state: [*members] for state, members in self._classes.items()}
        other._sizes = dict(self._sizes)
        return other

    # --- nodes ---------------------------------------------------------------------------------------

    @property
    def classes(self) -> Iterable[tuple[NodeState, int]]:
        """The states that some node is in, and how many are."""
        return self._sizes.items()

    def add(self, nodes: Iterable[Supply]) -> None:
        """Add nodes."""
        for one in nodes:
            kind = self._kind(one)
            number = self._numbers.setdefault(kind, len(self.kinds))
            if number == len(self.kinds):
                self.kinds.append(kind)
            free = tuple(
                has if has >= UNLIMITED else has - one.used.get(name, 0)
                for name, has in zip(self.resources, kind.allocatable, strict=True)
            )
            self.whole = [before + has for before, has in zip(self.whole, kind.allocatable, strict=True)]
            self.nodes.append(one)
            state = number, free, one.compared
            self.states.append(state)
            self._enter(state, len(self.nodes) - 1)

    def _kind(self, node: Supply) -> NodeKind:
        labels = {**node.labels, NAME: node.name}
        return NodeKind(
            tuple((key, labels[key]) for key in sorted(self._labels) if key in labels),
            node.taints,
            tuple(node.allocatable.get(name, _absent(name, node)) for name in self.resources),
        )

    def free(self, node: int, resource: str) -> int:
        """Return how much of a resource is free on a node."""
        return self.states[node][1][self.resources.index(resource)]

    def way(self, demand: int, kind: int) -> Way:
        """Return whether pods may use nodes of a kind."""
        found = self._ways.get((demand, kind))
        if found is None:
            one, node = self.demands[demand], self.kinds[kind]
            labels = dict(node.labels)
            found = self._ways[demand, kind] = Way(
                obstacle(one, labels, node.taints), preference(one, labels), disliked(one, node.taints)
            )
        return found

    # --- pods ----------------------------------------------------------------------------------------

    def place(self, demand: int, rules: Scoring, earlier: Earlier | None = None) -> int | None:
        """Place a pod on the best node that has room; return the node, None if there is none."""
        self.work[0] += len(self._classes)
        found = [state for state in self._classes if self._has_room(demand, state)]
        if earlier:
            found = [state for state in found if self._allowed(state, earlier) is not None]
        if not found:
            return None
        state = found[0] if len(found) == 1 else self._best(found, demand, rules)
        node = self._allowed(state, earlier)
        if node is not None:
            self._move(node, self._with(state, demand, 1))
        return node

    def _has_room(self, demand: int, state: NodeState) -> bool:
        free = state[1]
        for at, amount in self.needs[demand]:
            if free[at] < amount:
                return False
        return not self.way(demand, state[0]).obstacle

    def _allowed(self, state: NodeState, earlier: Earlier | None) -> int | None:
        """Return the first node of a class that may be taken."""
        if earlier is None or self._has_room(earlier.demand, state):
            return self._first(state)
        return min((node for node in earlier.taken if self.states[node] == state), default=None)

    def remove(self, demand: int, node: int) -> None:
        """Remove a pod from its node."""
        self._move(node, self._with(self.states[node], demand, -1))

    def _best(self, states: list[NodeState], demand: int, rules: Scoring) -> NodeState:
        """Return the state with the highest score. Among equal ones the scheduler takes any."""
        ways = [self.way(demand, one[0]) for one in states]
        taints = tainted([one.disliked for one in ways])
        liked = preferred(rules, [one.preference for one in ways])
        scores = [
            self._score(state, demand, rules) + rules.affinity_weight * like + rules.taint_weight * taint
            for state, like, taint in zip(states, liked, taints, strict=True)
        ]
        highest = max(scores)
        best = [one for one, its in zip(states, scores, strict=True) if its == highest]
        if len(best) == 1:
            return best[0]
        self.ties += 1
        best.sort(key=self._first)
        return best[self.choose(len(best))]

    def _score(self, state: NodeState, demand: int, rules: Scoring) -> float:
        found = self._scores.get((demand, state, rules))
        if found is None:
            found = self._scores[demand, state, rules] = score(rules, *self._fills(state, demand))
        return found

    def _fills(
        self, state: NodeState, demand: int
    ) -> tuple[tuple[ResourceUse, ...], tuple[ResourceUse, ...]]:
        number, free, compared = state
        has, needs, assumed = self.kinds[number].allocatable, dict(self.needs[demand]), self.demands[demand]
        exact = tuple(
            ResourceUse(has[at], has[at] - free[at] + needs.get(at, 0), needs.get(at, 0))
            for at in self._exact
        )
        of_comparison = tuple(
            ResourceUse(has[self._exact[at]], before + own, own)
            for at, (before, own) in enumerate(zip(compared, assumed.compared, strict=True))
        )
        return of_comparison, exact

    def _with(self, state: NodeState, demand: int, times: int) -> NodeState:
        number, free, (cpu, memory) = state
        left = [*free]
        for at, amount in self.needs[demand]:
            if left[at] < UNLIMITED:
                left[at] -= times * amount
        own_cpu, own_memory = self.demands[demand].compared
        return number, tuple(left), (cpu + times * own_cpu, memory + times * own_memory)

    def _move(self, node: int, state: NodeState) -> None:
        """Put a node into another class."""
        before = self.states[node]
        self._sizes[before] -= 1
        if not self._sizes[before]:
            del self._sizes[before], self._classes[before]
        self.states[node] = state
        self._enter(state, node)

    def _enter(self, state: NodeState, node: int) -> None:
        heappush(self._classes.setdefault(state, []), node)
        self._sizes[state] = self._sizes.get(state, 0) + 1

    def _first(self, state: NodeState) -> int:
        """Return the first node of a class."""
        members = self._classes[state]
        while self.states[members[0]] != state:
            heappop(members)
        return members[0]


def _absent(name: str, node: Supply) -> int:
    """Return how much a node has of a resource that it does not list."""
    return UNLIMITED if node.partial and not is_device(name) else 0
