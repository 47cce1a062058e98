"""Our webhooks and Kyverno's admission controller, both beside LWS's own webhooks, on one API server.

Every write is admitted by LWS's webhooks and by one of the two others, which take turns. Both add the same
labels, group annotations and scheduler. Kyverno does only that, by one policy; ours also wrap the launch,
write the record, and validate.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import median
from typing import Final

from intent import Object
from intent.annotations import SERVICE
from tests.bench import api
from tests.bench.histogram import NONE, together
from tests.bench.report import Row, row
from tests.bench.run import Run
from tests.bench.stages import leaderworkerset
from tests.bench.writes import DRY, PLACE, Bench, Round, Write, alone, create, store, update
from tests.cluster.testbed.api import Api, call
from tests.cluster.testbed.build import build
from tests.cluster.testbed.control_plane import running
from tests.cluster.testbed.install import install_definitions
from tests.cluster.testbed.kyverno import KYVERNO, PATIENCE, add_policy, start_kyverno
from tests.cluster.testbed.modules import MODULES, PEER_CRDS, PEER_MODULES
from tests.cluster.testbed.ours import install_manifests, start_webhook, wait_admission
from tests.cluster.testbed.wait import until
from webhook.expand import DEFAULTS, change
from webhook.state import state

ASKS: Final = "peers.example.com/service"
"""The annotation that opts in to Kyverno's policy; its value is the name of the service."""
TEMPLATES: Final = ("leaderTemplate", "workerTemplate")
VALUE: Final = f'{{{{ request.object.metadata.annotations."{ASKS}" }}}}'
"""The name of the service, as a policy reads it."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A process, its webhooks by what they do, and the writes that only it and LWS admit."""

    name: str
    process: str
    webhooks: Mapping[str, Sequence[str]]
    writes: Sequence[Write] = ()


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison: a peer, and rounds of writes that it admitted."""

    peer: Peer
    rounds: Sequence[Round]


OURS: Final = {does: (pair[0],) for does, pair in api.WEBHOOKS.items()}
LWS: Final = Peer("LWS", "lws", {does: (pair[1],) for does, pair in api.WEBHOOKS.items()})


def measure(run: Run) -> Iterator[Row]:
    """Start a control plane of our own with both peers, and measure on it."""
    built = build(sys.stderr, (*MODULES, *PEER_MODULES))
    with running(built, control=("lws",)) as cluster:
        install_manifests(cluster)
        start_webhook(cluster)
        wait_admission(cluster)
        install_definitions(cluster, PEER_CRDS)
        start_kyverno(cluster, [condition()])
        mutating = {"mutate": add_policy(cluster, policy())}
        until(partial(_is_applied, cluster.api), "Kyverno applies its policy", seconds=PATIENCE, every=1.0)
        peers = [
            Peer("ours", "webhook", OURS, _named("ours", api.ours(cluster.api))),
            Peer("Kyverno", KYVERNO, mutating, _named("Kyverno", _asked(cluster.api))),
        ]
        bench = Bench(cluster, ("lws", *(peer.process for peer in peers)))
        writes = [write for turn in zip(*(peer.writes for peer in peers), strict=True) for write in turn]
        yield from rows(peers, bench.rounds(writes, run, "peers"))


# --- the policy -------------------------------------------------------------------------------------


def condition() -> Object:
    """Return the match condition of Kyverno's webhook: the API server calls it for objects that ask."""
    expression = f"has(object.metadata.annotations) && '{ASKS}' in object.metadata.annotations"
    return {"name": "asked", "expression": expression}


def policy() -> Object:
    """Return the policy: it writes what `gang` reads."""
    expanded = gang(_expanded())
    kinds = {"kinds": ["leaderworkerset.x-k8s.io/v1/LeaderWorkerSet"]}
    return {
        "apiVersion": "kyverno.io/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": "gang"},
        "spec": {
            "background": False,
            "rules": [
                {
                    "name": "gang",
                    "match": {"any": [{"resources": kinds}]},
                    "mutate": {"patchStrategicMerge": _with(expanded, _service(), VALUE)},
                }
            ],
        },
    }


def gang(live: Object) -> Object:
    """Return what the policy writes, of an object: labels, group annotations and schedulers."""
    templates = live["spec"]["leaderWorkerTemplate"]
    return {
        "metadata": {"labels": _ours(live["metadata"].get("labels", {}))},
        "spec": {"leaderWorkerTemplate": {name: _of_template(templates[name]) for name in TEMPLATES}},
    }


