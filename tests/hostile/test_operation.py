"""Operation while other components fail, and messages to authors: behaviours 75, 78, 98, 100 and 102."""

import json
import time
from collections.abc import Callable
from typing import Any, Final

import orjson
import pytest

from catalog.codes import CODES
from intent import Object
from tests.builders.lws import changed, container, lws, put, template
from tests.builders.reviews import review
from tests.builders.wire import ask, get
from tests.hostile.objects import FILES
from tests.hostile.server import Server
from webhook import review as reviews

BYPASS: Final = "metadata.annotations.fusioninfer.io/inject"
SMALL: Final = orjson.dumps(review(lws()))


async def test_75_without_an_api_server_it_answers_and_is_ready(server: Server) -> None:
    statuses = (
        (await ask(server.port, server.tls, SMALL)).status,
        (await get(server.metrics_port, "/readyz")).status,
    )

    assert statuses == (200, 200)


LARGE: Final[dict[str, Object]] = {
    "variables": lws(
        worker=template(container(env=[{"name": f"V{at}", "value": "x" * 80} for at in range(45_000)]))
    ),
    "an annotation": changed(lws(), "metadata.annotations.big", "x" * 5_000_000),
    "containers": lws(
        worker=template(
            container(), *(container(f"c{at}", image="x", resources=None) for at in range(20_000))
        )
    ),
    "args": lws(worker=template(container(args=["m", *(f"--flag={at}" for at in range(300_000))]))),
}


@pytest.mark.parametrize("review_of", [reviews.mutate, reviews.validate])
@pytest.mark.parametrize("live", LARGE.values(), ids=LARGE)
def test_78_a_very_large_object_costs_a_few_times_its_parsing(
    live: Object, review_of: Callable[[bytes], object]
) -> None:
    body = orjson.dumps(review(live))

    assert min(cost(review_of, body) for _ in range(3)) < 20 * min(cost(json.loads, body) for _ in range(3))


def cost(call: Callable[[bytes], object], body: bytes) -> float:
    """Return the seconds of CPU that a call takes."""
    since = time.process_time()
    call(body)
    return time.process_time() - since


@pytest.mark.parametrize(
    ("live", "old"),
    [
        (changed(lws(), "spec.replicas", 4), lws()),
        (lws(worker=template(container(command=["sh", "-c"], args=["vllm serve m; x"]))), None),
        (lws(worker=template(container(command=["python3"], args=["serve.py"]))), None),
    ],
    ids=["annotated before", "a script", "an unknown program"],
)
def test_98_an_object_that_is_left_unchanged_gets_the_reason(server: Server, live: Any, old: Any) -> None:
    warnings = server.validated(server.admit(live, old), old)["warnings"]

    assert {text.partition(":")[0] for text in warnings} <= CODES.keys()
    assert warnings


def test_98_an_object_without_our_annotations_gets_no_warnings(server: Server) -> None:
    plain = changed(lws(), "metadata.annotations", {})

    assert "warnings" not in server.validated(plain)


@pytest.mark.parametrize("path", ["/mutate", "/validate"])
def test_100_a_dry_run_gets_the_same_answers(server: Server, path: str) -> None:
    for file in FILES[::7]:
        sent = [orjson.dumps(review(file, dryRun=dry)) for dry in (False, True)]

        answers = [server.send(body, path).body for body in sent]

        assert answers[0] == answers[1]


@pytest.mark.parametrize("live", [lws(), put(lws()), lws(service="Not A Label")], ids=str)
def test_102_a_bypassed_object_gets_no_patch_and_no_message(server: Server, live: Object) -> None:
    bypassed = changed(live, BYPASS, "disabled")

    assert server.operations(bypassed, live) == []
    assert set(server.validated(bypassed, live)) == {"uid", "allowed"}
