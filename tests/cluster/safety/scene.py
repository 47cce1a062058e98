"""Where the safety law is tried: a cluster, two controllers behind proxies, services that run, a witness."""

import http.client
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Final

from intent import Object
from tests.cluster.chaos.kubelet import Kubelet
from tests.cluster.chaos.people import Service, files
from tests.cluster.safety.proxy import Proxy, proxy
from tests.cluster.safety.witness import Seen, Witness, witness
from tests.cluster.testbed.api import ApiError, delete, items, path
from tests.cluster.testbed.cluster import Cluster, kubeconfig_for, run_kubectl
from tests.cluster.testbed.control_plane import kill_process
from tests.cluster.testbed.controllers import LEASE
from tests.cluster.testbed.groups import LWS_LABELS
from tests.cluster.testbed.namespaces import add_namespace, empty_namespace
from tests.cluster.testbed.ours import CONTROLLERS, start_sync
from tests.cluster.testbed.pki import issue
from tests.cluster.testbed.services import made
from tests.cluster.testbed.written import CLIENT_SIDE, SERVER_SIDE, Words

TIMING: Final = {"--lease-duration": 6, "--renew-deadline": 4, "--retry-period": 1}
"""Seconds of the Lease, so that a leader that is killed is replaced within a round."""
PATIENCE: Final = 90.0
"""Seconds until all is well after the last fault ended."""
LIVE: Final = (
    Service("lws", "pair", there=True, replicas=2),
    Service("isvc", "rendered-pair", there=True, replicas=2),
)
"""The services that run all the time: an annotated LeaderWorkerSet each for prefill and decode, and an
InferenceService with a router."""


class NotTakenError(Exception):
    """The API server refused a write until the time was up."""


@dataclass(slots=True)
class Scene:
    """Everything that a fault may touch: the live services in a namespace, a hostile tenant in another."""

    kubelet: Kubelet
    proxies: Mapping[str, Proxy]
    """By the name of the controller's process."""
    namespace: str
    hostile: str
    witness: Witness
    licensed: set[str] = field(default_factory=set)
    """Beginnings of the names of objects that an author of the scenario changed or deleted."""
    spared: set[str] = field(default_factory=set)
    """The same, and uids, for the round that is played now."""
    wanted: Mapping[tuple[str, str], Object] = field(default_factory=dict)
    """The objects of the live services before the faults, by resource and name."""
    judged: int = 0
    """How many deletions were judged so far."""

    @property
    def cluster(self) -> Cluster:
        """The cluster of the processes."""
        return self.kubelet.cluster

    @property
    def leader(self) -> str:
        """The process that wrote the Lease last."""
        return max(self.proxies, key=lambda name: self.proxies[name].renewed)

    @property
    def standby(self) -> str:
        """The other process."""
        return next(name for name in self.proxies if name != self.leader)

    def license(self, *beginnings: str) -> None:
        """Allow that objects whose names begin so are deleted: their author changes or deletes them."""
        self.licensed |= {*beginnings}

    def spare(self, *beginnings: str) -> None:
        """Allow that such objects are deleted until the round ends; also those with one of these uids."""
        self.spared |= {*beginnings}

    # --- acts -----------------------------------------------------------------------------------------

    def kubectl(self, *words: str, stdin: str = "", namespace: str = "") -> str:
        """Have kubectl do something once; returns what it said on standard error if it was refused."""
        own = f"--namespace={namespace or self.namespace}"
        done = run_kubectl(self.cluster, *words, own, stdin=stdin)
        return done.stderr if done.returncode else ""

    def insist(self, *words: str, stdin: str = "", namespace: str = "") -> None:
        """Have kubectl do something, again and again until it is taken."""
        refusals = [""]

        def taken() -> bool:
            refusals.append(self.kubectl(*words, stdin=stdin, namespace=namespace))
            return not refusals[-1]

        if not self.kubelet.tend_until(taken, PATIENCE):
            raise NotTakenError(f"kubectl {' '.join(words)}: {refusals[-1]}")

    def apply(self, *services: Service, words: Words = CLIENT_SIDE, insist: bool = True) -> None:
        """Apply the files of services; server-side with force, since others wrote some of the fields."""
        force = ("--force-conflicts",) if words == SERVER_SIDE else ()
        written = [obj for service in services for obj in files(service)]
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": written})
        (self.insist if insist else self.kubectl)(*words, *force, "--filename=-", stdin=text)

    def start_anew(self) -> None:
        """Kill both controllers. They are started again soon, and need not wait for the Lease to run out."""
        for name in self.proxies:
            self.kubelet.kill(name)
        self.free_lease()

    def free_lease(self) -> None:
        """Delete the Lease of a holder that was killed: the next one need not wait."""
        delete(self.cluster.api, LEASE)

    def is_tried_since(self, moment: float, resource: str) -> bool:
        """Return whether a controller wrote such an object, or tried to, since a moment (monotonic)."""
        writes = (write for line in self.proxies.values() for write in tuple(line.writes))
        return any(at > moment and call.resource == resource for at, call in writes)

    def rest(self, seconds: float) -> None:
        """Let time pass; processes that ended are started again."""
        self.kubelet.tend_until(lambda: False, seconds)

    # --- what is there --------------------------------------------------------------------------------

    def is_served(self, service: Service) -> bool:
        """Return whether a service has its PodGroup, and all its pods are bound."""
        names = {
            obj["metadata"]["name"] for obj in items(self.cluster.api, path("podgroups", self.namespace))
        }
        pods = _engines(self.cluster, self.namespace, service.name)
        bound = sum(bool(pod["spec"].get("nodeName")) for pod in pods)
        return service.name in names and len(pods) == bound >= _wanted_pods(service)

    def is_routed(self) -> bool:
        """Return whether all live services have their routes: the HTTPRoute is made last."""
        routes = {
            obj["metadata"]["name"] for obj in items(self.cluster.api, path("httproutes", self.namespace))
        }
        return routes >= {f"{one.name}-httproute" for one in LIVE}

    def unwell(self) -> list[str]:
        """Return how the live services differ from what they were before the faults."""
        try:
            return [*self._differing(), *(one.name for one in LIVE if not self.is_served(one))]
        except (ApiError, OSError, http.client.HTTPException) as error:
            return [f"no answer: {error}"]

    def _differing(self) -> Iterator[str]:
        live = made(self.cluster, self.namespace)
        for key, wanted in self.wanted.items():
            if live.get(key) != wanted:
                yield f"{'/'.join(key)} {'differs' if key in live else 'is missing'}"

    def writes(self, namespace: str, since: float) -> int:
        """Count the writes of both controllers in a namespace, since a moment (monotonic)."""
        return sum(
            at >= since and call.namespace == namespace
            for line in self.proxies.values()
            for at, call in tuple(line.writes)
        )

    def crashed(self) -> list[str]:
        """Return the controllers that ended by an error since the last call; to lose the Lease is none."""
        ended = [one for one in self.kubelet.crashes if one.startswith(CONTROLLERS)]
        self.kubelet.crashes.clear()
        return [one for one in ended if LOST not in one]

    def unlawful(self) -> list[Seen]:
        """Return the objects that were deleted since the last call, though no author had a part in it."""
        deleted = tuple(self.witness.deleted.values())
        new, self.judged = deleted[self.judged :], len(deleted)
        licensed = (*self.licensed, *self.spared)
        self.spared.clear()
        return [one for one in new if not one.name.startswith(licensed) and one.uid not in licensed]


