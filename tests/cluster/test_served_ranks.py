"""Data-parallel ranks of vLLM over the pods of groups: requests reach each that serves, and nothing else.

Requests go to the Service as kube-proxy sends them, and through a gateway and its endpoint picker. Stand-ins
run the commands that are stored, and say which ranks they serve (`vllm_ranks`).
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from intent import Object
from intent.annotations import SERVICE
from tests.builders.lws import changed, container, lws, template
from tests.cluster.testbed.api import ApiError, get, items, path
from tests.cluster.testbed.containers import name_of, report
from tests.cluster.testbed.controllers import apply, becomes
from tests.cluster.testbed.flows import namespace_on
from tests.cluster.testbed.gateway import start_gateway
from tests.cluster.testbed.network import Network, add_pod, ask
from tests.cluster.testbed.nodes import add_gpu_nodes, bind, remove_nodes
from tests.cluster.testbed.pickers import Picker, start_pickers, wait_picker
from tests.cluster.testbed.probes import is_ready
from tests.cluster.testbed.vllm_pods import add_programs, run_engine
from tests.cluster.testbed.wait import kept_doing, until
from tests.cluster.testbed.written import named

NAME: Final = "ranks"
INTERNAL: Final = "-dp 4 -dpl 2"
HYBRID: Final = f"{INTERNAL} --data-parallel-hybrid-lb"
MULTI_PORT: Final = f"{INTERNAL} --data-parallel-multi-port-external-lb"
EXTERNAL: Final = "-dp 2 -tp 2 --data-parallel-external-lb"
SERVERS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    INTERNAL: {"": ("0,1,2,3",)},
    HYBRID: {"": ("0,1",), "-1": ("2,3",)},
    MULTI_PORT: {"": ("0", "1"), "-1": ("2", "3")},
    EXTERNAL: {"": ("0",), "-1": ("1",)},
}
"""The ranks of each server of a pod, by the ending of its name: the leader has none."""
HEALTH: Final[Object] = {"httpGet": {"path": "/health", "port": 8000}}
BODY: Final[Object] = {"model": "stand-in", "prompt": "Hello"}
NOBODY: Final = "127.0.0.1:1"
ENOUGH: Final = 20
"""Requests after which what is asked at times has been asked."""


def asking(args: str, partition: int = 0, **annotations: str) -> Object:
    """Return two groups of two pods, of which those below the partition stay as they are."""
    command = ["vllm", "serve", "M"]
    room = {"limits": {"nvidia.com/gpu": "2"}}
    engine = container(
        image="vllm/vllm-openai:v0.30.0",
        command=command,
        args=args.split(),
        resources=room,
        readinessProbe=HEALTH,
    )
    whole = changed(
        lws(2, template(engine), service=NAME, strategy="queue-size", gateway="gateway"), "spec.replicas", 2
    )
    rolling = {"type": "RollingUpdate", "rollingUpdateConfiguration": {"partition": partition}}
    return named(changed(whole, "spec.rolloutStrategy", rolling), NAME, **annotations)


def expected(*modes: str) -> set[tuple[str, str]]:
    """Return pod and ranks of each server that is asked, with the mode of each group.

    Of groups that differ only leaders are asked if some have none else, and only the first port.
    """
    everywhere, ports = INTERNAL not in modes, 2 if {*modes} == {MULTI_PORT} else 1
    return {
        (f"{NAME}-{group}{pod}", ranks)
        for group, mode in enumerate(modes)
        for pod, servers in SERVERS[mode].items()
        if everywhere or not pod
        for ranks in servers[:ports]
    }


class Answer(NamedTuple):
    """Which way a request went, the pod and the ranks that answered, and what else was said."""

    way: str
    pod: str = ""
    ranks: str = ""
    said: str = ""


@dataclass(slots=True)
class Ranks:
    """The service: where its gateway is, its pods that run, what was answered."""

    there: Network
    namespace: str
    programs: Path
    pickers: list[Picker] = field(default_factory=list)
    gateway: str = NOBODY
    ready: dict[str, bool] = field(default_factory=dict)
    """By uid of the pods that run, whether they were said to be ready."""
    answers: list[Answer] = field(default_factory=list)
    turns: Iterator[int] = field(default_factory=count)

    def look(self) -> None:
        """Run new pods, and say which are ready, as their kubelet does; deleted ones answer still."""
        api = self.there.cluster.api
        for pod in items(api, path("pods", self.namespace), labelSelector=f"{SERVICE}={NAME}"):
            uid = pod["metadata"]["uid"]
            if "deletionTimestamp" in pod["metadata"] or self.ready.get(uid):
                continue
            with suppress(ApiError):  # it is deleted meanwhile
                if uid not in self.ready:
                    self.ready[uid] = False
                    self._run(pod)
                elif is_ready(self.there, pod):
                    report(self.there.cluster, pod, self.there.addresses[name_of(pod)])
                    self.ready[uid] = True

    def _run(self, pod: Object) -> None:
        """Run a pod, and only then bind it to a node: kwok leaves it alone until it is deleted."""
        processes, name = self.there.processes, name_of(pod)
        for each in [each for each in processes if f"{each}/".startswith(f"{name}/")]:
            processes[f"{self.namespace}/before/{len(self.ready)}/{each}"] = processes.pop(each)
        address = add_pod(self.there, name)
        run_engine(self.there, pod, address, self.programs)
        report(self.there.cluster, pod, address, ready=False)
        node, *_ = items(self.there.cluster.api, path("nodes"))
        bind(self.there.cluster, self.namespace, pod["metadata"]["name"], node["metadata"]["name"])

    def pick(self) -> None:
        """Run the next picker, and a gateway that asks it."""
        self.gateway = NOBODY
        self.pickers += start_pickers(self.there, self.namespace, f"{NAME}-epp", 1, beside=self.pickers)
        wait_picker(self.there, self.pickers[-1])
        self.gateway = start_gateway(self.there, self.namespace, self.pickers[-1])

    def ask_service(self) -> None:
        """Ask the next address and port to which kube-proxy sends a connection to the Service."""
        api, service = self.there.cluster.api, f"{NAME}-api"
        spec = get(api, path("services", self.namespace, service))["spec"]
        ports = {one["name"] for one in spec["ports"]}
        slices = items(
            api, path("endpointslices", self.namespace), labelSelector=f"kubernetes.io/service-name={service}"
        )
        found = sorted(
            f"{address}:{port['port']}"
            for one in slices
            for port in one["ports"] or ()
            if port["name"] in ports
            for endpoint in one["endpoints"] or ()
            if endpoint["conditions"]["ready"]
            for address in endpoint["addresses"]
        )
        self._ask("service", found[next(self.turns) % len(found)] if found else NOBODY)

    def ask_gateway(self) -> None:
        """Ask the gateway, which asks the endpoint picker."""
        self._ask("gateway", self.gateway)

    def _ask(self, way: str, where: str) -> None:
        try:
            answer = ask(self.there, where, "/v1/completions", BODY)
            pod, _, ranks = answer.body["engine"].partition(" ")
            self.answers.append(Answer(way, pod, ranks))
        except OSError as error:
            self.answers.append(Answer(way, said=repr(error)))
        except TypeError:
            self.answers.append(Answer(way, said=repr(answer)))

    def reach(self, servers: set[tuple[str, str]]) -> None:
        """Wait until requests reach these servers, also through the gateway, and then no others."""
        since = len(self.answers)
        wanted = {Answer(way, *one) for way in ("service", "gateway") for one in servers}

        def reached() -> set[Answer]:
            nonlocal since
            last = self.answers[since:]
            if not wanted.issuperset(last):
                since += len(last)
            return {*last, *(() if len(last) > ENOUGH else [Answer("too few")])}

        assert becomes(reached, wanted) == wanted


@contextmanager
def served(there: Network, folder: Path, args: str, picker: str) -> Iterator[Ranks]:
    """Run a service with a picker of a generation, and send requests to it until left."""
    with namespace_on(there) as namespace:
        one = Ranks(there, namespace, add_programs(folder, "vllm_ranks"))
        apply(there.cluster, namespace, asking(args, picker=picker))
        with kept_doing(one.look):
            until(lambda: sum(one.ready.values()) == 4, "all pods are ready")
            one.pick()
            with kept_doing(one.ask_service, one.ask_gateway):
                yield one


@pytest.fixture(scope="module")
def room(served_network: Network) -> Iterator[Network]:
    """Have a node without accelerators, to which no scheduler binds pods."""
    add_gpu_nodes(served_network.cluster, 1, gpus=0)
    yield served_network
    remove_nodes(served_network.cluster)


@pytest.mark.parametrize(("args", "picker"), [(EXTERNAL, "gie-1.4"), (MULTI_PORT, "llm-d-0.7")])
def test_every_rank_is_reached_and_no_pod_that_serves_nobody(
    room: Network, tmp_path: Path, args: str, picker: str
) -> None:
    with served(room, tmp_path, args, picker) as one:
        one.reach(expected(args, args))

    assert [answer for answer in one.answers if not answer.ranks] == []


def test_a_rolling_update_to_servers_in_all_pods_and_back_loses_nothing(
    room: Network, tmp_path: Path
) -> None:
    with served(room, tmp_path, INTERNAL, "gie-1.5") as one:
        before = INTERNAL
        one.reach(expected(before, before))
        for mode in (HYBRID, MULTI_PORT, INTERNAL):
            for partition, groups in ((1, (before, mode)), (0, (mode, mode))):
                apply(room.cluster, one.namespace, asking(mode, partition, picker="gie-1.5"))
                one.reach(expected(*groups))
            before = mode

    assert [answer for answer in one.answers if not answer.ranks] == []


def test_a_picker_that_follows_no_ports_of_its_pool_is_replaced(room: Network, tmp_path: Path) -> None:
    with served(room, tmp_path, HYBRID, "gie-1.3") as one:
        one.reach(expected(HYBRID, HYBRID))
        apply(room.cluster, one.namespace, asking(MULTI_PORT, picker="gie-1.3"))
        one.pick()
        one.reach(expected(MULTI_PORT, MULTI_PORT))
