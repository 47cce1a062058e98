"""Prefill and decode under load, while another generation of endpoint pickers becomes the default.

Three clients ask two services throughout, through real gateways, pickers and sidecars. Nothing of a service
changes before its refresh; its picker changes after the last pod with the old sidecar has gone.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from operator import itemgetter
from typing import Any, Final, NamedTuple

import pytest

from catalog.pickers.generations import PICKERS
from intent import Object
from intent.annotations import PICKER, REFRESH, SERVICE
from intent.container import generation_of
from intent.settings import Settings
from tests.builders.isvc import isvc, router, worker
from tests.cluster.test_upgrade_services import at_rest
from tests.cluster.test_upgrade_stored import FOREIGN, restore
from tests.cluster.testbed.api import get, items, patch, path
from tests.cluster.testbed.cluster import api_as, kubectl
from tests.cluster.testbed.containers import name_of, report
from tests.cluster.testbed.controllers import apply, configured, controller_down, told
from tests.cluster.testbed.engines import run_pods, set_engine
from tests.cluster.testbed.flows import ROUTE, Service, namespace_on, request, serve, set_engines
from tests.cluster.testbed.gateway import start_gateway
from tests.cluster.testbed.images import BUILT
from tests.cluster.testbed.namespaces import empty_namespace
from tests.cluster.testbed.network import Network, remove_pods
from tests.cluster.testbed.pickers import end_pickers, start_pickers, wait_picker
from tests.cluster.testbed.services import uids
from tests.cluster.testbed.wait import kept_doing, until
from tests.cluster.testbed.watch import in_order, recorded
from tests.upgrades.stored import APPLIED, COMMIT, SCALED, Stored, stored

CLIENTS: Final = 3
SECONDS: Final = 0.1
"""How long an engine takes for an answer: a request is in flight nearly always."""
OFTEN: Final = 5
"""Answers after which a service, or an engine, is known to go on."""
NOBODY: Final = "10.99.255.1"
"""The address of pods that run nothing."""


class Kept(NamedTuple):
    """A service of the fixture of upgrades: its case and state, its name, and what its author refreshes."""

    case: str
    state: str
    name: str
    written: tuple[str, str]
    decoder: str
    decoders: int
    leaders: int

    @property
    def stored(self) -> Stored:
        """What the earlier release stored."""
        return next(one for one in stored() if (one.case, one.state) == (self.case, self.state))


KEPT: Final = (
    Kept(
        "isvc-readme-disaggregated",
        APPLIED,
        "qwen-pd-service",
        ("inferenceservice", "qwen-pd-service"),
        decoder="qwen-pd-service-decode",
        decoders=4,
        leaders=6,
    ),
    Kept(
        "routes-pd-disaggregation",
        SCALED,
        "qwen",
        ("leaderworkerset", "qwen-decode"),
        decoder="qwen-decode",
        decoders=2,
        leaders=4,
    ),
)


@dataclass(slots=True)
class Load:
    """The services that are asked, and what was answered: the service, the engine, and what was wrong."""

    there: Network
    old: str
    """The generation that the services have."""
    new: str
    """That of the default now."""
    services: dict[str, Service] = field(default_factory=dict)
    left_out: set[str] = field(default_factory=set)
    """Services that are not asked: their new sidecars cannot run here."""
    answers: list[tuple[str, str, str]] = field(default_factory=list)
    before: dict[str, Object] = field(default_factory=dict)
    """What there was of each service before the default became another."""

    def clients(self) -> list[Callable[[], None]]:
        """Return what the clients do: ask one service after the other."""
        return [self._client(at) for at in range(CLIENTS)]

    def _client(self, at: int) -> Callable[[], None]:
        turns = count(at)

        def ask() -> None:
            asked = [one for name, one in self.services.items() if name not in self.left_out]
            if not asked:
                return
            turn = next(turns)
            one = asked[turn % len(asked)]
            try:
                answer = request(one, f"Prompt {turn} of client {at}")
            except OSError as error:
                self.answers.append((one.name, "", repr(error)))
                return
            body = answer.body if isinstance(answer.body, dict) else {}
            is_prefilled = bool(body.get("seen_body", {}).get("kv_transfer_params"))
            wrong = "" if answer.status == 200 and is_prefilled else str(answer)
            self.answers.append((one.name, body.get("engine", ""), wrong))

        return ask

    def answered(self, *engines: str, name: str = "") -> None:
        """Wait until the services, one of them, or each of some engines, have answered often enough."""
        since = len(self.answers)
        wanted = [(1, one) for one in engines] or [(0, one) for one in (name and [name]) or self.services]

        def enough() -> bool:
            last = self.answers[since:]
            return all(sum(one[at] == what for one in last) >= OFTEN for at, what in wanted)

        until(enough, "requests are answered")

    def objects(self, name: str) -> Object:
        """Return what there is of a service, with the uids of its pods."""
        namespace = self.services[name].namespace
        return {"made": at_rest(self.there.cluster, namespace), "uids": uids(self.there.cluster, namespace)}


# --- before -----------------------------------------------------------------------------------------


def running(load: Load, one: Kept, namespace: str) -> None:
    """Run the leaders of a service with their sidecars, its picker, and a gateway."""
    service = serve(load.there, namespace, one.name, one.leaders)
    set_engines(service, {"seconds": SECONDS})
    load.services[one.name] = service


def cleared(there: Network, namespace: str) -> None:
    remove_pods(there, namespace)
    empty_namespace(there.cluster, namespace)


@contextmanager
def from_the_fixture(there: Network) -> Iterator[Load]:
    """Restore what the earlier release stored; this one takes over while requests are in flight."""
    load = Load(there, "llm-d-0.7", Settings().disaggregated_picker)
    with ExitStack() as stack:
        with controller_down(there.cluster):
            for one in KEPT:
                restore(api_as(there.cluster, FOREIGN), one.stored)
                stack.callback(cleared, there, one.stored.namespace)
                running(load, one, one.stored.namespace)
            stack.enter_context(kept_doing(*load.clients()))
            load.before = {name: load.objects(name) for name in load.services}
            load.answered()
        yield load


@contextmanager
def of_another_default(there: Network) -> Iterator[Load]:
    """Make them with an older default; the operator chooses another one while requests are in flight."""
    load = Load(there, "llm-d-0.4", "llm-d-0.7")
    with ExitStack() as stack:
        with configured(there.cluster, disaggregatedPicker=load.old):
            for one in KEPT:
                namespace = stack.enter_context(namespace_on(there))
                apply(there.cluster, namespace, *authored(one))
                scale(load, namespace, one)
                running(load, one, namespace)
            stack.enter_context(kept_doing(*load.clients()))
            load.before = {name: load.objects(name) for name in load.services}
            load.answered()
        stack.enter_context(configured(there.cluster, disaggregatedPicker=load.new))
        yield load


def authored(one: Kept) -> list[Object]:
    """Return what an author wrote, without a namespace."""
    return [
        each | {"metadata": {key: value for key, value in each["metadata"].items() if key != "namespace"}}
        for each in one.stored.written
    ]


def scale(load: Load, namespace: str, one: Kept) -> None:
    """Scale what its author scaled."""
    if one.state == SCALED:
        for each in one.stored.written:
            where = path("leaderworkersets", namespace, each["metadata"]["name"], "scale")
            patch(load.there.cluster.api, where, {"spec": {"replicas": 2}})


ORIGINS: Final = {COMMIT: from_the_fixture, "another default": of_another_default}


@pytest.fixture(scope="module", params=ORIGINS)
def load(served_network: Network, request: pytest.FixtureRequest) -> Iterator[Load]:
    with ORIGINS[request.param](served_network) as found:
        yield found


# --- after ------------------------------------------------------------------------------------------


def seen(there: Network) -> None:
    """Wait until the controller has seen every service: it made the routes of a later one."""
    with namespace_on(there) as later:
        apply(there.cluster, later, isvc(router(httproute=ROUTE), worker(), name="later"))
        until(lambda: items(there.cluster.api, path("httproutes", later)), "the routes of a later service")


def test_another_default_changes_no_picker_and_no_sidecar_and_no_request_fails(load: Load) -> None:
    cluster = load.there.cluster
    seen(load.there)
    for one in KEPT:
        apply(cluster, load.services[one.name].namespace, *authored(one))
    seen(load.there)
    load.answered()

    assert {name: load.objects(name) for name in load.services} == load.before
    assert [generations(load, one) for one in KEPT] == [({load.old}, load.old)] * 2
    assert failures(load) == []


def generations(load: Load, one: Kept) -> tuple[set[str], str]:
    """Return the generations of the sidecars of a service's pods, and that of its picker."""
    found = {generation_of(pod["spec"]) for pod in decoders(load, one)}
    return found, picker(deployment(load, one))


