"""A minute without changes: the controller writes only what that minute itself brings.

The minute is a real one: all other intervals of the controller are shorter than it, or have nothing to write.
`make soak SOAK=idle` runs it.
"""

import http.client
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

import pytest

from intent import Object
from tests.cluster.testbed.api import path
from tests.cluster.testbed.audit import come_to_rest, requests, words, writes
from tests.cluster.testbed.cluster import Cluster, kubectl
from tests.cluster.testbed.controllers import (
    DECODE,
    MONOLITHIC,
    PREFILL,
    SERVICE,
    Required,
    apply,
    pod_group,
    required,
    told,
)
from tests.cluster.testbed.groups import wait_pods
from tests.cluster.testbed.namespaces import new_namespace
from tests.cluster.testbed.wait import until
from tests.cluster.testbed.written import named, read

SECONDS: Final = 63.0
"""A minute, and the writes at its end."""


RESTING: Final = "resting"
WAITING: Final = named(read(PREFILL), "waiting-prefill", service="waiting")
EMPTIED: Final = (
    named(read(PREFILL), "resting-prefill", service=RESTING),
    named(read(DECODE), "resting-decode", service=RESTING),
)
PODS: Final = 30


@dataclass(frozen=True, slots=True)
class Idle:
    """The requests of the controller while nothing changed."""

    requests: list[Object]
    writes: list[Object]


@dataclass(frozen=True, slots=True)
class Minute:
    """The requests of a minute, and what the PodGroup of one service required before and after it."""

    idle: Idle
    before: Required
    after: Required


@pytest.fixture(scope="module")
def minute(fusioninfer: Cluster) -> Iterator[Minute]:
    with new_namespace(fusioninfer) as namespace:
        at_rest(fusioninfer, namespace)
        kubectl(fusioninfer, "scale", "-n", namespace, "leaderworkersets/resting-decode", "--replicas=0")
        wait_pods(fusioninfer, namespace, 22)
        before = required(fusioninfer, namespace, RESTING)
        idle = recorded(fusioninfer, SECONDS)
        yield Minute(idle, before, required(fusioninfer, namespace, RESTING))


def test_an_idle_controller_writes_nothing(minute: Minute) -> None:
    others = [each for each in minute.idle.writes if not each["requestURI"].startswith(pod_group_of(each))]

    assert list(map(words, others)) == []


def test_an_idle_controller_reads_only_the_owners_of_the_object_it_is_about_to_change(minute: Minute) -> None:
    owners = [f"{RESTING}-{role}" for role in ("decode", "prefill")]

    assert sorted((*words(each), each["objectRef"].get("name")) for each in reads(minute.idle)) == [
        ("get", "leaderworkersets", name) for name in owners
    ]


def test_a_role_without_replicas_is_required_for_a_minute_and_no_longer(minute: Minute) -> None:
    policies = {"resting-prefill": (1, 2)}

    assert (
        (6, {**policies, "resting-decode": (1, 4)}),
        (2, {**policies, "resting-decode": (0, 4)}),
    ) == (minute.before, minute.after)


def test_a_resting_role_costs_one_dry_run_and_one_write(minute: Minute) -> None:
    tries = [("dryRun" in each["requestURI"], *words(each)) for each in minute.idle.writes]

    assert tries == [(True, "patch", "podgroups"), (False, "patch", "podgroups")]


def pod_group_of(request: Object) -> str:
    """Return the path of the PodGroup that the minute changes."""
    return path("podgroups", request["objectRef"]["namespace"], RESTING)


def recorded(cluster: Cluster, seconds: float) -> Idle:
    """Wait, and return what the controller asked of the API server meanwhile."""
    asked, wrote = len(requests(cluster)), len(writes(cluster))
    time.sleep(seconds)
    return Idle(requests(cluster)[asked:], writes(cluster)[wrote:])


def reads(idle: Idle) -> list[Object]:
    """Return the requests that read objects of installed kinds; the controller polls for the other kinds."""
    return [
        each
        for each in idle.requests
        if each["verb"] in {"list", "get"} and each["responseStatus"]["code"] != http.client.NOT_FOUND
    ]


def at_rest(cluster: Cluster, namespace: str) -> None:
    """Apply a service of each sort, and wait until everything is done and reported."""
    apply(cluster, namespace, PREFILL, DECODE, MONOLITHIC, WAITING, *EMPTIED)
    for service in (SERVICE, "deepseek-r1-inference", RESTING):
        until(partial(pod_group, cluster, namespace, service), f"the PodGroup of {service}")
    until(lambda: told(cluster, namespace), "an Event reports the one that waits")
    wait_pods(cluster, namespace, PODS)
    come_to_rest(cluster)
