"""A minute in which nobody does anything: the controller writes nothing but what that minute itself brings.

The minute is a real one: all of the controller's own clocks are shorter than it, or have nothing to write.
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
from tests.cluster.testbed.audit import requests, words, writes
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
from tests.cluster.testbed.namespaces import add_namespace, empty_namespace
from tests.cluster.testbed.wait import until
from tests.cluster.testbed.written import named, read

SECONDS: Final = 63.0
"""A minute, and what comes at its end."""
RESTING: Final = "resting"
WAITING: Final = named(read(PREFILL), "waiting-prefill", service="waiting")
EMPTIED: Final = (
    named(read(PREFILL), "resting-prefill", service=RESTING),
    named(read(DECODE), "resting-decode", service=RESTING),
)


@dataclass(frozen=True, slots=True)
class Minute:
    """The requests of the controller in a minute, and what the PodGroup of one service required."""

    requests: list[Object]
    writes: list[Object]
    before: Required
    after: Required


@pytest.fixture(scope="module")
def minute(fusioninfer: Cluster) -> Iterator[Minute]:
    namespace = add_namespace(fusioninfer)
    at_rest(fusioninfer, namespace)
    kubectl(fusioninfer, "scale", "-n", namespace, "leaderworkersets/resting-decode", "--replicas=0")
    wait_pods(fusioninfer, namespace, 22)
    asked, wrote = len(requests(fusioninfer)), len(writes(fusioninfer))
    before = required(fusioninfer, namespace, RESTING)

    time.sleep(SECONDS)

    after = required(fusioninfer, namespace, RESTING)
    yield Minute(requests(fusioninfer)[asked:], writes(fusioninfer)[wrote:], before, after)
    empty_namespace(fusioninfer, namespace)


def test_idle_it_writes_nothing(minute: Minute) -> None:
    others = [each for each in minute.writes if not each["requestURI"].startswith(pod_group_of(each))]

    assert list(map(words, others)) == []


def test_idle_it_reads_nothing_but_the_owners_of_what_it_is_about_to_change(minute: Minute) -> None:
    reads = [each for each in minute.requests if each["verb"] in {"list", "get"} and is_installed(each)]

    owners = [f"{RESTING}-{role}" for role in ("decode", "prefill")]
    assert sorted((*words(each), each["objectRef"].get("name")) for each in reads) == [
        ("get", "leaderworkersets", name) for name in owners
    ]


def test_a_role_without_replicas_is_required_for_a_minute_and_no_longer(minute: Minute) -> None:
    policies = {"resting-prefill": (1, 2)}

    assert (
        (6, {**policies, "resting-decode": (1, 4)}),
        (2, {**policies, "resting-decode": (0, 4)}),
    ) == (minute.before, minute.after)


def test_a_role_that_rests_is_tried_and_written_once(minute: Minute) -> None:
    tries = [("dryRun" in each["requestURI"], *words(each)) for each in minute.writes]

    assert tries == [(True, "patch", "podgroups"), (False, "patch", "podgroups")]


def at_rest(cluster: Cluster, namespace: str) -> None:
    """Apply a service of each sort, and wait until all is done and said."""
    apply(cluster, namespace, PREFILL, DECODE, MONOLITHIC, WAITING, *EMPTIED)
    for service in (SERVICE, "deepseek-r1-inference", RESTING):
        until(partial(pod_group, cluster, namespace, service), f"the PodGroup of {service}")
    until(lambda: told(cluster, namespace), "the one that waits is told")


def is_installed(request: Object) -> bool:
    """Return whether a request is about a kind that there is; the controller looks out for the others."""
    return bool(request["responseStatus"]["code"] != http.client.NOT_FOUND)


def pod_group_of(request: Object) -> str:
    """Return the path of the PodGroup that time brings."""
    return path("podgroups", request["objectRef"]["namespace"], RESTING)