def decoders(load: Load, one: Kept) -> list[Object]:
    selector = f"{SERVICE}={one.name},leaderworkerset.sigs.k8s.io/name={one.decoder}"
    where = path("pods", load.services[one.name].namespace)
    return items(load.there.cluster.api, where, labelSelector=selector)


def deployment(load: Load, one: Kept) -> Object:
    where = path("deployments", load.services[one.name].namespace, f"{one.name}-epp")
    return get(load.there.cluster.api, where)


def picker(obj: Object) -> str:
    """Return the generation of a Deployment: of its label and of its image, which are one."""
    (found,) = obj["spec"]["template"]["spec"]["containers"]
    name: str = obj["metadata"]["labels"][PICKER]
    assert found["image"] == PICKERS[name].image
    return name


def failures(load: Load) -> list[tuple[str, str, str]]:
    return [one for one in load.answers if one[2]]


@pytest.mark.parametrize("one", KEPT, ids=[one.name for one in KEPT])
def test_a_refresh_changes_the_picker_after_the_last_pod_with_the_old_sidecar(load: Load, one: Kept) -> None:
    cluster, service = load.there.cluster, load.services[one.name]
    (other,) = load.services.keys() - {one.name}
    beside, old = load.objects(other), {pod["metadata"]["uid"] for pod in decoders(load, one)}
    if load.new not in BUILT:
        load.left_out.add(one.name)
    watched = (path(each, service.namespace) for each in ("pods", "deployments", "configmaps"))
    with recorded(cluster.api, *watched) as states:
        kubectl(cluster, "annotate", *one.written, f"{REFRESH}=1", "--overwrite", "-n", service.namespace)
        for at in reversed(range(one.decoders)):
            replaced(load, one, at, old)
        until(lambda: picker(deployment(load, one)) == load.new, "the picker is of the new generation")
        if load.new in BUILT:
            pick(load, one)
        until(lambda: all(changes(one, states)), "both changes are watched")

    gone = max(version(each) for each in states if each["metadata"]["uid"] in old)
    assert [version(first) > gone for first in changes(one, states)] == [True, True]
    assert generations(load, one) == ({load.new}, load.new)
    assert load.objects(other) == beside
    assert failures(load) == []


