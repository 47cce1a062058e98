"""`fusioninfer plan`: nodes by shape, of a file and of a cluster; formats, exit codes and bad input."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any, Final

import pytest
from aiohttp import web
from click.testing import CliRunner, Result

from fusioninfer.cli import main
from intent import Object
from tests.builders.lws import container, lws, template
from tests.cluster.capacity import DISAGGREGATED, EXAMPLES, MONOLITHIC
from tests.sync.conftest import api, kubeconfig  # noqa: F401 - fixtures
from tests.sync.fake_api import Api, status

FILES: Final = [str(file) for file in DISAGGREGATED.files]


def plan(*words: str, stdin: str = "") -> Result:
    return CliRunner().invoke(main, ["plan", *words], input=stdin)


def node(name: str, gpus: int = 8, **spec: Any) -> Object:
    room = {"nvidia.com/gpu": str(gpus), "cpu": "64", "memory": "1Ti", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "spec": spec,
        "status": {"allocatable": room},
    }


def test_json_has_a_row_for_each_number_of_nodes() -> None:
    found = json.loads(plan(*FILES, "--nodes", "7x8", "-o", "json").stdout)

    assert [row["gpus"] for row in found["rows"]] == [8 * count for count in range(8)]
    assert found["idle"] == {"gpus": 8}
    assert found["next"] == [
        {
            "nodes": 3,
            "like": "8 nvidia.com/gpu",
            "starts": [{"namespace": "", "service": "deepseek-r1-disagg", "group": "decode-1"}],
        }
    ]


def test_nodes_of_a_file_are_counted_without_those_that_are_cordoned(tmp_path: Path) -> None:
    nodes = [node("a"), node("b", unschedulable=True)]
    file = tmp_path / "nodes.json"
    file.write_text(json.dumps({"kind": "NodeList", "apiVersion": "v1", "items": nodes}))

    result = plan(*FILES, "--nodes-file", str(file), "-o", "json")

    found = json.loads(result.stdout)
    assert [one["name"] for one in found["nodes"]] == ["a"]
    assert "1 node is left out: cordoned" in found["notes"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--nodes", "10"), "is not COUNTxGPUS"),
        (("--nodes", "999999999x8"), "more than 100000 nodes are not planned"),
        (("--nodes", "1x8", "--nodes-file", "x"), "--nodes and --nodes-file are alternatives"),
        (("--nodes-file", "missing.yaml"), "missing.yaml: No such file or directory"),
    ],
)
def test_nodes_that_cannot_be_read_are_exit_code_2(words: tuple[str, ...], said: str) -> None:
    result = plan(*FILES, *words)

    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr


@pytest.mark.parametrize(
    ("file", "code", "said"),
    [
        ("kind: ConfigMap\napiVersion: v1\nmetadata: {name: x}\n", 2, "have no LeaderWorkerSet"),
        ("a: [", 2, "error:"),
        ("kind: LeaderWorkerSet\napiVersion: leaderworkerset.x-k8s.io/v1\n", 1, "error"),
    ],
)
def test_services_that_cannot_be_read_are_reported(file: str, code: int, said: str) -> None:
    result = plan("-", "--nodes", "1x8", stdin=file)

    assert (result.exit_code, result.stdout) == (code, "")
    assert said in result.stderr


@pytest.mark.parametrize(
    ("nodes", "said"),
    [
        ([], "contains no Node"),
        ([node("a"), node("b"), node("a")], "contains Nodes without a metadata.name of their own"),
        ([node("a"), None, {"kind": "Node"}], "contains Nodes without a metadata.name of their own"),
        (
            [node("a"), {"metadata": {"name": "b"}, "status": {"capacity": {"nvidia.com/gpu": "8x"}}}],
            "Node b: status.capacity[nvidia.com/gpu]: '8x' is no quantity, such as 8 or 512Gi",
        ),
    ],
)
def test_nodes_of_a_file_that_cannot_be_counted_are_exit_code_2(nodes: list[Any], said: str) -> None:
    result = plan(
        *FILES,
        "--nodes-file",
        "-",
        stdin=json.dumps({"kind": "NodeList", "apiVersion": "v1", "items": nodes}),
    )

    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr


def test_services_of_one_name_are_told_apart_by_their_namespaces() -> None:
    files = [(file.read_text(), name) for file in MONOLITHIC.files for name in ("a", "b")]
    both = "\n---\n".join(
        text.replace("metadata:", f"metadata:\n  namespace: {name}", 1) for text, name in files
    )

    found = plan("-", "--nodes", "2x8", stdin=both).stdout

    assert "waiting: a/deepseek-r1-inference/worker-0 waits" in found
    assert "waiting: b/deepseek-r1-inference/worker-0 waits" in found


@pytest.mark.parametrize(
    ("file", "field", "more", "note"),
    [
        (
            *(MONOLITHIC.files[0], "annotations:", "\n    fusioninfer.io/scheduler-name: other"),
            "scheduler other is not modelled; the plan is that of",
        ),
        (
            *(
                EXAMPLES / "disaggregatedset.yaml",
                "spec:",
                "\n  placementPolicy: {type: ExclusiveSlice, topology: r}",
            ),
            "note: DisaggregatedSet qwen-set: not modelled: placementPolicy, affinity between pods",
        ),
    ],
    ids=["scheduler", "placementPolicy"],
)
def test_what_is_not_modelled_is_named(file: Path, field: str, more: str, note: str) -> None:
    text = file.read_text()

    found = [
        plan("-", "--nodes", "2x8", stdin=one).stdout for one in (text, text.replace(field, field + more, 1))
    ]

    assert [note in one for one in found] == [False, True]


# --- resource claims (DRA) ---------------------------------------------------------------------------

CLASS: Final = "gpu.nvidia.com"
OWN: Final = {"name": "gpus", "resourceClaimTemplateName": "four-gpus"}
FOUR: Final = {"name": "gpu", "exactly": {"deviceClassName": CLASS, "count": 4}}
ALL: Final = {"deviceClassName": CLASS, "allocationMode": "All"}
SIDECAR: Final = {"name": "s", "image": "s", "resources": {"claims": [{"name": "gpus", "request": "gpu"}]}}


def pods(*others: Any, claim: Object | None = OWN) -> Object:
    """Return a template of pods that claim devices."""
    resources = {"requests": {"cpu": "8", "memory": "64Gi"}, "claims": [{"name": "gpus"}] if claim else []}
    return template(container(resources=resources), *others, resourceClaims=[claim] if claim else [])


def claiming(
    *requests: Object,
    version: str = "v1",
    worker: Object | None = None,
    leader: Object | None = None,
    namespace: str = "",
) -> str:
    """Return a service of two pods that claim devices, and the template of their claims."""
    service = lws(2, worker or pods(), leader, launcher="none")
    service["metadata"] |= {"name": "dra"} | ({"namespace": "llm"} if namespace else {})
    service["spec"]["replicas"] = 1
    made = {
        "apiVersion": f"resource.k8s.io/{version}",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "four-gpus"} | ({"namespace": namespace} if namespace else {}),
        "spec": {"spec": {"devices": {"requests": requests or [FOUR]}}},
    }
    return f"{json.dumps(service)}\n---\n{json.dumps(made)}"


CLAIMS: Final = {
    "v1": (claiming(), 8),
    "v1beta1": (claiming({"name": "gpu", "deviceClassName": CLASS, "count": 4}, version="v1beta1"), 8),
    "two requests": (claiming(*({"name": name, "deviceClassName": CLASS, "count": 2} for name in "ab")), 8),
    "a claim of two containers": (claiming(worker=pods(SIDECAR)), 8),
    "beside one of an administrator": (claiming(FOUR, {"exactly": ALL | {"adminAccess": True}}), 8),
    "beside those of a network": (claiming({"exactly": ALL | {"deviceClassName": "nic"}}, FOUR), 8),
    "a claim of the leader alone": (claiming(worker=pods(claim=None), leader=pods()), 4),
    "a template of the namespace": (claiming(namespace="llm"), 8),
}
"""A service, and how many devices its group claims."""


@pytest.mark.parametrize("name", CLAIMS)
def test_claimed_devices_are_counted_if_the_template_is_in_the_files(name: str) -> None:
    service, count = CLAIMS[name]

    found = json.loads(plan("-", "--nodes", "4x4", "-q", "-o", "json", stdin=service).stdout)

    assert found["services"][0]["roles"][0]["gpusOfAGroup"] == count
    assert found["nodes"][0]["has"] == "4 gpu.nvidia.com"
    full = [row["nodes"] for row in found["rows"] if row["services"][0]["status"] == "Full capacity"]
    assert full[0] == 2  # each pod needs room for the larger of leader and worker
    assert found["idle"]["gpus"] == 16 - count


NOT_KNOWN: Final = {
    "all devices": claiming({"name": "gpu", "exactly": ALL}),
    "an administrator alone": claiming({"name": "gpu", "exactly": ALL | {"adminAccess": True}}),
    "parts of devices": claiming({"name": "gpu", "exactly": {"deviceClassName": "mig.nvidia.com"}}),
    "a template of Kubernetes 1.30": claiming(version="v1alpha2").replace('"devices"', '"resourceClassName"'),
    "alternatives": claiming({"name": "gpu", "firstAvailable": [{"name": "a", "deviceClassName": CLASS}]}),
    "a class of no accelerators": claiming({"name": "nic", "exactly": {"deviceClassName": "rdma"}}),
    "a claim that is shared": claiming(worker=pods(claim={"name": "gpus", "resourceClaimName": "four-gpus"})),
    "a template that is missing": claiming().partition("\n---\n")[0],
    "a template of another namespace": claiming(namespace="other"),
}


@pytest.mark.parametrize("name", NOT_KNOWN)
def test_claims_that_cannot_be_counted_are_said_to_be_not_known(name: str) -> None:
    result = plan("-", "--nodes", "4x4", "-q", stdin=NOT_KNOWN[name])

    assert result.exit_code == 1
    assert "not known whether its pods have room: claim gpus: " in result.stdout
    assert "Not known" in result.stdout
    assert not re.search(r"Full capacity|100%|idle GPUs: [0-9]|data-free", result.stdout)


def test_nodes_of_a_file_do_not_say_which_devices_they_have(tmp_path: Path) -> None:
    file = tmp_path / "nodes.json"
    file.write_text(json.dumps(node("a")))

    result = plan("-", "--nodes-file", str(file), "-q", stdin=claiming())

    assert result.exit_code == 1
    assert "claim gpus: Node objects do not say which devices there are" in result.stdout


def test_of_devices_and_accelerators_a_shape_must_say_which_it_has() -> None:
    result = plan(*FILES, "-", "--nodes", "4x4", "-q", stdin=claiming())

    assert result.exit_code == 2
    assert "the services request gpu.nvidia.com, nvidia.com/gpu; say which" in result.stderr


# --- a cluster --------------------------------------------------------------------------------------


def bound(name: str, where: str, gpus: int = 8) -> Object:
    """Return a pod on a node."""
    container = {"name": "c", "resources": {"limits": {"nvidia.com/gpu": str(gpus)}}}
    return {
        "metadata": {"name": name, "namespace": "other"},
        "spec": {"nodeName": where, "containers": [container]},
    }


@pytest.fixture
def cluster(api: Api) -> Api:  # noqa: F811 - the fixture
    """A cluster of seven nodes, of which one is cordoned and one is in use, with a pod that waits."""
    waiting = bound("waits", "")
    lists = {
        "/api/v1/nodes": [*(node(f"n{at}") for at in range(6)), node("n6", unschedulable=True)],
        "/api/v1/pods": [bound("busy", "n0", 4), waiting],
        "/apis/scheduling.k8s.io/v1/priorityclasses": [],
    }

    def answer(request: web.Request) -> web.StreamResponse | None:
        if request.path in lists:
            return web.json_response({"metadata": {"resourceVersion": "1"}, "items": lists[request.path]})
        return None

    api.fault = answer
    return api


@pytest.mark.usefixtures("cluster")
async def test_the_nodes_of_a_cluster_are_taken_with_what_is_free(kubeconfig: Path) -> None:  # noqa: F811 - the fixture
    words = [*FILES, "--kubeconfig", str(kubeconfig), "-n", "llm", "-o", "json"]

    result = await asyncio.to_thread(plan, *words)

    found = json.loads(result.stdout)
    assert [(row["nodes"], row["gpus"]) for row in found["rows"]] == [(6, 48)]
    assert found["rows"][0]["services"][0]["status"] == "Blocked (can't satisfy 1P + 1D together)"
    assert found["idle"] == {"gpus": 44}
    assert found["notes"][1:3] == [
        "1 node is left out: cordoned",
        "1 other pod waits for nodes in the cluster; they are not planned, and may take what is free first",
    ]
    assert result.exit_code == 1


async def test_pods_that_may_not_be_listed_are_exit_code_2(cluster: Api, kubeconfig: Path) -> None:  # noqa: F811 - the fixture
    known = cluster.fault

    def refuse(request: web.Request) -> web.StreamResponse | None:
        return status(403, "Forbidden", "no pods") if request.path == "/api/v1/pods" else known(request)

    cluster.fault = refuse

    result = await asyncio.to_thread(plan, *FILES, "--kubeconfig", str(kubeconfig))

    assert result.exit_code == 2
    assert "cannot list pods of the cluster" in result.stderr


@pytest.mark.usefixtures("cluster")
async def test_the_devices_of_a_cluster_are_not_known(kubeconfig: Path) -> None:  # noqa: F811 - the fixture
    file = kubeconfig.parent / "service.yaml"
    file.write_text(claiming())

    result = await asyncio.to_thread(plan, str(file), "--kubeconfig", str(kubeconfig), "-n", "llm", "-q")

    assert "idle GPUs: not known" in result.stdout
    assert "claim gpus: Node objects do not say which devices there are" in result.stdout
