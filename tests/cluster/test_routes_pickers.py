"""Two pickers of a service, of which one works: it is killed, told to end, evicted, and replaced.

One service is an InferenceService, the other an annotated LeaderWorkerSet; each names its generation, and how
many pickers it wants. Tests of a service stand in the order in which its pickers come and go.
"""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Final

import pytest

from intent import Object
from tests.builders.isvc import isvc, router, worker
from tests.builders.lws import container, lws, template
from tests.cluster.testbed.answers import accept, add_gateway, conditions
from tests.cluster.testbed.api import ApiError, create, get, items, path
from tests.cluster.testbed.containers import report
from tests.cluster.testbed.controllers import apply, becomes, configured
from tests.cluster.testbed.engines import received, run_pods, set_engine
from tests.cluster.testbed.flows import ROUTE, Service, namespace_on, request
from tests.cluster.testbed.gateway import start_gateway
from tests.cluster.testbed.network import Network
from tests.cluster.testbed.pickers import Picker, end_pickers, run_again, serves, start_pickers
from tests.cluster.testbed.processes import alive, kill, stop
from tests.cluster.testbed.wait import until
from tests.cluster.testbed.written import named
from tests.tiers import WHOLE

NAME: Final = "demo"
LEASE_SECONDS: Final = 15.0
RETRY_SECONDS: Final = 2.0
"""Defaults of controller-runtime (`pkg/manager`), which no flag of a picker changes."""
SLACK: Final = 10.0
"""Seconds for a busy machine; less than what tells a Lease that is released from one that ends."""
ENGINE: Final = template(container(args=["org/M"], resources=None))
HOW: Final = {"fusioninfer.io/picker-replicas": "2"}


def of_inference_service(row: str, strategy: str) -> Object:
    how = {**HOW, "fusioninfer.io/picker": row}
    engine = worker(multinode=None, template=ENGINE)
    return isvc(router(strategy=strategy, httproute=ROUTE), engine, name=NAME, annotations=how)


def of_leader_worker_set(row: str, strategy: str) -> Object:
    asked = lws(
        1, ENGINE, service=NAME, strategy=strategy, gateway="gateway", picker=row, picker_replicas="2"
    )
    return named(asked, f"{NAME}-inference")


SERVICES: Final = {"gie-1.5": of_inference_service, "llm-d-0.7": of_leader_worker_set}
"""How each generation of endpoint pickers is asked for."""
TRIED: Final = ("gie-1.5", "llm-d-0.7") if WHOLE else ("gie-1.5",)
"""Their leader election is the same code of controller-runtime: `make soak SOAK=pickers` tries both."""


@dataclass(frozen=True, slots=True)
class Several:
    """A service, the generation of its pickers, and those that there are now."""

    service: Service
    row: str
    pickers: list[Picker]


@pytest.fixture(scope="module", params=TRIED)
def several(served_network: Network, request: pytest.FixtureRequest) -> Iterator[Several]:
    """Run a service of one engine, its two pickers, and a gateway that calls whichever is ready."""
    row: str = request.param
    with configured(served_network.cluster, secureServing=False), namespace_on(served_network) as namespace:
        add_gateway(served_network.cluster, namespace)
        apply(served_network.cluster, namespace, SERVICES[row](row, "queue-size"))
        name = f"{NAME}-inference-0"
        until(lambda: name in names(served_network, namespace), "the engine has its pod")
        engines = {each.name: each for each in run_pods(served_network, namespace, name)}
        pickers = start_pickers(served_network, namespace, f"{NAME}-epp", 2)
        gateway = start_gateway(served_network, namespace, *pickers)
        service = Service(served_network, namespace, NAME, engines, pickers[0], gateway)
        found = Several(service, row, pickers)
        leader(found)
        flows(service)
        yield found


def test_one_of_them_leads_and_writes_an_event(several: Several) -> None:
    where = path("events", several.service.namespace)
    told = until(
        lambda: items(several.service.there.cluster.api, where, fieldSelector="reason=LeaderElection"),
        "the leader tells of it",
    )

    assert {each["involvedObject"]["kind"] for each in told} == {"Lease"}


def test_the_service_is_ready_with_one_of_two(several: Several) -> None:
    cluster, namespace = several.service.there.cluster, several.service.namespace
    accept(cluster, namespace, NAME)

    accepted = ("True", "RoutesAccepted")

    assert becomes(lambda: conditions(cluster, namespace, NAME).get("RoutesReady"), accepted) == accepted


def test_when_the_leader_is_killed_the_other_takes_over_within_its_lease(several: Several) -> None:
    first, other = leader_first(several)

    kill(first.process)
    seconds = flows(several.service)

    assert leader(several) is other
    assert seconds < LEASE_SECONDS + RETRY_SECONDS + SLACK