def replaced(load: Load, one: Kept, at: int, old: set[str]) -> None:
    """Run the next pod of a decoder; while one old pod is left, it is told what the picker waits for.

    The pod before it answers still what it was asked.
    """
    there, namespace, name = load.there, load.services[one.name].namespace, f"{one.decoder}-{at}"

    def new() -> list[Object]:
        found = [pod for pod in decoders(load, one) if pod["metadata"]["name"] == name]
        return [pod for pod in found if pod["metadata"]["uid"] not in old]

    (pod,) = until(new, f"{name} is made again")
    if at == 1:  # one old pod is left, until this one is ready
        until(lambda: "FI823" in {code for _, code in told(there.cluster, namespace)}, "it is told")
        assert generations(load, one) == ({load.old, load.new}, load.old)
    for each in [each for each in there.processes if f"{each}/".startswith(f"{name_of(pod)}/")]:
        there.processes[f"{namespace}/before/{each}"] = there.processes.pop(each)
    if load.new not in BUILT:
        report(there.cluster, pod, NOBODY)
        return
    (engine,) = run_pods(there, namespace, name)
    set_engine(there, engine, seconds=SECONDS)
    load.answered(name)


def pick(load: Load, one: Kept) -> None:
    """Run the next picker and a gateway that asks it; those before it end when they are asked no more."""
    there, before = load.there, load.services[one.name]
    (found,) = start_pickers(there, before.namespace, f"{one.name}-epp", 1, beside=[before.picker])
    wait_picker(there, found)
    gateway = start_gateway(there, before.namespace, found, name="next-gateway")
    load.services[one.name] = replace(before, picker=found, gateway=gateway)
    load.answered(name=one.name)
    end_pickers(there, before.picker)


def version(obj: Object) -> int:
    return int(obj["metadata"]["resourceVersion"])


def changes(one: Kept, states: list[Object]) -> list[Object]:
    """Return the first other states of the picker's Deployment, by its template, and of its ConfigMap."""
    parts: dict[str, Callable[[Object], Any]] = {
        f"{one.name}-epp": lambda obj: obj["spec"]["template"],
        f"{one.name}-epp-config": itemgetter("data"),
    }
    found = []
    for name, part in parts.items():
        first, *later = (each for each in in_order(states) if each["metadata"]["name"] == name)
        found.append(next((each for each in later if part(each) != part(first)), {}))
    return found
