"""What our launchers emit, run: three pods, the real Ray, and a stand-in for the engine.

Each launch waits for something: its leader is late, or the leader's name is.
"""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, Final

import pytest

from intent import Object
from tests.builders.lws import container, lws, template
from tests.cluster.testbed.processes import tail
from tests.ray.conftest import Start
from tests.ray.running import Group, end, ended, publish, recorded
from tests.ray.runs import ALL, BROKEN, INSTEAD, NEWEST, START, SYMMETRIC, Run
from webhook.check import check
from webhook.expand import expanded

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


LEADER, NAME = "late leader", "late name"
ONCE: Final = [(START, NAME), (SYMMETRIC, LEADER)]
"""Launches, and what each waits for: its leader, or the leader's name."""
EVERY: Final = [(run, wait) for wait in (NAME, LEADER) for run in (SYMMETRIC, NEWEST, START, INSTEAD)]
TRIED: Final = EVERY if ALL else ONCE


@pytest.fixture(scope="module", autouse=True)
def late(start: Start) -> Iterator[dict[Run, Group]]:
    """Groups whose leader is late. They start before all others, which are tested while these wait."""
    with ExitStack() as stack:
        yield {
            run: stack.enter_context(start(group(run), run.ray, late=LATE))
            for run, wait in TRIED
            if wait == LEADER
        }


@pytest.fixture(scope="module", params=TRIED, ids=lambda one: f"{one[0].launcher}-{one[0].ray}-{one[1]}")
def asked(request: pytest.FixtureRequest) -> tuple[Run, str]:
    given: tuple[Run, str] = request.param
    return given


@pytest.fixture(scope="module")
def record(asked: tuple[Run, str], late: dict[Run, Group], start: Start) -> Iterator[dict[str, Any]]:
    """Return what the stand-in wrote on the leader."""
    run, wait = asked
    if wait == LEADER:
        yield recorded(late[run])
        end(late[run])
        return
    with start(group(run), run.ray, named=False) as there:
        time.sleep(8)
        publish(there)
        yield recorded(there)


def test_a_release_known_as_broken_fails_as_the_warning_says(start: Start) -> None:
    broken = group(BROKEN, {"name": "RAY_SYMMETRIC_RUN_CLUSTER_WAIT_TIMEOUT", "value": "10"})
    (warning,) = (found.message for found in check(expanded(broken)) if found.code == "FI504")

    with start(broken, BROKEN.ray) as there:
        statuses = [ended(pod) for pod in there.pods]
        said = tail(there.pods[1])

    assert "ray-symmetric needs Ray 2.54 or later; set fusioninfer.io/launcher: vllm-native" in warning
    assert (statuses, "Timed out waiting for head node to start" in said) == ([1, 1, 1], True)


def test_the_words_arrive_byte_for_byte(asked: tuple[Run, str], record: dict[str, Any]) -> None:
    assert record["argv"] == ["vllm", "serve", *ARGUMENTS, *asked[0].behind, *REST]


def test_all_nodes_join_with_their_accelerators(record: dict[str, Any]) -> None:
    assert joined(record) == [(True, GPUS)] * SIZE


def test_ray_knows_the_leader_by_the_address_that_vllm_gives(record: dict[str, Any]) -> None:
    (head,) = (node for node in record["nodes"] if "node:__internal_head__" in node["Resources"])

    assert record["environment"]["VLLM_HOST_IP"] == head["NodeManagerAddress"]


def joined(record: dict[str, Any]) -> list[tuple[bool, float]]:
    return [(node["Alive"], node["Resources"]["GPU"]) for node in record["nodes"]]