def test_a_leader_that_is_terminated_finishes_its_requests_and_releases_the_lease(several: Several) -> None:
    revive(several)
    first, other = leader_first(several)
    before = asked(several)
    slow(several, 3)
    with ThreadPoolExecutor(1) as threads:
        last = threads.submit(request, several.service)
        until(lambda: asked(several) > before, "the request is on its way")
        status = stop(first.process, grace=LEASE_SECONDS)
    slow(several, 0)
    seconds = flows(several.service)

    assert (last.result().status, status) == (200, 0)
    assert leader(several) is other
    assert seconds < 2 * RETRY_SECONDS + SLACK


def test_while_nobody_leads_no_picker_is_evicted(several: Several) -> None:
    revive(several)
    first, other = leader_first(several)
    allowed(several, 1)

    evict(several, first)
    end_pickers(several.service.there, first)
    several.pickers[:] = [other]
    allowed(several, 0)
    with pytest.raises(ApiError, match="disruption budget"):
        evict(several, other, dryRun=["All"])

    assert leader(several) is other
    allowed(several, 1)
    evict(several, other, dryRun=["All"])


def test_the_next_ones_replace_them_though_only_one_is_ever_ready(several: Several) -> None:
    there, namespace = several.service.there, several.service.namespace
    before = deployment(several)["metadata"]["generation"]

    apply(there.cluster, namespace, SERVICES[several.row](several.row, "kv-cache-utilization"))
    until(lambda: deployment(several)["metadata"]["generation"] > before, "the controller wants others")
    end_pickers(there, *several.pickers)
    several.pickers[:] = start_pickers(there, namespace, f"{NAME}-epp", 2)
    leader(several)

    flows(replace(several.service, gateway=start_gateway(there, namespace, *several.pickers)))
    assert becomes(lambda: pods_of(several), (2, 2, 1)) == (2, 2, 1)


def leader(several: Several) -> Picker:
    """Wait until one picker leads; say of each whether it is ready."""
    there = several.service.there
    (found,) = until(lambda: ready(several), "one picker leads")
    for each in several.pickers:
        report(there.cluster, each.pod, each.address, ready=each is found)
    return found


def leader_first(several: Several) -> tuple[Picker, Picker]:
    """Return the one of two that leads, and the other."""
    found = leader(several)
    (other,) = [each for each in several.pickers if each is not found]
    return found, other


def ready(several: Several) -> list[Picker]:
    there = several.service.there
    return [each for each in several.pickers if alive(each.process) and serves(there, each)]


def flows(service: Service) -> float:
    """Wait until requests are answered; return after how many seconds."""
    start = time.monotonic()
    until(lambda: request(service).status == 200, "requests are answered")
    return time.monotonic() - start


def revive(several: Several) -> None:
    """Start the containers again that have ended, as the kubelet does."""
    for at, each in enumerate(several.pickers):
        if not alive(each.process):
            several.pickers[at] = run_again(several.service.there, each.pod, each.address)


def slow(several: Several, seconds: float) -> None:
    for engine in several.service.engines.values():
        set_engine(several.service.there, engine, seconds=seconds)


def asked(several: Several) -> int:
    """Count the requests that have come to the engine."""
    return sum(len(received(engine)) for engine in several.service.engines.values())


def evict(several: Several, picker: Picker, **options: Any) -> None:
    """Evict a pod, as `kubectl drain` does."""
    metadata = {key: picker.pod["metadata"][key] for key in ("name", "namespace")}
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata, "deleteOptions": options}
    where = path("pods", several.service.namespace, metadata["name"], "eviction")
    create(several.service.there.cluster.api, where, eviction)


def allowed(several: Several, evictions: int) -> None:
    """Wait until so many evictions are allowed."""
    where = path("poddisruptionbudgets", several.service.namespace, f"{NAME}-epp")
    api = several.service.there.cluster.api
    until(
        lambda: get(api, where).get("status", {}).get("disruptionsAllowed") == evictions,
        f"{evictions} evictions are allowed",
    )


def deployment(several: Several) -> Object:
    where = path("deployments", several.service.namespace, f"{NAME}-epp")
    return get(several.service.there.cluster.api, where)


def pods_of(several: Several) -> tuple[int, int, int]:
    """Count the pods of the Deployment: all, those of its present template, those that are available."""
    status = deployment(several)["status"]
    all_pods, updated, available = (
        status.get(key, 0) for key in ("replicas", "updatedReplicas", "availableReplicas")
    )
    return all_pods, updated, available


def names(there: Network, namespace: str) -> set[str]:
    return {pod["metadata"]["name"] for pod in items(there.cluster.api, path("pods", namespace))}
