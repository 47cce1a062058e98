"""Kyverno's admission controller as a process, and policies that it applies.

It issues its own certificate and writes its own webhook configurations once it leads. It runs in no Pod, so
its address is a flag (`--serverIP`).
"""

import json
from collections.abc import Sequence
from typing import Final

from intent import Object
from tests.cluster.testbed.api import ApiError, create, get, items, path
from tests.cluster.testbed.cluster import Cluster, kubeconfig
from tests.cluster.testbed.control_plane import start_process, wait_ready
from tests.cluster.testbed.ports import free_ports
from tests.cluster.testbed.wait import until

KYVERNO: Final = "kyverno"
NAMESPACE: Final = "kyverno"
POLICIES: Final = "/apis/kyverno.io/v1/clusterpolicies"
PATIENCE: Final = 180.0
"""Seconds until it leads and has written its webhook configurations, on a machine that is busy."""
CONFIGURATIONS: Final = "kyverno-policy-validating-webhook-cfg", "kyverno-policy-mutating-webhook-cfg"
"""The webhook configurations that admit policies."""
RESOURCES: Final = "kyverno-resource-mutating-webhook-cfg"
"""The webhook configuration with the rules of the mutating policies."""
CONFIGURED: Final = {
    "kyverno": {"excludeGroups": "system:nodes", "resourceFilters": "[*/*,kyverno,*] [Event,*,*]"},
    "kyverno-metrics": {"namespaces": '{"exclude":[],"include":[]}'},
}
"""Its ConfigMaps, shorter than those of its release."""
ENVIRONMENT: Final = {
    "KYVERNO_NAMESPACE": NAMESPACE,
    "KYVERNO_SERVICEACCOUNT_NAME": "kyverno-admission-controller",
    "KYVERNO_DEPLOYMENT": "kyverno-admission-controller",
    "KYVERNO_POD_NAME": "kyverno-admission-controller-0",
    "INIT_CONFIG": "kyverno",
    "METRICS_CONFIG": "kyverno-metrics",
}
"""Variables without which it does not start; its Deployment sets them."""


def start_kyverno(cluster: Cluster, conditions: Sequence[Object] = ()) -> None:
    """Start it, and wait until it admits policies.

    `conditions` become the matchConditions of its webhooks for resources. A policy may have its own, but only
    from Kubernetes 1.27 on, and this API server was built without a version.
    """
    create(cluster.api, path("namespaces"), {"metadata": {"name": NAMESPACE}})
    matched = {KYVERNO: {**CONFIGURED[KYVERNO], "matchConditions": json.dumps(list(conditions))}}
    for name, data in {**CONFIGURED, **matched}.items():
        create(cluster.api, path("configmaps", NAMESPACE), {"metadata": {"name": name}, "data": data})
    command = [str(cluster.built.binary(KYVERNO)), *_args(cluster)]
    start_process(cluster, KYVERNO, command, {**ENVIRONMENT, "HOME": str(cluster.directory)})
    wait_ready(cluster, KYVERNO, _admits_policies, seconds=PATIENCE)


def add_policy(cluster: Cluster, policy: Object) -> tuple[str, ...]:
    """Create a policy and wait until the API server asks Kyverno for it; return the names of its webhooks."""
    before = _webhooks(cluster)
    until(lambda: _is_created(cluster, policy), "Kyverno admits a policy", seconds=PATIENCE, every=0.5)
    until(lambda: _webhooks(cluster) != before, "Kyverno has a webhook for the policy", seconds=PATIENCE)
    until(lambda: _is_ready(cluster, policy["metadata"]["name"]), "the policy is ready", seconds=PATIENCE)
    return tuple(name for name in _webhooks(cluster) if name not in before)


def _args(cluster: Cluster) -> list[str]:
    """Return its flags.

    Reports are off, since the controller of Kyverno that collects them does not run. On a busy machine it
    ends if it cannot renew its Lease for five retry periods, so these are long.
    """
    ports = free_ports(("webhook", "metrics"))
    return [
        *(f"--kubeconfig={kubeconfig(cluster)}", f"--serverIP=127.0.0.1:{ports['webhook']}"),
        *("--webhookServerHost=127.0.0.1", f"--webhookServerPort={ports['webhook']}"),
        *("--metricsHost=127.0.0.1", f"--metricsPort={ports['metrics']}"),
        *("--controllerRuntimeMetricsAddress=0", "--admissionReports=false"),
        *("--caSecretName=kyverno-tls-ca", "--tlsSecretName=kyverno-tls-pair"),
        *(
            "--omitEvents=PolicyApplied,PolicySkipped",
            "--clientRateLimitQPS=100",
            "--clientRateLimitBurst=200",
        ),
        *("--generateValidatingAdmissionPolicy=false", "--v=1", "--leaderElectionRetryPeriod=20s"),
    ]


def _admits_policies(cluster: Cluster) -> bool:
    names = {each["metadata"]["name"] for each in items(cluster.api, path("mutatingwebhookconfigurations"))}
    names |= {
        each["metadata"]["name"] for each in items(cluster.api, path("validatingwebhookconfigurations"))
    }
    return names.issuperset(CONFIGURATIONS)


def _is_created(cluster: Cluster, policy: Object) -> bool:
    """Create a policy; return False while Kyverno's own webhooks do not answer."""
    try:
        create(cluster.api, POLICIES, policy)
    except ApiError as error:
        if "failed calling webhook" not in str(error):
            raise
        return False
    return True


def _is_ready(cluster: Cluster, name: str) -> bool:
    status = get(cluster.api, f"{POLICIES}/{name}").get("status", {})
    return any(each["type"] == "Ready" and each["status"] == "True" for each in status.get("conditions", ()))


def _webhooks(cluster: Cluster) -> list[str]:
    """Return the names of the webhooks for its mutating policies; none before it has written them."""
    try:
        found = get(cluster.api, path("mutatingwebhookconfigurations", name=RESOURCES))
    except ApiError:
        return []
    return [webhook["name"] for webhook in found.get("webhooks") or ()]