def _of_template(template: Object) -> Object:
    annotations = template["metadata"].get("annotations", {})
    return {
        "metadata": {
            "labels": _ours(template["metadata"].get("labels", {})),
            "annotations": {key: value for key, value in annotations.items() if key != "team"},
        },
        "spec": {"schedulerName": template["spec"].get("schedulerName")},
    }


def _ours(labels: Mapping[str, str]) -> Mapping[str, str]:
    """Leave out the label of the object's author."""
    return {key: value for key, value in labels.items() if key != "app"}


def _expanded() -> Object:
    live = alone(leaderworkerset())
    return change(live, state(live), DEFAULTS)


def _service() -> str:
    found: str = leaderworkerset()["metadata"]["annotations"][SERVICE]
    return found


def _with(tree: object, old: str, new: str) -> object:
    """Replace a value everywhere in an object."""
    if isinstance(tree, Mapping):
        return {key: _with(value, old, new) for key, value in tree.items()}
    return new if tree == old else tree


def _is_applied(server: Api) -> bool:
    """Return whether Kyverno applies its policy: it caches policies some time after they are ready."""
    return gang(call(server, "POST", f"{PLACE}{DRY}", _asking())) == gang(_expanded())


def _asking() -> Object:
    """Return an object that the policy is for."""
    live = alone(leaderworkerset())
    return {**live, "metadata": {"name": live["metadata"]["name"], "annotations": {ASKS: _service()}}}


def _asked(server: Api) -> tuple[Write, Write]:
    """Return a CREATE and an UPDATE that the policy is for."""
    live = _asking()
    stored = store(server, live, "stored-for-kyverno")
    return create("a CREATE", live, gang, gang(_expanded())), update("an UPDATE", stored, gang)


def _named(peer: str, writes: Sequence[Write]) -> list[Write]:
    """Name writes after the peer too: all of one run have different names."""
    return [replace(one, name=f"{one.name}, {peer}") for one in writes]


# --- rows -------------------------------------------------------------------------------------------


def rows(peers: Sequence[Peer], found: Mapping[str, list[Round]]) -> Iterator[Row]:
    """Report every peer beside LWS's webhooks, for the same writes; then ours beside the other peers."""
    for turn in zip(*(peer.writes for peer in peers), strict=True):
        sides = [Side(peer, found[write.name]) for peer, write in zip(peers, turn, strict=True)]
        for side in sides:
            what = f"{turn[0].operation}, {side.peer.name} beside LWS"
            yield from _compared(what, side, Side(LWS, side.rounds))
        for other in sides[1:]:
            yield from _compared(f"{turn[0].operation}, ours beside {other.peer.name}", sides[0], other)


def _compared(what: str, one: Side, other: Side) -> Iterator[Row]:
    """Report the CPU of a write and of one request, and how long the API server waited for one request."""
    yield _ratio(
        f"CPU of a {what}", one, other, _per_write, "us", calls=_calls(one), calls_of_other=_calls(other)
    )
    yield _ratio(f"CPU of a request, {what}", one, other, _per_request, "us")
    for does in one.peer.webhooks.keys() & other.peer.webhooks.keys():
        yield _ratio(f"mean of {does}, {what}", one, other, partial(_mean, does), "ms")


def _ratio(
    name: str, one: Side, other: Side, of: Callable[[Peer, Round], float], unit: str, **beside: float
) -> Row:
    """Report a ratio of every round, with the medians of both sides."""
    own, their = ([of(side.peer, each) for each in side.rounds] for side in (one, other))
    scale = {"us": 1e6, "ms": 1e3}[unit]
    medians = {unit: median(own) * scale, f"{unit}_of_other": median(their) * scale}
    return row(name, "x", [a / b for a, b in zip(own, their, strict=True)], **medians, **beside)


def _per_write(peer: Peer, one: Round) -> float:
    return one.cpu[peer.process]


def _per_request(peer: Peer, one: Round) -> float:
    return one.cpu[peer.process] * one.writes / _counted(peer, one)


def _mean(does: str, peer: Peer, one: Round) -> float:
    return together(one.seen.get(name, NONE) for name in peer.webhooks[does]).mean


def _counted(peer: Peer, one: Round) -> float:
    """Count the requests of a round."""
    names = (name for group in peer.webhooks.values() for name in group)
    return together(one.seen.get(name, NONE) for name in names).count


def _calls(side: Side) -> float:
    """Return the number of requests of one write."""
    return median(_counted(side.peer, one) / one.writes for one in side.rounds)
