"""The services of people: what their authors want now, in their files, and the patches that change a part."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from intent import Object
from tests.builders.isvc import decoder, isvc, prefiller, router, worker
from tests.builders.lws import container, lws, template
from tests.cluster.testbed.written import CLIENT_SIDE, Words, named

GATEWAY: Final = "inference-gateway"


@dataclass(frozen=True, slots=True)
class Service:
    """The desired state of a service, and its changes since its pods were last compared."""

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
    title: int = 0
    """A number that stands in the name of its last role."""
    fewest: int = 1
    """The fewest replicas since then."""
    restarted: bool = True
    """Whether its pods had to be started anew since then."""


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
    renames: bool = False
    """Whether a role may have another name from one moment to the next."""


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
    engine = worker(name=f"inference-{service.title}", replicas=service.replicas, template=_engine(service))
    return (isvc(router(httproute=_route(service)), engine, name=service.name),)


def _rendered_pair(service: Service) -> tuple[Object, ...]:
    engine = _engine(service)
    last = decoder(name=f"decode-{service.title}", replicas=service.replicas, template=engine)
    return (isvc(_pd_router(service), prefiller(replicas=1, template=engine), last, name=service.name),)


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
    "rendered": Shape(
        _rendered, _amend(1, "replicas", _replicas), _amend(0, "httproute/hostnames", _hosts), True
    ),
    "rendered-pair": Shape(
        _rendered_pair,
        _amend(2, "replicas", _replicas),
        _amend(0, "httproute/hostnames", _hosts),
        renames=True,
    ),
}
