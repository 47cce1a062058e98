"""`fusioninfer check`, `why` and `diff` on the real API server, LWS and Volcano.

What each says of every other trouble is in `tests/fusioninfer/cluster`, over the same readings.
"""

import copy
import json
import time
from base64 import b64encode
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import pytest
import trustme
from click.testing import CliRunner

from fusioninfer.cli import main
from fusioninfer.cluster.diff.change import cleaned
from intent import Object
from intent.annotations import PREFIX, QUEUE_NAME
from tests.cluster.testbed.admissions import trust
from tests.cluster.testbed.api import create, delete, get, items, patch, path
from tests.cluster.testbed.cluster import Cluster, kubeconfig, kubectl
from tests.cluster.testbed.namespaces import empty_namespace
from tests.cluster.testbed.nodes import add_gpu_nodes, remove_nodes
from tests.cluster.testbed.wait import until

HOME: Final = "fusioninfer-system"
MANAGER: Final = ("lws-system", "lws-controller-manager")
DEPLOYMENTS: Final = (
    (*MANAGER, "manager", "registry.k8s.io/lws/lws:v0.9.0"),
    ("volcano-system", "volcano-scheduler", "volcano-scheduler", "docker.io/volcanosh/vc-scheduler:v1.14.1"),
    (HOME, "fusioninfer-webhook", "webhook", "fusioninfer:0.1.0"),
    (HOME, "fusioninfer-sync", "sync", "fusioninfer:0.1.0"),
)
"""Deployments that a cluster of processes lacks: namespace, name, container, image."""


PATIENCE: Final = 300.0
"""Seconds until the cluster has done something: it has little time on a busy machine."""
STAYS: Final = 3.0
"""Seconds for which a queue must keep its state: the scheduler runs every second."""
UNUSUAL: Final = {"kubernetes-version": "unknown", "volcano-webhooks": "warning"}
"""What differs from a usual cluster: the API server is built without a version; Volcano has no admission."""
OF_CALLERS: Final = {"webhook-callers": "warning"}
"""What an installation says while nobody is known."""
RESTRICTED: Final = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
"""What the Pod Security level of our namespace requires."""


class Done(NamedTuple):
    """What the command printed, and its exit code."""

    code: int
    value: Any
    errors: str


def run(cluster: Cluster, *words: str, stdin: str = "", identity: str = "admin") -> Done:
    """Run a subcommand with JSON as its output."""
    options = ["--output=json", f"--kubeconfig={kubeconfig(cluster, identity)}"]
    done = CliRunner().invoke(main, [*words, *options], input=stdin)
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Done(done.exit_code, json.loads(done.stdout) if done.stdout else None, done.stderr)


# --- check ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def installed(served: Cluster) -> Iterator[Cluster]:
    """The cluster with the Deployments of an installation, and the Secret of its certificate."""
    (node,) = add_gpu_nodes(served, 1, gpus=0)
    for place in DEPLOYMENTS:
        create(served.api, path("deployments", place[0]), deployment(node, *place))
    pem = (served.directory / "webhook" / "tls.crt").read_bytes()
    secret = {
        "metadata": {"name": "fusioninfer-webhook-tls"},
        "type": "Opaque",
        "data": {"tls.crt": b64encode(pem).decode()},
    }
    create(served.api, path("secrets", HOME), secret)
    until(
        lambda: all(available(served, *place[:2]) for place in DEPLOYMENTS),
        "all are available",
        seconds=PATIENCE,
    )
    yield served
    for namespace, name, *_ in DEPLOYMENTS:
        delete(served.api, path("deployments", namespace, name), propagationPolicy="Background")
    delete(served.api, path("secrets", HOME, "fusioninfer-webhook-tls"))
    for namespace in ("lws-system", "volcano-system", HOME):
        empty_namespace(served, namespace)
    remove_nodes(served)


