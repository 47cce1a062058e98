"""Kubernetes' own autoscaler, and an API of external metrics whose values a test sets.

The API server passes requests of the metrics API on to a Service. This one has an external name, so no
network of pods is needed.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from intent import Object
from tests.cluster.testbed.api import ApiError, create, delete, get, path
from tests.cluster.testbed.cluster import Cluster, kubeconfig
from tests.cluster.testbed.control_plane import kill_process, start_process
from tests.cluster.testbed.pki import issue
from tests.cluster.testbed.stand_in import Reply, answering
from tests.cluster.testbed.wait import until

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
