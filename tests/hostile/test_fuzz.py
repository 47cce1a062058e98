"""Whatever is sent, the answer is a review or a refusal: a short look; `make fuzz` looks for longer."""

from collections import Counter
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as bounded

from tests.hostile.fuzz import DOORS, bodies, check, holds
from tests.hostile.known import KNOWN
from tests.hostile.server import Server, review
from tests.lws import lws


def little(examples: int) -> bounded:
    return bounded(
        max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )


@pytest.mark.parametrize("path", DOORS)
def test_52_whatever_is_sent_has_an_answer(path: str) -> None:
    outcomes: Counter[str] = Counter()

    @little(400)
    @given(body=bodies())
    def run(body: bytes) -> None:
        outcomes[holds(path, body)] += 1

    run()
    assert len(outcomes) >= 3  # most of what is sent is understood, and not all


def test_52_whatever_is_sent_to_the_port_has_an_answer(server: Server) -> None:
    @little(100)
    @given(body=bodies())
    def run(body: bytes) -> None:
        for path in DOORS:
            reply = server.send(body, path)
            if reply.status == 200:
                check(path, orjson.loads(body), orjson.loads(reply.body))
            else:
                assert reply.status == 400 or (reply.status == 500 and holds(path, body) == "known")

    run()
    assert server.is_alive()


@pytest.mark.parametrize("name", KNOWN)
def test_52_what_is_known_to_fail_fails_still_and_harms_nobody(server: Server, name: str) -> None:
    replies = [server.send(orjson.dumps(review(KNOWN[name], KNOWN[name])), path) for path in DOORS]

    assert 500 in [reply.status for reply in replies], "it works now: take its row away"
    assert "patch" in server.response(review(lws()))


def test_52_a_wrong_answer_is_seen() -> None:
    sent: Any = review(lws())
    wrong = {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": {"uid": "another", "allowed": True},
    }

    with pytest.raises(AssertionError):
        check("/mutate", sent, wrong)
