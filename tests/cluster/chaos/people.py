"""What people and their pipelines do to services: the next change, chosen at random, as kubectl commands.

Everything here is values: the same seed gives the same changes.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Final

from intent import Object
from tests.cluster.testbed.written import CLIENT_SIDE, SERVER_SIDE, Words, named
from tests.isvc import decoder, isvc, prefiller, router, worker
from tests.lws import container, lws, template

GATEWAY: Final = "inference-gateway"
MOST: Final = 3
"""Replicas that anybody asks for."""


@dataclass(frozen=True, slots=True)
class Service:
    """What the author of a service wants now, and what was done since somebody looked at its pods."""

    name: str
    shape: str
    words: Words = CLIENT_SIDE
    """How its files are applied."""
    there: bool = False
    replicas: int = 1
    """Of the role that is scaled."""
    edits: int = 0
    """A number that stands in its command."""
    host: int = 0
    """A number that stands in its hostname."""
    fewest: int = 1
    """The fewest replicas since then."""
    restarted: bool = True
    """Whether its pods had to be started anew since then."""


@dataclass(frozen=True, slots=True)
class Command:
    """What is asked of kubectl, until it has been done."""

    words: Words
    objects: tuple[Object, ...] = ()

    @property
    def stdin(self) -> str:
        """The objects as kubectl reads them."""
        return json.dumps({"apiVersion": "v1", "kind": "List", "items": self.objects}) if self.objects else ""


@dataclass(frozen=True, slots=True)
class Change:
    """What somebody does: how it is called, to what it leads, by which commands."""

    verb: str
    after: Service
    commands: tuple[Command, ...]


# --- files ------------------------------------------------------------------------------------------


def files(service: Service) -> tuple[Object, ...]:
    """Write down a service as its author would, now."""
    return SHAPES[service.shape].files(service) if service.there else ()


@dataclass(frozen=True, slots=True)
class Shape:
    """A way to ask for a service: its files, and the patches that scale it and that move its hostname."""

    files: Callable[[Service], tuple[Object, ...]]
    scale: Callable[[Service], Words]
    move: Callable[[Service], Words]


def _engine(service: Service) -> Object:
    limits = {"limits": {"nvidia.com/gpu": "1"}}
    return template(container(args=["org/M", "--seed", str(service.edits)], resources=limits))


def _hosts(service: Service) -> list[str]:
    return [f"{service.name}-{service.host}.example.com"]


def _routing(service: Service, strategy: str) -> dict[str, str]:
    return {"strategy": strategy, "gateway": GATEWAY, "hostnames": ",".join(_hosts(service))}


def _set(service: Service, name: str, replicas: int, component: str, **routing: str) -> Object:
    words = {"service": service.name, "component_type": component, **routing}
    group = named(lws(2, _engine(service)), name, **words)
    return {**group, "spec": {**group["spec"], "replicas": replicas}}


def _workers(service: Service) -> tuple[Object, ...]:
    routing = _routing(service, "prefix-cache")
    return (_set(service, service.name, service.replicas, "worker", **routing),)


def _pair(service: Service) -> tuple[Object, ...]:
    routing = _routing(service, "pd-disaggregation")
    return (
        _set(service, f"{service.name}-prefill", 1, "prefiller"),
        _set(service, f"{service.name}-decode", service.replicas, "decoder", **routing),
    )


def _route(service: Service) -> Object:
    return {"parentRefs": [{"name": GATEWAY}], "hostnames": _hosts(service)}


def _rendered(service: Service) -> tuple[Object, ...]:
    engine = worker(replicas=service.replicas, template=_engine(service))
    return (isvc(router(httproute=_route(service)), engine, name=service.name),)


def _rendered_pair(service: Service) -> tuple[Object, ...]:
    engine = _engine(service)
    roles = (prefiller(replicas=1, template=engine), decoder(replicas=service.replicas, template=engine))
    return (isvc(_pd_router(service), *roles, name=service.name),)


def _pd_router(service: Service) -> Object:
    return router(strategy="pd-disaggregation", httproute=_route(service))


# --- patches ----------------------------------------------------------------------------------------


def _scale(suffix: str) -> Callable[[Service], Words]:
    def words(service: Service) -> Words:
        return ("scale", f"leaderworkersets/{service.name}{suffix}", f"--replicas={service.replicas}")

    return words


def _annotate(suffix: str) -> Callable[[Service], Words]:
    def words(service: Service) -> Words:
        hosts = f"fusioninfer.io/hostnames={','.join(_hosts(service))}"
        return ("annotate", "--overwrite", f"leaderworkersets/{service.name}{suffix}", hosts)

    return words


def _amend(role: int, field: str, value: Callable[[Service], object]) -> Callable[[Service], Words]:
    def words(service: Service) -> Words:
        operation = {"op": "replace", "path": f"/spec/roles/{role}/{field}", "value": value(service)}
        patch = json.dumps([operation])
        return ("patch", f"inferenceservices/{service.name}", "--type=json", f"--patch={patch}")

    return words


def _replicas(service: Service) -> int:
    return service.replicas


SHAPES: Final[Mapping[str, Shape]] = {
    "workers": Shape(_workers, _scale(""), _annotate("")),
    "pair": Shape(_pair, _scale("-decode"), _annotate("-decode")),
    "rendered": Shape(_rendered, _amend(1, "replicas", _replicas), _amend(0, "httproute/hostnames", _hosts)),
    "rendered-pair": Shape(
        _rendered_pair, _amend(2, "replicas", _replicas), _amend(0, "httproute/hostnames", _hosts)
    ),
}


# --- changes ----------------------------------------------------------------------------------------


def _applied(service: Service) -> tuple[Command, ...]:
    """Apply the files; others wrote some of the fields, so server-side apply has to insist."""
    force = ("--force-conflicts",) if service.words == SERVER_SIDE else ()
    return (Command((*service.words, *force, "--filename=-"), files(service)),)


def _deleted(service: Service, *more: str) -> tuple[Command, ...]:
    return (Command(("delete", "--ignore-not-found", *more, "--filename=-"), files(service)),)


def make(service: Service, random: Random) -> Change:
    """Apply a service that is not there."""
    words = random.choice((CLIENT_SIDE, SERVER_SIDE))
    after = replace(service, there=True, words=words, replicas=random.randint(1, MOST), restarted=True)
    return Change(f"make ({' '.join(words)})", after, _applied(after))


def apply_again(service: Service, _random: Random) -> Change:
    """Apply the same files again, as pipelines do."""
    return Change("apply again", service, _applied(service))


def apply_scaled(service: Service, random: Random) -> Change:
    """Apply the files with another number of replicas."""
    after = _scaled(service, random)
    return Change(f"apply with {after.replicas} replicas", after, _applied(after))


def scale(service: Service, random: Random) -> Change:
    """Scale by a command, not by the files."""
    after = _scaled(service, random)
    return Change(f"scale to {after.replicas}", after, (Command(SHAPES[service.shape].scale(after)),))


def edit(service: Service, _random: Random) -> Change:
    """Apply the files with another command."""
    after = replace(service, edits=service.edits + 1, restarted=True)
    return Change("apply with another command", after, _applied(after))


def move(service: Service, _random: Random) -> Change:
    """Give the route another hostname, by a patch."""
    after = replace(service, host=service.host + 1)
    return Change("move to another hostname", after, (Command(SHAPES[service.shape].move(after)),))


def remove(service: Service, random: Random) -> Change:
    """Delete the files, and wait or not."""
    wait = f"--wait={str(random.random() < 0.5).lower()}"
    return Change(f"delete {wait}", replace(service, there=False), _deleted(service, wait))


def make_anew(service: Service, _random: Random) -> Change:
    """Delete the files and apply them again at once."""
    after = replace(service, restarted=True)
    return Change("delete and apply", after, (*_deleted(service), *_applied(after)))


CHANGES: Final = (make_anew, remove, move, move, edit, scale, scale, apply_scaled, apply_again)
"""What may happen to a service that is there; the more often it stands here, the more often."""


def next_change(services: tuple[Service, ...], random: Random) -> Change:
    """Choose what happens next."""
    service = random.choice(services)
    chosen = random.choice(CHANGES) if service.there else make
    return chosen(service, random)


def _scaled(service: Service, random: Random) -> Service:
    replicas = random.choice([count for count in range(1, MOST + 1) if count != service.replicas])
    return replace(service, replicas=replicas, fewest=min(service.fewest, replicas))
