"""Kubernetes' own autoscaler scales the roles of InferenceServices, and the controller lets it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import pytest

from intent import Object
from tests.builders.autoscaling import external, scaling
from tests.builders.isvc import decoder, isvc, prefiller
from tests.builders.patience import PATIENCE
from tests.cluster.testbed.api import MERGE_PATCH, ApiError, call, create, delete, get, items, path
from tests.cluster.testbed.audit import stored, words
from tests.cluster.testbed.cluster import Cluster, kubeconfig
from tests.cluster.testbed.control_plane import kill_process, start_process
from tests.cluster.testbed.controllers import apply, becomes, required
from tests.cluster.testbed.groups import bound
from tests.cluster.testbed.namespaces import new_namespace
from tests.cluster.testbed.nodes import add_gpu_nodes
from tests.cluster.testbed.pki import issue
from tests.cluster.testbed.rollouts import caught_up, rollout
from tests.cluster.testbed.services import says
from tests.cluster.testbed.stand_in import Reply, answering
from tests.cluster.testbed.wait import until

# --- an API of external metrics -----------------------------------------------------------------------
# A test sets its values. The API server passes requests of the metrics API on to a Service. This one has an
# external name, so no network of pods is needed.

VERSION: Final = "external.metrics.k8s.io/v1beta1"
ROOT: Final = f"/apis/{VERSION}"
SERVICE: Final = "test-metrics"
HOME: Final = "default"
API_SERVICES: Final = "/apis/apiregistration.k8s.io/v1/apiservices"
AUTOSCALER: Final = "horizontal-pod-autoscaler"
PERIOD: Final = 0.5
"""Seconds between two decisions of the autoscaler."""


@dataclass(slots=True)
class Metrics:
    """The values of the metrics, by namespace and name; one without a value is an error."""

    values: dict[tuple[str, str], int] = field(default_factory=dict)

    def reply(self, where: str, _body: bytes) -> Reply:
        """Answer a GET."""
        found = self._found(where)
        none = {"kind": "Status", "code": 404, "message": "no value"}
        return Reply(200 if found else 404, json.dumps(found or none).encode())

    def _found(self, where: str) -> Object | None:
        if where == ROOT:
            return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": VERSION, "resources": []}
        words = where.removeprefix(f"{ROOT}/namespaces/").split("/")
        value = self.values.get((words[0], words[-1]))
        if value is None:
            return None
        time = "2026-01-01T00:00:00Z"
        item = {"metricName": words[-1], "metricLabels": {}, "timestamp": time, "value": str(value)}
        return {"kind": "ExternalMetricValueList", "apiVersion": VERSION, "metadata": {}, "items": [item]}


@contextmanager
def autoscaling(cluster: Cluster) -> Iterator[Metrics]:
    """Run the autoscaler and the metrics API for a while."""
    metrics = Metrics()
    pair = cluster.directory / SERVICE
    issue(cluster.authority, pair, f"{SERVICE}.{HOME}.svc")
    with answering(metrics.reply, pair) as port:
        _register(cluster, port)
        _start_autoscaler(cluster)
        try:
            yield metrics
        finally:
            kill_process(cluster, AUTOSCALER)
            delete(cluster.api, f"{API_SERVICES}/v1beta1.external.metrics.k8s.io")
            delete(cluster.api, path("services", HOME, SERVICE))


def _start_autoscaler(cluster: Cluster) -> None:
    own = str(kubeconfig(cluster, "kube-controller-manager"))
    binary = str(cluster.built.binary("kube-controller-manager"))
    flags = [
        *("--kubeconfig", own, "--leader-elect=false", "--secure-port=0"),
        *("--controllers=horizontal-pod-autoscaler-controller", "--use-service-account-credentials=false"),
        f"--horizontal-pod-autoscaler-sync-period={PERIOD}s",
    ]
    start_process(cluster, AUTOSCALER, [binary, *flags])


def _register(cluster: Cluster, port: int) -> None:
    """Have the API server pass requests on, and wait until it does."""
    spec = {"type": "ExternalName", "externalName": "localhost", "ports": [{"port": port}]}
    create(cluster.api, path("services", HOME), {"metadata": {"name": SERVICE}, "spec": spec})
    group, _, version = VERSION.partition("/")
    registered = {
        "metadata": {"name": f"{version}.{group}"},
        "spec": {
            "group": group,
            "version": version,
            "service": {"namespace": HOME, "name": SERVICE, "port": port},
            "insecureSkipTLSVerify": True,
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
        },
    }
    create(cluster.api, API_SERVICES, registered)
    until(lambda: _is_passed_on(cluster), "the API server passes requests on")


def _is_passed_on(cluster: Cluster) -> bool:
    try:
        return bool(get(cluster.api, ROOT)["groupVersion"] == VERSION)
    except (ApiError, KeyError):
        return False


NAME: Final = "chat"
PREFILL, DECODE = (f"{NAME}-{role}" for role in ("prefill", "decode"))
AT_ONCE: Final = {"scaleDown": {"stabilizationWindowSeconds": 0}}
QUEUE: Final = scaling(external(), behavior=AT_ONCE)
"""One decoder for five waiting requests, four at most."""
REST: Final = 60.0
"""Seconds after which an empty role rests."""
HEALTHY: Final = {"Failed": ("False", "NothingFailed")}


@pytest.fixture(scope="module")
def metrics(served: Cluster) -> Iterator[Metrics]:
    """The autoscaler runs, and asks this."""
    with autoscaling(served) as values:
        yield values


@pytest.fixture
def namespace(served: Cluster, metrics: Metrics) -> Iterator[str]:
    """A new namespace in which ten requests wait."""
    with new_namespace(served) as name:
        metrics.values[name, "queue"] = 10
        yield name


@pytest.fixture(scope="module", autouse=True)
def emptied(served: Cluster, metrics: Metrics) -> Iterator[str]:  # noqa: ARG001 - which ends after it
    """A namespace in which KEDA scaled the decoders to 0 at the start: a role rests after a minute."""
    with new_namespace(served) as name:
        apply(served, name, asking())
        until(lambda: len(bound(served, name)) == 2, "a group of each role")
        scale(served, name, 0, "keda")
        yield name


def asking(**fields: Any) -> Object:
    """Return a service with one prefiller, and decoders with these fields."""
    return isvc(prefiller(replicas=1), decoder(**fields), name=NAME)


def scaled_to(cluster: Cluster, namespace: str, count: int) -> None:
    """Wait until the decoders have so many replicas."""

    def there() -> bool:
        named = {"fieldSelector": f"metadata.name={DECODE}"}
        return [one["spec"]["replicas"] for one in _sets(cluster, namespace, named)] == [count]

    until(there, f"{count} replicas")


def _sets(cluster: Cluster, namespace: str, query: dict[str, str]) -> list[Object]:
    return items(cluster.api, path("leaderworkersets", namespace), **query)


def scale(cluster: Cluster, namespace: str, count: int, manager: str) -> None:
    """Scale as another program does."""
    target = f"{path('leaderworkersets', namespace, DECODE, 'scale')}?fieldManager={manager}"
    call(cluster.api, "PATCH", target, {"spec": {"replicas": count}}, MERGE_PATCH)


def autoscalers(cluster: Cluster, namespace: str) -> dict[str, Object]:
    found = items(cluster.api, path("horizontalpodautoscalers", namespace))
    return {one["metadata"]["name"]: one for one in found}


def written_sets(cluster: Cluster, namespace: str) -> list[Object]:
    """Return the writes of the controller to LeaderWorkerSets of a namespace, dry runs aside."""
    return [
        one
        for one in stored(cluster)
        if words(one)[1] == "leaderworkersets" and one["objectRef"].get("namespace") == namespace
    ]


# --- scaling ----------------------------------------------------------------------------------------------


def test_a_queue_scales_decoders_and_the_controller_writes_none_of_it(
    served: Cluster, metrics: Metrics, namespace: str
) -> None:
    apply(served, namespace, asking(scaling=QUEUE))
    scaled_to(served, namespace, 2)
    before = written_sets(served, namespace)
    # two groups, while LWS reports no more: 11 requests are within the autoscaler's tolerance of a tenth
    for queue, count in ((20, 4), (100, 4), (12, 3), (1, 1)):
        metrics.values[namespace, "queue"] = queue
        scaled_to(served, namespace, count)
    caught_up(served, namespace)

    says(served, namespace, NAME, HEALTHY)
    assert written_sets(served, namespace) == before
    assert sorted(one["objectRef"]["name"] for one in before) == [DECODE, PREFILL]


def test_scaled_replicas_join_the_gang_whole(served: Cluster, metrics: Metrics, namespace: str) -> None:
    metrics.values[namespace, "queue"] = 1
    apply(served, namespace, asking(scaling=QUEUE))
    until(lambda: len(bound(served, namespace)) == 2, "a group of each role")
    add_gpu_nodes(served, 7)
    until(lambda: set(bound(served, namespace).values()) == {(2, 2)}, "the gang is on nodes")
    gang = required(served, namespace, NAME)

    metrics.values[namespace, "queue"] = 15
    scaled_to(served, namespace, 3)

    whole = {f"{PREFILL}-0": (2, 2), **{f"{DECODE}-{at}": (2, 2) for at in range(3)}}
    one_waits = [whole | {f"{DECODE}-{at}": (0, 2)} for at in (1, 2)]
    until(lambda: bound(served, namespace) in one_waits, "one of two more groups is bound")
    assert required(served, namespace, NAME) == gang


# --- from one to another ----------------------------------------------------------------------------------


def test_from_replicas_to_scaling_and_back_no_pod_is_another_one(
    served: Cluster, metrics: Metrics, namespace: str
) -> None:
    metrics.values[namespace, "queue"] = 15
    apply(served, namespace, asking(replicas=3))
    scaled_to(served, namespace, 3)
    until(lambda: len(rollout(served, namespace, DECODE).pods) == 6, "three groups")
    before = rollout(served, namespace, DECODE)

    apply(served, namespace, asking(scaling=QUEUE))
    until(lambda: autoscalers(served, namespace), "the autoscaler is made")
    active = {"AbleToScale", "ScalingActive"}
    until(lambda: active <= truths(autoscalers(served, namespace).get(DECODE, {})), "it has decided")
    caught_up(served, namespace)
    between = rollout(served, namespace, DECODE)
    apply(served, namespace, asking(replicas=3))
    until(lambda: not autoscalers(served, namespace), "the autoscaler is deleted")
    caught_up(served, namespace)

    assert (between, rollout(served, namespace, DECODE)) == (before, before)
    says(served, namespace, NAME, HEALTHY)


def truths(autoscaler: Object) -> set[str]:
    """Return the conditions of an autoscaler that are true."""
    found = autoscaler.get("status", {}).get("conditions", ())
    return {one["type"] for one in found if one["status"] == "True"}


# --- other hands ------------------------------------------------------------------------------------------


def test_decoders_at_zero_rest_and_are_required_again(served: Cluster, emptied: str) -> None:
    """KEDA scales to 0 and back; its autoscaler is for what lies between."""
    resting, both = {PREFILL: (1, 2), DECODE: (0, 2)}, {PREFILL: (1, 2), DECODE: (1, 2)}
    rested = becomes(lambda: required(served, emptied, NAME), (2, resting), REST + PATIENCE)
    add_gpu_nodes(served, 4)
    alone = becomes(lambda: bound(served, emptied), {f"{PREFILL}-0": (2, 2)})

    scale(served, emptied, 1, "keda")
    again = becomes(lambda: required(served, emptied, NAME), (4, both))
    whole = {f"{PREFILL}-0": (2, 2), f"{DECODE}-0": (2, 2)}

    assert (rested, alone) == ((2, resting), {f"{PREFILL}-0": (2, 2)})
    assert (again, becomes(lambda: bound(served, emptied), whole)) == ((4, both), whole)
