"""`fusioninfer check`, `why` and `diff` on the real API server, LWS and Volcano.

What each says of every other trouble is in `tests/fusioninfer/cluster`, over the same readings.
"""

import copy
import json
from base64 import b64encode
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import pytest
import yaml
from click.testing import CliRunner

from fusioninfer.cli import main
from fusioninfer.cluster.diff import cleaned
from hack.manifests.chart import ONLY_IN_CHART
from intent import Object
from tests.builders.lws import container, lws, template
from tests.cluster.testbed.api import create, delete, get, items, path
from tests.cluster.testbed.cluster import Cluster, kubeconfig, kubeconfig_for, kubectl
from tests.cluster.testbed.controllers import apply
from tests.cluster.testbed.namespaces import empty_namespace
from tests.cluster.testbed.nodes import add_gpu_nodes, remove_nodes
from tests.cluster.testbed.wait import until
from tests.cluster.testbed.written import named

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
UNUSUAL: Final = {"kubernetes": "unknown"}
"""What differs from a usual cluster: the API server is built without a version."""
OF_CALLERS: Final = {"webhook-callers": "warning"}
"""What an installation says while nobody is known."""
OF_A_READER: Final = {"lws-gang-scheduling": "unknown"}
"""What `helm test` may not do: read ConfigMaps of other namespaces."""
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


def has_no_error(cluster: Cluster) -> bool:
    """Return whether no check is an error; the API server reads configurations with a delay."""
    return all(one["state"] != "error" for one in run(cluster, "check").value)


def test_a_sound_cluster_has_no_errors(installed: Cluster) -> None:
    until(lambda: has_no_error(installed), "no check is an error", seconds=PATIENCE)

    done = run(installed, "check")

    found = {one["name"]: one["state"] for one in done.value if one["state"] != "ok"}
    assert (done.code, found) == (0, UNUSUAL | OF_CALLERS), done.value


@pytest.fixture
def tester(installed: Cluster) -> Iterator[str]:
    """The ServiceAccount of `helm test`, with the rights that the chart gives it."""
    text = (ONLY_IN_CHART / "test.yaml").read_text()
    rights = [one for one in yaml.safe_load_all(text) if one["kind"] != "Pod"]
    manifest = json.dumps({"apiVersion": "v1", "kind": "List", "items": rights})
    kubectl(installed, "apply", "--filename=-", stdin=manifest)
    token = kubectl(installed, "create", "token", "fusioninfer-test", "--namespace", HOME).strip()
    config = kubeconfig_for(installed, installed.url, "fusioninfer-test", token)
    kubeconfig(installed, "fusioninfer-test").write_text(json.dumps(config))
    yield "fusioninfer-test"
    kubectl(installed, "delete", "--filename=-", stdin=manifest)


def test_the_rights_of_helm_test_are_those_that_a_check_needs(installed: Cluster, tester: str) -> None:
    until(lambda: has_no_error(installed), "no check is an error", seconds=PATIENCE)

    done = run(installed, "check", "--namespace=default", identity=tester)

    found = {one["name"]: one["state"] for one in done.value if one["state"] != "ok"}
    assert (done.code, found) == (0, UNUSUAL | OF_CALLERS | OF_A_READER), done.value


# --- why --------------------------------------------------------------------------------------------


ENGINE: Final = container(
    args=["org/m", "--tensor-parallel-size", "16"], resources={"limits": {"nvidia.com/gpu": "8"}}
)


def role(name: str, component_type: str) -> Object:
    """Return a LeaderWorkerSet of the service qwen; each pod asks for 8 GPUs."""
    made = lws(2, template(ENGINE), service="qwen", component_type=component_type, launcher="ray-start")
    return named(made, name)


def cause(cluster: Cluster, namespace: str, name: str = "qwen") -> Any:
    """Return the dominant cause; its reason is empty if there is none."""
    done = run(cluster, "why", name, "--namespace", namespace)
    assert done.code == int(done.value["cause"] is not None)
    return done.value["cause"] or {"reason": ""}


def explained(cluster: Cluster, namespace: str, wanted: str) -> None:
    """Wait until the dominant cause is as wanted."""
    until(lambda: cause(cluster, namespace)["reason"] == wanted, f"the cause is {wanted}", seconds=PATIENCE)


@pytest.fixture
def space(served: Cluster, routed_namespace: str) -> Iterator[str]:
    yield routed_namespace
    empty_namespace(served, routed_namespace)
    for node in items(served.api, path("nodes")):
        if node["status"]["allocatable"]["nvidia.com/gpu"] != "0":  # the node of `installed` stays
            delete(served.api, path("nodes", "", node["metadata"]["name"]))


def test_why_follows_a_service_from_its_first_role_until_it_serves(served: Cluster, space: str) -> None:
    apply(served, space, role("p", "prefiller"))
    explained(served, space, "WaitingForRole")

    apply(served, space, role("d", "decoder"))
    explained(served, space, "WaitingForResources")

    add_gpu_nodes(served, 3)
    until(lambda: "would start" in cause(served, space)["message"], "a node is missing", seconds=PATIENCE)
    assert "large enough" in cause(served, space)["message"]

    add_gpu_nodes(served, 1)
    explained(served, space, "")
    assert cause(served, space, "lws/p")["reason"] == ""


# --- diff -------------------------------------------------------------------------------------------


def differences(cluster: Cluster, namespace: str, *objects: Object) -> Done:
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})
    return run(cluster, "diff", "-f", "-", "--namespace", namespace, stdin=text)


def live(cluster: Cluster, namespace: str, change: Any) -> Object | None:
    """Return the object of a change as it is stored, without noise; None if it is not stored."""
    after = change["after"]
    found = items(cluster.api, path(f"{after['kind'].lower()}s", namespace))
    there = [one for one in found if one["metadata"]["name"] == after["metadata"]["name"]]
    identity = {key: after[key] for key in ("apiVersion", "kind")}
    return cleaned(identity | there[0]) if there else None


def kinds(announced: Done, *, created: bool) -> set[str]:
    """Return the kinds of the objects that are created, or changed."""
    changes = announced.value["changes"]
    return {one["after"]["kind"] for one in changes if (one["before"] is None) is created}


@pytest.mark.parametrize("server_side", [False, True])
def test_what_diff_announces_is_what_apply_and_the_controller_do(
    served: Cluster,
    space: str,
    server_side: bool,  # noqa: FBT001 - a case
) -> None:
    flags = ("--server-side",) if server_side else ()
    first = role("p", "worker")
    announced = differences(served, space, first)
    assert (announced.code, kinds(announced, created=False)) == (1, set())
    assert kinds(announced, created=True) == {"LeaderWorkerSet", "PodGroup", "Service"}

    kubectl(served, "apply", *flags, "-n", space, "--filename=-", stdin=json.dumps(first))
    until(lambda: not differences(served, space, first).value["changes"], "nothing differs", seconds=PATIENCE)
    assert differences(served, space, first).code == 0

    second = copy.deepcopy(first)
    second["spec"]["leaderWorkerTemplate"]["size"] = 4
    engine = second["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["containers"][0]
    engine["args"][-1] = "32"
    announced = differences(served, space, second)
    assert kinds(announced, created=False) == {"LeaderWorkerSet", "PodGroup"}
    kubectl(served, "apply", *flags, "-n", space, "--filename=-", stdin=json.dumps(second))
    until(
        lambda: all(one["after"] == live(served, space, one) for one in announced.value["changes"]),
        "everything is as announced",
        seconds=PATIENCE,
    )
