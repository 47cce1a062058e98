"""The files of docs/examples, applied with kubectl: what is stored and created, and which pods are bound."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

import pytest

from intent import Object
from intent.annotations import SERVICE
from tests.builders.examples import services
from tests.cluster.testbed.api import items, path
from tests.cluster.testbed.cluster import Cluster, run_kubectl
from tests.cluster.testbed.controllers import becomes
from tests.cluster.testbed.namespaces import add_namespace, empty_namespace
from tests.cluster.testbed.nodes import add_gpu_nodes, remove_nodes
from tests.cluster.testbed.services import comparable
from tests.cluster.testbed.written import composed_offline

NODES: Final = 10
"""Of 8 GPUs each: as many as the largest service needs."""
REVISION: Final = re.compile(r"-[0-9a-f]{8}(?=-|$)")
"""The revision in names of a DisaggregatedSet: offline it is another hash than in the cluster."""
VOLCANO: Final = "volcano"


class Applied(NamedTuple):
    """A service that was applied: its namespace, what kubectl said, and what `fusioninfer expand` prints."""

    cluster: Cluster
    namespace: str
    service: str
    said: str
    offline: list[Object]


@pytest.fixture(scope="module")
def roomy(served: Cluster) -> Iterator[Cluster]:
    add_gpu_nodes(served, NODES)
    yield served
    remove_nodes(served)


@pytest.fixture(scope="module", params=services())
def applied(roomy: Cluster, request: pytest.FixtureRequest) -> Iterator[Applied]:
    namespace, files = add_namespace(roomy), services()[request.param]
    offline = composed_offline(namespace, *files)
    said = [run_kubectl(roomy, "apply", "--namespace", namespace, "-f", str(file)) for file in files]
    assert [each.stderr for each in said if each.returncode] == []
    yield Applied(roomy, namespace, request.param, "".join(each.stderr for each in said), offline)
    empty_namespace(roomy, namespace)


def test_it_is_admitted_without_warnings(applied: Applied) -> None:
    """A service in two files waits for its second file: that is said of the first (FI410)."""
    waits = "(FI410)" if len(services()[applied.service]) > 1 else "no code"

    assert [line for line in applied.said.splitlines() if waits not in line] == []


def test_the_stored_objects_are_those_that_the_command_prints(applied: Applied) -> None:
    expected = {_name(obj) for obj in applied.offline}

    assert becomes(lambda: expected & _stored(applied), expected) == expected


def test_the_stored_workloads_are_those_that_the_command_prints(applied: Applied) -> None:
    expected = {_name(obj): _templates(obj) for obj in _workloads(applied)}

    def stored() -> dict[str, Object]:
        found = items(applied.cluster.api, path("leaderworkersets", applied.namespace))
        return {_name({"kind": "LeaderWorkerSet", **obj}): _templates(obj) for obj in found}

    assert becomes(stored, expected) == expected


def test_every_pod_of_a_gang_is_bound(applied: Applied) -> None:
    expected = sum(_pods(obj) for obj in _workloads(applied))

    found = becomes(lambda: len(_placed(applied)), expected)

    assert found == expected


def _stored(applied: Applied) -> set[str]:
    """Name every stored object of the kinds that are expected."""
    kinds = {(obj["kind"], f"{obj['kind'].lower()}s") for obj in applied.offline}
    return {
        _name({"kind": kind, **obj})
        for kind, resource in kinds
        for obj in items(applied.cluster.api, path(resource, applied.namespace))
    }


def _workloads(applied: Applied) -> list[Object]:
    return [obj for obj in applied.offline if obj["kind"] == "LeaderWorkerSet"]


def _name(obj: Object) -> str:
    return f"{obj['kind']}/{REVISION.sub('', obj['metadata']['name'])}"


def _templates(obj: Object) -> Object:
    """Return what admission changes of the engines: commands, arguments and schedulers by template."""
    group = comparable(obj)["spec"]["leaderWorkerTemplate"]
    return {
        field: [
            (container.get("command"), container.get("args"))
            for container in group[field]["spec"]["containers"]
        ]
        for field in ("leaderTemplate", "workerTemplate")
        if field in group
    }


def _pods(obj: Object) -> int:
    """Return the number of pods of a LeaderWorkerSet; none if Kubernetes' own scheduler would place them."""
    group = obj["spec"]["leaderWorkerTemplate"]
    if group["workerTemplate"]["spec"].get("schedulerName") != VOLCANO:
        return 0
    return int(obj["spec"].get("replicas", 1)) * int(group.get("size", 1))


def _placed(applied: Applied) -> list[str]:
    found = items(applied.cluster.api, path("pods", applied.namespace), labelSelector=SERVICE)
    return [
        pod["metadata"]["name"]
        for pod in found
        if pod["spec"].get("schedulerName") == VOLCANO and pod["spec"].get("nodeName")
    ]
