"""`fusioninfer plan`: nodes by shape, of a file and of a cluster; formats, exit codes and bad input."""

import asyncio
import json
from pathlib import Path
from typing import Any, Final

import pytest
from aiohttp import web
from click.testing import CliRunner, Result

from fusioninfer.cli import main
from intent import Object
from tests.cluster.capacity import DISAGGREGATED, MONOLITHIC
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


def test_the_table_of_the_documents_is_printed() -> None:
    result = plan(*FILES, "--nodes", "10x8")

    assert result.exit_code == 0
    assert result.stdout.splitlines()[:7] == [
        "deepseek-r1-disagg: 3 groups, 80 GPUs",
        "nodes   GPUs  prefill    decode-0   decode-1   capacity  status",
        "  0-1    0-8  pending    pending    pending    0%        Service unavailable",
        "  2-3  16-24  pending    pending    pending    0%        Blocked (only enough for prefill)",
        "  4-5  32-40  pending    pending    pending    0%        Blocked (can't satisfy 1P + 1D together)",
        "  6-9  48-72  scheduled  scheduled  pending    66%       Partial (1P + 1D)",
        "   10     80  scheduled  scheduled  scheduled  100%      Full capacity",
    ]


def test_what_waits_what_more_nodes_would_start_and_what_is_idle_is_said() -> None:
    result = plan(*FILES, "--nodes", "7x8")

    assert result.exit_code == 1
    assert (
        "waiting: decode-1 waits: 1 of 4 pods have room; a pod requests 16 cpu, 256Gi memory, "
        "8 nvidia.com/gpu; of 7 nodes, 6 in use (nvidia.com/gpu), 1 taken by the pods that have room"
        in result.stdout
    )
    assert "next: 3 more nodes with 8 nvidia.com/gpu would start decode-1" in result.stdout
    assert "idle GPUs: 8; 8 of them would serve pending pods, if groups did not start whole" in result.stdout


def test_json_has_a_row_for_each_number_of_nodes() -> None:
    found = json.loads(plan(*FILES, "--nodes", "7x8", "-o", "json").stdout)

    assert [row["gpus"] for row in found["rows"]] == [8 * count for count in range(8)]
    assert found["idle"] == {"gpus": 8, "heldByWholeGroups": 8}
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
        ([node("a"), node("b"), node("a")], "contains Node a 2 times; remove all but one"),
        ([node("a"), None, {"kind": "Node"}], "2 of 3 nodes have no metadata.name"),
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


def test_a_scheduler_that_is_not_modelled_is_named() -> None:
    text = MONOLITHIC.files[0].read_text()
    other = text.replace("annotations:", "annotations:\n    fusioninfer.io/scheduler-name: other", 1)

    found = [plan("-", "--nodes", "2x8", stdin=one).stdout for one in (text, other)]

    note = "scheduler other is not modelled; the plan is that of"
    assert [note in one for one in found] == [False, True]


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
        if request.path == "/version":
            return web.json_response({"gitVersion": "v1.35.0"})
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
    assert found["idle"] == {"gpus": 44, "heldByWholeGroups": 40}
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
