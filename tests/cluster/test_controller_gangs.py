"""The rights on gangs are enough for gangs: those of routes and Services are missing, and are not waited for.

The controller of these tests is one of its own, in place of the usual one.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import yaml

from tests.cluster.testbed.cluster import Cluster, kubectl
from tests.cluster.testbed.control_plane import log_of
from tests.cluster.testbed.controllers import (
    DECODE,
    PREFILL,
    SERVICE,
    apply,
    becomes,
    metric,
    other_controllers,
    required,
)
from tests.cluster.testbed.ours import MANIFESTS
from tests.cluster.testbed.service_accounts import kubeconfig_of
from tests.cluster.testbed.wait import until

NAME: Final = "sync-taking-in"
PATIENT: Final = {"--lease-duration": 60, "--renew-deadline": 45, "--retry-period": 4}
GANG: Final = (6, {f"{SERVICE}-prefill": (1, 2), f"{SERVICE}-decode": (1, 4)})
"""The requirements of the PodGroup of the two files."""
GANGS: Final = (
    *("inferenceservices", "leaderworkersets", "horizontalpodautoscalers", "podgroups", "pods"),
    *("events", "leases"),
)


@contextmanager
def one_controller(cluster: Cluster, **flags: object) -> Iterator[int]:
    """Run a controller in place of the usual one; yields its port of metrics."""
    given = {f"--{name}": value for name, value in flags.items()}
    with other_controllers(cluster, {NAME: {**PATIENT, **given}}) as ports:
        until(lambda: metric(ports[NAME], "fusioninfer_sync_is_leader"), "it leads")
        yield ports[NAME]


def test_rights_on_gangs_alone_are_enough_for_gangs(fusioninfer: Cluster, namespace: str) -> None:
    grant(fusioninfer, namespace)
    own = kubeconfig_of(fusioninfer, fusioninfer.url, namespace, "gangs")

    with one_controller(fusioninfer, kubeconfig=own) as port:
        apply(fusioninfer, namespace, PREFILL, DECODE)

        assert becomes(lambda: required(fusioninfer, namespace), GANG) == GANG, said(fusioninfer)
        expected = {"LeaderWorkerSet": 0.0, "PodGroup": 0.0, "Service": 1.0, "Deployment": 1.0}

        def unavailable() -> dict[str, float]:
            return {kind: metric(port, "fusioninfer_sync_kind_unavailable", kind=kind) for kind in expected}

        assert becomes(unavailable, expected) == expected


def grant(cluster: Cluster, namespace: str) -> None:
    """Make a service account with the controller's own rules, as far as they are about gangs."""
    documents = yaml.safe_load_all((MANIFESTS / "rbac.yaml").read_text())
    rules = [rule for each in documents for rule in each.get("rules", ())]
    own = [rule for rule in rules if {one.partition("/")[0] for one in rule["resources"]} <= {*GANGS}]
    name = f"gangs-{namespace}"
    metadata = {"name": name}
    rbac = "rbac.authorization.k8s.io"
    items = [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "gangs", "namespace": namespace}},
        {"apiVersion": f"{rbac}/v1", "kind": "ClusterRole", "metadata": metadata, "rules": own},
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": "gangs", "namespace": namespace}],
        },
    ]
    listed = {"apiVersion": "v1", "kind": "List", "items": items}
    kubectl(cluster, "apply", "--filename=-", stdin=json.dumps(listed))


def said(cluster: Cluster) -> str:
    """Return the end of the controller's log, for the message of a failure."""
    return log_of(cluster, NAME).read_text(encoding="utf-8")[-6000:]