def deployment(node: str, _namespace: str, name: str, container: str, image: str) -> Object:
    """Return a Deployment whose pod is on a node from the start."""
    labels = {"app": name}
    spec = {
        "nodeName": node,
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [{"name": container, "image": image, "securityContext": RESTRICTED}],
    }
    return {
        "metadata": {"name": name},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def available(cluster: Cluster, namespace: str, name: str) -> int:
    status = get(cluster.api, path("deployments", namespace, name)).get("status", {})
    return int(status.get("availableReplicas", 0))


def states(cluster: Cluster, *words: str, identity: str = "admin") -> dict[str, str]:
    """Run `check` and return the state of each check."""
    return {one["name"]: one["state"] for one in run(cluster, "check", *words, identity=identity).value}


def wrong_are(cluster: Cluster, expected: set[str]) -> bool:
    """Wait until these checks are errors and no others; the API server reads configurations with a delay."""

    def errors() -> set[str]:
        return {name for name, state in states(cluster).items() if state == "error"}

    return until(lambda: errors() == expected, f"{expected} are errors", seconds=PATIENCE)


def test_a_sound_cluster_has_no_errors(installed: Cluster) -> None:
    assert wrong_are(installed, set())

    done = run(installed, "check")

    found = {one["name"]: one["state"] for one in done.value if one["state"] != "ok"}
    assert (done.code, found) == (0, UNUSUAL | OF_CALLERS), done.value


def test_a_wrong_ca_bundle_is_an_error_and_the_webhook_does_not_answer(installed: Cluster) -> None:
    trust(installed, trustme.CA().cert_pem.bytes())
    try:
        assert wrong_are(installed, {"ca-bundle-trusts", "webhook-answers"})
    finally:
        trust(installed, installed.authority_pem)


# --- why --------------------------------------------------------------------------------------------


def role(name: str, component_type: str, size: int = 2) -> Object:
    """Return a LeaderWorkerSet of the service qwen; each pod asks for 8 GPUs."""
    engine = {
        "name": "vllm",
        "image": "vllm/vllm-openai:v0.17.1",
        "command": ["vllm", "serve", "org/m", "--tensor-parallel-size", str(8 * size)],
        "resources": {"limits": {"nvidia.com/gpu": "8"}},
    }
    known = {"service": "qwen", "component-type": component_type, "launcher": "ray-start"}
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": name, "annotations": {PREFIX + key: value for key, value in known.items()}},
        "spec": {
            "replicas": 1,
            "leaderWorkerTemplate": {"size": size, "workerTemplate": {"spec": {"containers": [engine]}}},
        },
    }


def apply(cluster: Cluster, namespace: str, *objects: Object) -> None:
    for one in objects:
        kubectl(cluster, "apply", "--namespace", namespace, "--filename=-", stdin=json.dumps(one))


def reason(cluster: Cluster, namespace: str, name: str = "qwen") -> str:
    """Return the dominant cause."""
    done = run(cluster, "why", name, "--namespace", namespace)
    assert done.code == int(done.value["cause"] is not None)
    return str(done.value["cause"]["reason"]) if done.value["cause"] else ""


def becomes(cluster: Cluster, namespace: str, wanted: str, name: str = "qwen") -> str:
    """Ask until the dominant cause is as wanted; return the last one."""
    last = ""

    def asked() -> bool:
        nonlocal last
        last = reason(cluster, namespace, name)
        return last == wanted

    until(asked, f"the cause is {wanted}", seconds=PATIENCE)
    return last


@pytest.fixture
def space(served: Cluster, routed_namespace: str) -> Iterator[str]:
    yield routed_namespace
    empty_namespace(served, routed_namespace)
    for node in items(served.api, path("nodes")):
        if node["status"]["allocatable"]["nvidia.com/gpu"] != "0":  # the node of `installed` stays
            delete(served.api, path("nodes", "", node["metadata"]["name"]))


def report(cluster: Cluster, namespace: str, name: str, **container: Any) -> None:
    """Set the status of a pod's container, as the kubelet does."""
    where = path("pods", namespace, name)
    status = get(cluster.api, where)["status"]
    conditions = [one for one in status["conditions"] if one["type"] not in {"Ready", "ContainersReady"}]
    unready = {"type": "Ready", "status": "False"}
    statuses = [
        {"name": one["name"], "image": "", "imageID": "", "restartCount": 0, "ready": False, **container}
        for one in get(cluster.api, where)["spec"]["containers"]
    ]
    body = {"status": {"conditions": [*conditions, unready], "containerStatuses": statuses}}
    patch(cluster.api, path("pods", namespace, name, "status"), body)


@pytest.fixture
def queue(served: Cluster, space: str) -> Iterator[str]:
    """An open queue of its own, with the name of the namespace: many tests use the default one."""
    queues = path("queues", "")
    definition = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue"}
    create(served.api, queues, {**definition, "metadata": {"name": space}, "spec": {"weight": 1}})
    set_state(served, space, "Open")
    yield space
    delete(served.api, f"{queues}/{space}")


