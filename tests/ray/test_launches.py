"""What our launchers emit, run: three pods, the real Ray, and a stand-in for the engine."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, Final

import pytest

from intent import Object
from tests.cluster.testbed.processes import tail
from tests.lws import container, lws, template
from tests.ray.conftest import Start
from tests.ray.running import Group, ended, publish, recorded
from tests.ray.runs import EXECUTOR, START, SYMMETRIC, Run
from webhook.check import check
from webhook.expand import expanded

NEWEST: Final = Run("ray-symmetric", "vllm/vllm-openai:v0.17.1", "2.60.0", EXECUTOR)
BROKEN: Final = Run("ray-symmetric", "vllm/vllm-openai:v0.15.0", "2.53.0", EXECUTOR)
"""The last release whose workers never find the head (ray-project/ray#59795)."""
INSTEAD: Final = Run("ray-start", BROKEN.image, BROKEN.ray, EXECUTOR)
"""What the warning says would work."""

SIZE: Final = 3
GPUS: Final = 8
LATE: Final = 45
"""Seconds: Ray's own waits end sooner, and with them the group."""
ARGUMENTS: Final = (
    *("org/M", "--tensor-parallel-size", "8", "--pipeline-parallel-size", "3"),
    *(
        "--kv-transfer-config",
        '{"kv_connector":"NixlConnector","kv_role":"kv_both","note":"a $HOME \\"q\\""}',
    ),
    *("--chat-template", "it's {{ x }} `id` $(id) ${PATH} $1 \\ \n * ~ # é"),
    *("--served-model-name", ""),
)
REST: Final = ("--", "--after", "--")
"""Behind two dashes nothing is a flag, so nothing is added there."""


def group(run: Run, *env: Object) -> Object:
    engine = container(image=run.image, args=[*ARGUMENTS, *REST], env=list(env) or None)
    return lws(size=SIZE, worker=template(engine), launcher=run.launcher)


@pytest.fixture(scope="module", autouse=True)
def late(start: Start) -> Iterator[dict[Run, Group]]:
    """Groups whose leader is late. They start before all others, which are tested while these wait."""
    with ExitStack() as stack:
        yield {run: stack.enter_context(start(group(run), run.ray, late=LATE)) for run in (SYMMETRIC, START)}


@pytest.fixture(
    scope="module", params=[SYMMETRIC, NEWEST, START, INSTEAD], ids=lambda run: f"{run.launcher}-{run.ray}"
)
def run(request: pytest.FixtureRequest) -> Run:
    asked: Run = request.param
    return asked


@pytest.fixture(scope="module")
def record(run: Run, start: Start) -> dict[str, Any]:
    """Return what the stand-in wrote on the leader."""
    with start(group(run), run.ray) as there:
        return recorded(there)


def test_the_words_arrive_byte_for_byte(run: Run, record: dict[str, Any]) -> None:
    assert record["argv"] == ["vllm", "serve", *ARGUMENTS, *run.behind, *REST]


def test_all_nodes_join_with_their_accelerators(record: dict[str, Any]) -> None:
    assert joined(record) == [(True, GPUS)] * SIZE


def test_ray_knows_the_leader_by_the_address_that_vllm_gives(record: dict[str, Any]) -> None:
    (head,) = (node for node in record["nodes"] if "node:__internal_head__" in node["Resources"])

    assert record["environment"]["VLLM_HOST_IP"] == head["NodeManagerAddress"]


@pytest.mark.parametrize("launch", [SYMMETRIC, START], ids=lambda run: run.launcher)
def test_the_leaders_name_may_be_late(start: Start, launch: Run) -> None:
    with start(group(launch), launch.ray, named=False) as there:
        time.sleep(8)
        publish(there)

        record = recorded(there)

    assert joined(record) == [(True, GPUS)] * SIZE


def test_a_release_known_as_broken_fails_as_the_warning_says(start: Start) -> None:
    asked = group(BROKEN, {"name": "RAY_SYMMETRIC_RUN_CLUSTER_WAIT_TIMEOUT", "value": "10"})
    (warning,) = (found.message for found in check(expanded(asked)) if found.code == "FI504")

    with start(asked, BROKEN.ray) as there:
        statuses = [ended(pod) for pod in there.pods]
        said = tail(there.pods[1])

    assert "ray-symmetric needs Ray 2.54 or later; use launcher vllm-native" in warning
    assert (statuses, "Timed out waiting for head node to start" in said) == ([1, 1, 1], True)


@pytest.mark.parametrize("launch", [SYMMETRIC, START], ids=lambda run: run.launcher)
def test_the_leader_may_be_late(late: dict[Run, Group], launch: Run) -> None:
    record = recorded(late[launch])

    assert joined(record) == [(True, GPUS)] * SIZE


def joined(record: dict[str, Any]) -> list[tuple[bool, float]]:
    return [(node["Alive"], node["Resources"]["GPU"]) for node in record["nodes"]]