def _engines(cluster: Cluster, namespace: str, service: str) -> list[Object]:
    """List the pods of the LeaderWorkerSets of a service."""
    labelled = items(cluster.api, path("pods", namespace), labelSelector=f"{LWS_LABELS}name")
    return [pod for pod in labelled if pod["metadata"]["name"].startswith(f"{service}-")]


def _wanted_pods(service: Service) -> int:
    """Count the pods that a service has at least: its groups have two, and a pair has one prefill group."""
    return 2 * (service.replicas + service.shape.endswith("pair"))


# --- setting up -------------------------------------------------------------------------------------

LOST: Final = "leadership lost"
"""The last line of a controller that gives up the Lease, and ends."""


@contextmanager
def controllers(cluster: Cluster, module: str = "fusioninfer") -> Iterator[Mapping[str, Proxy]]:
    """Run two controllers, each behind a proxy of its own; `module` is started in place of the command."""
    folder = cluster.directory / "proxy"
    issue(cluster.authority, folder)
    authority = cluster.directory / "ca.crt"
    with ExitStack() as stack:
        proxies = {name: stack.enter_context(proxy(cluster.url, authority, folder)) for name in CONTROLLERS}
        stack.callback(_stop, cluster)
        for name, line in proxies.items():
            address = f"https://127.0.0.1:{line.port}"
            file = cluster.directory / f"{name}-proxied.kubeconfig"
            file.write_text(json.dumps(kubeconfig_for(cluster, address, name, cluster.tokens[name])))
            port = cluster.ports[f"{name}-metrics"]
            flags = {"--kubeconfig": file, "--metrics-port": port, **TIMING}
            start_sync(cluster, name, flags, module)
        yield proxies


def _stop(cluster: Cluster) -> None:
    """End the controllers, and take the Lease away: the next ones need not wait for it."""
    for name in CONTROLLERS:
        if name in cluster.processes:
            kill_process(cluster, name)
    delete(cluster.api, LEASE)


@contextmanager
def scene(cluster: Cluster, proxies: Mapping[str, Proxy]) -> Iterator[Scene]:
    """Set up namespaces and live services, and a witness of them."""
    namespace, hostile = add_namespace(cluster), add_namespace(cluster)
    try:
        with witness(cluster.api, namespace) as seen:
            one = Scene(Kubelet(cluster), proxies, namespace, hostile, seen)
            one.apply(*LIVE)
            until(one, lambda: not one.unwell() and one.is_routed(), "the live services run")
            one.rest(2.0)
            one.wanted = made(cluster, namespace)
            yield one
    finally:
        for name in (hostile, namespace):
            empty_namespace(cluster, name)


def until(one: Scene, check: Callable[[], bool], what: str, seconds: float = PATIENCE) -> float:
    """Wait until something is true, tending the processes; gives the seconds that it took."""
    began = time.monotonic()
    if not one.kubelet.tend_until(check, seconds):
        raise TimeoutError(f"not within {seconds:.0f} s: {what}")
    return time.monotonic() - began
