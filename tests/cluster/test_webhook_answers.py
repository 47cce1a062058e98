"""What the API server makes of a webhook whose answer is no review: when it asks again, and when not.

docs/adr/0008 rests on this.
"""

import time
from collections.abc import Callable
from typing import Final

import pytest

from tests.cluster.testbed.api import create, path, refusal
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.components import TRIAL_LWS
from tests.cluster.testbed.echo import Failure, echo

LATER: Final = {"Retry-After": "1"}
AT_ONCE: Final = {"Retry-After": "0"}
CLOSED: Final[Failure] = (0, {})


def written(cluster: Cluster, namespace: str) -> str:
    """Write a LeaderWorkerSet; return what the API server says against it, or nothing."""
    where = path("leaderworkersets", namespace)
    return refusal(lambda: create(cluster.api, where, TRIAL_LWS, dryRun="All"))


def timed(call: Callable[[], str]) -> tuple[str, float]:
    """Return what a call says, and its seconds."""
    since = time.monotonic()
    return call(), time.monotonic() - since


@pytest.mark.parametrize("status", [429, 503])
def test_who_says_when_to_come_again_is_asked_then(cluster: Cluster, namespace: str, status: int) -> None:
    with echo(cluster, "z-echo", namespace, failures=[(status, LATER)]) as received:
        against, seconds = timed(lambda: written(cluster, namespace))

    assert (against, [each["path"] for each in received]) == ("", ["/mutate", "/mutate", "/validate"])
    assert seconds >= 1


def test_who_says_at_once_is_asked_ten_times_more(cluster: Cluster, namespace: str) -> None:
    with echo(cluster, "z-echo", namespace, failures=[(503, AT_ONCE)] * 20) as received:
        against = written(cluster, namespace)

    assert "failed calling webhook" in against
    assert len(received) == 11


@pytest.mark.parametrize("failure", [(503, {}), (429, {}), (500, {}), CLOSED], ids=str)
def test_who_does_not_say_so_is_not_asked_again_and_the_write_is_refused(
    cluster: Cluster, namespace: str, failure: Failure
) -> None:
    with echo(cluster, "z-echo", namespace, failures=[failure]) as received:
        against = written(cluster, namespace)

    assert "failed calling webhook" in against
    assert len(received) == 1
