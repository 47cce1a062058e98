"""What our launchers make of a script, and of IPv6 pods, on the real Ray."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, Final

import pytest

from intent import Object
from tests.builders.lws import container, lws, template
from tests.ray.conftest import Start
from tests.ray.group import FAMILY
from tests.ray.running import Group, end, recorded
from tests.ray.runs import START, SYMMETRIC, Run

RUNS: Final = (SYMMETRIC, START)
SIZE: Final = 2
AT_ONCE: Final = 2
"""Groups that start at once: more nodes than that do not start within Ray's limit on two cores."""
GPUS: Final = 8
SCRIPT: Final = (
    'export MODEL=org/M "NOTE=a \'b\'"; cd / && vllm serve "$MODEL" -tp 16 --note "$NOTE" 2>&1 | cat'
)
WORDS: Final = ("vllm", "serve", "org/M", "-tp", "16", "--chat-template", 'it\'s {{ x }} "$HOME" `id`')
SHAPES: Final[dict[str, tuple[list[str], list[str] | None, str]]] = {
    "words": ([*WORDS[:2]], [*WORDS[2:]], "IPv6"),
    "script": (["sh", "-c", SCRIPT], None, "IPv4"),
}
"""Command, args, and by which family of addresses the pods are known.

The other shapes are run by a shell in `tests/webhook/launchers/test_launch_laws.py`.
"""
TRIED: Final = [(run, shape) for run in RUNS for shape in SHAPES]


def group(run: Run, shape: str) -> Object:
    command, args, family = SHAPES[shape]
    labels = {"metadata": {"labels": {FAMILY: family}}}
    engine = template(container(image=run.image, command=command, args=args))
    return lws(SIZE, engine | labels, None, launcher=run.launcher)


@pytest.fixture(scope="module")
def begin(start: Start) -> Iterator[Callable[[tuple[Run, str]], Group]]:
    """Start a group, unless it is started; it ends with the module."""
    groups: dict[tuple[Run, str], Group] = {}
    with ExitStack() as stack:

        def begun(asked: tuple[Run, str]) -> Group:
            if asked not in groups:
                groups[asked] = stack.enter_context(start(group(*asked), asked[0].ray))
            return groups[asked]

        yield begun


@pytest.fixture(scope="module", params=TRIED, ids=lambda one: f"{one[1]}-{one[0].launcher}-{one[0].ray}")
def asked(request: pytest.FixtureRequest) -> tuple[Run, str]:
    given: tuple[Run, str] = request.param
    return given


@pytest.fixture(scope="module")
def record(begin: Callable[[tuple[Run, str]], Group], asked: tuple[Run, str]) -> dict[str, Any]:
    """Return what the stand-in wrote on the leader, while the next group starts."""
    at = TRIED.index(asked)
    here, *_ = [begin(one) for one in TRIED[at : at + AT_ONCE]]
    found = recorded(here)
    end(here)
    return found


def test_the_engine_gets_its_authors_words(asked: tuple[Run, str], record: dict[str, Any]) -> None:
    run, shape = asked
    script = ("vllm", "serve", "org/M", "-tp", "16", "--note", "a 'b'")

    assert record["argv"] == [*(script if shape == "script" else WORDS), *run.behind]


def test_every_pod_joins(record: dict[str, Any]) -> None:
    nodes = record["nodes"]

    assert [(node["Alive"], node["Resources"]["GPU"]) for node in nodes] == [(True, GPUS)] * SIZE


def test_ray_knows_pods_by_the_family_of_an_address(asked: tuple[Run, str], record: dict[str, Any]) -> None:
    is_ipv6 = SHAPES[asked[1]][2] == "IPv6"

    addresses = [node["NodeManagerAddress"] for node in record["nodes"]]

    assert [":" in address for address in addresses] == [is_ipv6] * SIZE
    assert record["environment"]["VLLM_HOST_IP"] in addresses


def test_a_script_prepares_the_process_of_the_engine(asked: tuple[Run, str], record: dict[str, Any]) -> None:
    assert record["environment"].get("NOTE") == ("a 'b'" if asked[1] == "script" else None)
