"""The controller's input: one tenant's object, a missing right or a silent connection does not stop others.

The controller of these tests is one of its own, in place of the usual one.
"""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
import yaml

from tests.builders.patience import PATIENCE
from tests.cluster.testbed.api import delete
from tests.cluster.testbed.cluster import Cluster, kubectl
from tests.cluster.testbed.control_plane import kill_process, log_of
from tests.cluster.testbed.controllers import (
    DECODE,
    LEASE,
    PREFILL,
    SERVICE,
    apply,
    becomes,
    kubeconfig_through,
    metric,
    other_controllers,
    required,
    told,
)
from tests.cluster.testbed.namespaces import new_namespace
from tests.cluster.testbed.ours import MANIFESTS, start_sync
from tests.cluster.testbed.processes import alive
from tests.cluster.testbed.relay import deafen, relay
from tests.cluster.testbed.service_accounts import kubeconfig_of
from tests.cluster.testbed.short_silence import SILENCE
from tests.cluster.testbed.wait import until

NAME: Final = "sync-taking-in"
SHORT_SILENCE: Final = "tests.cluster.testbed.short_silence"
PATIENT: Final = {"--lease-duration": 60, "--renew-deadline": 45, "--retry-period": 4}
HOSTILE: Final = "hostile"
GANG: Final = (6, {f"{SERVICE}-prefill": (1, 2), f"{SERVICE}-decode": (1, 4)})
"""The requirements of the PodGroup of the two files."""
GANGS: Final = (
    *("inferenceservices", "leaderworkersets", "horizontalpodautoscalers", "podgroups", "pods"),
    *("events", "leases"),
)


@contextmanager
def one_controller(cluster: Cluster, module: str = "fusioninfer", **flags: object) -> Iterator[int]:
    """Run a controller in place of the usual one; yields its port of metrics."""
    given = {f"--{name}": value for name, value in flags.items()}
    with other_controllers(cluster, {NAME: {**PATIENT, **given}}, module) as ports:
        until(lambda: metric(ports[NAME], "fusioninfer_sync_is_leader"), "it leads")
        yield ports[NAME]


def deep_service(namespace: str, levels: int) -> str:
    """Write an InferenceService that passes admission by, with a template so deep; json.dumps cannot."""
    made = {
        "apiVersion": "fusioninfer.io/v1alpha1",
        "kind": "InferenceService",
        "metadata": {
            "name": HOSTILE,
            "namespace": namespace,
            "annotations": {"fusioninfer.io/inject": "disabled"},
        },
        "spec": {"roles": [{"name": "a", "componentType": "worker", "template": "@"}]},
    }
    return json.dumps(made).replace('"@"', '{"a":' * levels + "{}" + "}" * levels)


@pytest.fixture
def tenant(fusioninfer: Cluster) -> Iterator[str]:
    """The namespace of a hostile tenant, whose object is gone before anybody lists it with json.loads."""
    with new_namespace(fusioninfer) as namespace:
        try:
            yield namespace
        finally:
            kubectl(
                fusioninfer, "delete", "-n", namespace, "inferenceservices", HOSTILE, "--ignore-not-found"
            )


def test_a_deep_object_of_one_tenant_does_not_delay_others(
    fusioninfer: Cluster, namespace: str, tenant: str
) -> None:
    """The schema of the definition drops what is so deep; tests/kube/test_wire.py reads every depth."""
    levels = 5000
    collection = f"/apis/fusioninfer.io/v1alpha1/namespaces/{tenant}/inferenceservices"
    with one_controller(fusioninfer) as port:
        kubectl(
            fusioninfer, "create", "--raw", collection, "--filename=-", stdin=deep_service(tenant, levels)
        )
        for at in range(2):
            kubectl(
                fusioninfer, "label", "-n", tenant, "inferenceservices", HOSTILE, f"at=v{at}", "--overwrite"
            )
        apply(fusioninfer, namespace, PREFILL, DECODE)

        assert becomes(lambda: required(fusioninfer, namespace), GANG) == GANG, said(fusioninfer)
        assert (HOSTILE, "FI874") in becomes_true(lambda: told(fusioninfer, tenant))

        kill_process(fusioninfer, NAME)
        delete(fusioninfer.api, LEASE)
        kubectl(fusioninfer, "delete", "-n", namespace, "podgroups", SERVICE)
        start_sync(fusioninfer, NAME, {"--metrics-port": port, **PATIENT})

        assert becomes(lambda: required(fusioninfer, namespace), GANG) == GANG, said(fusioninfer)
        assert alive(fusioninfer.processes[NAME])
        assert metric(port, "fusioninfer_sync_reconciles_total", outcome="bug") == 0


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


def test_a_controller_for_gangs_alone_misses_nothing(
    fusioninfer: Cluster, namespace: str, tmp_path: Path
) -> None:
    """With `--gangs-only`; the testbed passes the same in a file."""
    grant(fusioninfer, namespace)
    own = kubeconfig_of(fusioninfer, fusioninfer.url, namespace, "gangs")
    config = tmp_path / "settings.yaml"
    config.write_text("routes: off\napiServices: off\n")

    with one_controller(fusioninfer, kubeconfig=own, config=config) as port:
        apply(fusioninfer, namespace, PREFILL, DECODE)
        assert becomes(lambda: required(fusioninfer, namespace), GANG) == GANG, said(fusioninfer)

        unavailable = metric(port, "fusioninfer_sync_kind_unavailable")

    assert (unavailable, told(fusioninfer, namespace)) == (0, [])


def test_a_watch_without_news_is_replaced(fusioninfer: Cluster, namespace: str) -> None:
    """The API server's real bookmarks take minutes: `make soak SOAK=silence`."""
    with relay(fusioninfer.ports["kube-apiserver"]) as line:
        through = kubeconfig_through(fusioninfer, line)
        with one_controller(fusioninfer, SHORT_SILENCE, kubeconfig=through):
            apply(fusioninfer, namespace, PREFILL)
            until(lambda: told(fusioninfer, namespace), "an Event reports that it waits")

            deafen(line)
            began = time.monotonic()
            apply(fusioninfer, namespace, DECODE)

            assert becomes(lambda: required(fusioninfer, namespace), GANG, SILENCE + PATIENCE) == GANG
            took = time.monotonic() - began

    assert took > SILENCE / 3, "it received nothing for a while"


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


def becomes_true(read: Callable[[], list[tuple[str, str]]]) -> list[tuple[str, str]]:
    """Read until there is something."""
    until(read, "something is told")
    return read()


def said(cluster: Cluster) -> str:
    """Return the end of the controller's log, for the message of a failure."""
    return log_of(cluster, NAME).read_text(encoding="utf-8")[-6000:]