def in_queue(lws: Object, queue: str) -> Object:
    """Return the LeaderWorkerSet with a queue."""
    annotations = {**lws["metadata"]["annotations"], QUEUE_NAME: queue}
    return {**lws, "metadata": {**lws["metadata"], "annotations": annotations}}


def set_state(cluster: Cluster, queue: str, state: str) -> None:
    """Open or close a queue until it stays so: the scheduler may write the status that it read before."""
    since = time.monotonic()

    def stays() -> bool:
        nonlocal since
        if get(cluster.api, path("queues", "", queue)).get("status", {}).get("state") != state:
            patch(cluster.api, path("queues", "", queue, "status"), {"status": {"state": state}})
            since = time.monotonic()
        return time.monotonic() - since > STAYS

    until(stays, f"the queue is {state}")


def test_why_follows_a_service_from_its_first_role_to_its_last_crash(
    served: Cluster, space: str, queue: str
) -> None:
    apply(served, space, in_queue(role("p", "prefiller"), queue))
    assert becomes(served, space, "WaitingForRole")

    apply(served, space, in_queue(role("d", "decoder"), queue))
    assert becomes(served, space, "ResourceNotOffered")

    add_gpu_nodes(served, 3)
    assert becomes(served, space, "WaitingForResources")
    done = run(served, "why", "qwen", "--namespace", space)
    assert "free: gpu-" in done.value["cause"]["message"]
    assert "8 of 8" in done.value["cause"]["message"]

    set_state(served, queue, "Closed")
    assert becomes(served, space, "QueueNotOpen")
    set_state(served, queue, "Open")

    add_gpu_nodes(served, 1)
    assert becomes(served, space, "") == ""
    assert reason(served, space, "lws/p") == ""

    report(
        served, space, "p-0-1", state={"waiting": {"reason": "ImagePullBackOff", "message": "no such tag"}}
    )
    assert becomes(served, space, "FI413")
    ended = {"exitCode": 137, "reason": "OOMKilled", "finishedAt": "2026-06-01T00:00:00Z"}
    waiting = {"waiting": {"reason": "CrashLoopBackOff"}}
    report(served, space, "p-0-1", state=waiting, lastState={"terminated": ended}, restartCount=0)
    assert becomes(served, space, "OutOfMemory")


# --- diff -------------------------------------------------------------------------------------------


def differences(cluster: Cluster, namespace: str, *objects: Object, identity: str = "admin") -> Done:
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})
    return run(cluster, "diff", "-f", "-", "--namespace", namespace, stdin=text, identity=identity)


def live(cluster: Cluster, namespace: str, change: Any) -> Object | None:
    """Return the object of a change as it is stored, without noise; None if it is not stored."""
    plural = f"{change['kind'].lower()}s"
    found = items(cluster.api, path(plural, namespace))
    named = [one for one in found if one["metadata"]["name"] == change["name"]]
    identity = {"apiVersion": change["apiVersion"], "kind": change["kind"]}
    return cleaned(identity | named[0]) if named else None


@pytest.mark.parametrize("server_side", [False, True])
def test_what_diff_announces_is_what_apply_and_the_controller_do(
    served: Cluster,
    space: str,
    server_side: bool,  # noqa: FBT001 - a case
) -> None:
    flags = ("--server-side",) if server_side else ()
    first = role("p", "worker")
    announced = differences(served, space, first)
    created = {(one["kind"], one["name"], one["action"]) for one in announced.value["changes"]}
    assert (announced.code, created) == (
        1,
        {
            ("LeaderWorkerSet", "p", "create"),
            ("PodGroup", "qwen", "create"),
            ("Service", "qwen-api", "create"),
        },
    )

    kubectl(served, "apply", *flags, "-n", space, "--filename=-", stdin=json.dumps(first))
    until(lambda: not differences(served, space, first).value["changes"], "nothing differs", seconds=PATIENCE)
    assert differences(served, space, first).code == 0

    second = copy.deepcopy(first)
    second["spec"]["leaderWorkerTemplate"]["size"] = 4
    engine = second["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["containers"][0]
    engine["command"][-1] = "32"
    announced = differences(served, space, second)
    assert {(one["kind"], one["action"]) for one in announced.value["changes"]} == {
        ("LeaderWorkerSet", "update"),
        ("PodGroup", "update"),
    }
    kubectl(served, "apply", *flags, "-n", space, "--filename=-", stdin=json.dumps(second))
    until(
        lambda: all(one["after"] == live(served, space, one) for one in announced.value["changes"]),
        "everything is as announced",
        seconds=PATIENCE,
    )
