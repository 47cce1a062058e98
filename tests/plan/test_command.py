"""`fusioninfer plan`: nodes by shape and of a cluster; formats, exit codes and bad input."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any, Final

import pytest
from aiohttp import web
from click.testing import CliRunner, Result

from fusioninfer.cli import main
from fusioninfer.cluster.nodes import NOT_ENDED
from intent import Object
from plan.demand import COUNTED
from tests.builders.lws import container, lws, template
from tests.cluster.capacity import DISAGGREGATED
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
    assert found["next"] == [{"nodes": 3, "like": "8 nvidia.com/gpu", "starts": ["decode-1"]}]


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


# --- resource claims (DRA) ---------------------------------------------------------------------------


def claiming(**request: Any) -> str:
    """Return a service of two pods that claim devices, and the template of their claims."""
    resources = {"requests": {"cpu": "8", "memory": "64Gi"}, "claims": [{"name": "gpus"}]}
    claims = [{"name": "gpus", "resourceClaimTemplateName": "four-gpus"}]
    service = lws(2, template(container(resources=resources), resourceClaims=claims), launcher="none")
    service["metadata"] |= {"name": "dra"}
    service["spec"]["replicas"] = 1
    exactly = {"deviceClassName": "gpu.nvidia.com", "count": 4} | request
    made = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "four-gpus"},
        "spec": {"spec": {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}},
    }
    return f"{json.dumps(service)}\n---\n{json.dumps(made)}"


def test_claimed_devices_are_counted_if_the_template_is_in_the_files() -> None:
    found = json.loads(plan("-", "--nodes", "4x4", "-o", "json", stdin=claiming()).stdout)

    full = [row["nodes"] for row in found["rows"] if row["services"][0]["status"] == "Full capacity"]
    assert (full, found["rows"][-1]["gpus"]) == ([2, 3, 4], 16)


def test_claims_that_cannot_be_counted_are_said_to_be_not_known() -> None:
    files = claiming(allocationMode="All")

    text, data = (plan("-", "--nodes", "4x4", "-o", form, stdin=files) for form in ("text", "json"))

    assert (text.exit_code, data.exit_code) == (1, 1)
    assert f"not known whether its pods have room: claim gpus: {COUNTED}" in text.stdout
    assert "Not known" in text.stdout
    assert not re.search(r"Full capacity|100%", text.stdout)
    assert json.loads(data.stdout)["rows"][-1]["services"][0]["capacity"] is None


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
    """A cluster of seven nodes, of which one is cordoned and one is in use, with a pod that waits.

    It lists two pods that have ended, unless the request leaves such pods out.
    """
    lists = {
        "/api/v1/nodes": [*(node(f"n{at}") for at in range(6)), node("n6", unschedulable=True)],
        "/api/v1/pods": [bound("busy", "n0", 4), bound("waits", "")],
        "/apis/scheduling.k8s.io/v1/priorityclasses": [],
    }

    def answer(request: web.Request) -> web.StreamResponse | None:
        items = lists.get(request.path)
        if request.path == "/api/v1/pods" and request.query.get("fieldSelector") != NOT_ENDED:
            items = [*lists[request.path], bound("done", "n1"), bound("failed", "n2")]
        body = {"metadata": {"resourceVersion": "1"}, "items": items}
        return None if items is None else web.json_response(body)

    api.fault = answer
    return api


@pytest.mark.usefixtures("cluster")
async def test_the_nodes_of_a_cluster_are_taken_with_what_is_free(kubeconfig: Path) -> None:  # noqa: F811 - the fixture
    words = [*FILES, "--kubeconfig", str(kubeconfig), "-n", "llm", "-o", "json"]

    result = await asyncio.to_thread(plan, *words)

    found = json.loads(result.stdout)
    assert [(row["nodes"], row["gpus"]) for row in found["rows"]] == [(6, 48)]
    assert found["rows"][0]["services"][0]["status"] == "Blocked (can't satisfy 1P + 1D together)"
    assert found["notes"][:2] == [
        "1 node left out: cordoned",
        "not planned, and may take what is free first: 1 other waiting pod",
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

    result = await asyncio.to_thread(plan, str(file), "--kubeconfig", str(kubeconfig), "-n", "llm")

    assert "Not known" in result.stdout
    assert f"claim gpus: {COUNTED}" in result.stdout
