"""A service is ejected by the printed steps: no pod restarts, and its groups are scheduled without us."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from intent import Object
from intent.annotations import PREFIX
from tests.cluster.conftest import AddNodes
from tests.cluster.testbed.api import delete, get, items, path
from tests.cluster.testbed.cluster import Cluster, kubeconfig, kubectl
from tests.cluster.testbed.console import console, must
from tests.cluster.testbed.control_plane import kill_process
from tests.cluster.testbed.controllers import (
    DECODE,
    PREFILL,
    SERVICE,
    apply,
    controller_down,
    pod_group_and_owners,
)
from tests.cluster.testbed.groups import bound, pods, settled
from tests.cluster.testbed.ours import ROOT, start_webhook, wait_admission
from tests.cluster.testbed.rollouts import caught_up, started
from tests.cluster.testbed.wait import until

SETS = (f"{SERVICE}-prefill", f"{SERVICE}-decode")
PLACED = {f"{SERVICE}-prefill-0": (2, 2), f"{SERVICE}-decode-0": (4, 4), f"{SERVICE}-decode-1": (4, 4)}


def test_an_ejected_service_restarts_nothing_and_is_scheduled_again_without_us(
    fusioninfer: Cluster, namespace: str, add_nodes: AddNodes, tmp_path: Path
) -> None:
    add_nodes(10)
    apply(fusioninfer, namespace, PREFILL, DECODE)
    until(lambda: pod_group_and_owners(fusioninfer, namespace), "the PodGroup")
    before = [started(fusioninfer, namespace, name) for name in SETS]
    assert settled(fusioninfer, namespace) == PLACED
    sets, group = specs(fusioninfer, namespace), stored_group(fusioninfer, namespace)

    printed = eject(fusioninfer, namespace)
    (tmp_path / "ejected.yaml").write_text(json.dumps(printed))
    there = console(fusioninfer, tmp_path)
    said = [must(there, command) for command in commands(printed)]
    caught_up(fusioninfer, namespace)

    assert [started(fusioninfer, namespace, name) for name in SETS] == before
    assert specs(fusioninfer, namespace) == sets
    kept = stored_group(fusioninfer, namespace)
    assert (kept["metadata"]["uid"], kept["spec"]) == (group["metadata"]["uid"], group["spec"])
    assert "ownerReferences" not in kept["metadata"]
    assert not marks(fusioninfer, namespace)
    assert [text for step, text in zip(commands(printed), said, strict=True) if "diff" in step] == [""]

    with admission_down(fusioninfer), controller_down(fusioninfer):
        leader = path("pods", namespace, f"{SERVICE}-decode-0")
        uid = get(fusioninfer.api, leader)["metadata"]["uid"]
        delete(fusioninfer.api, leader, gracePeriodSeconds="0")
        until(lambda: replaced(fusioninfer, namespace, uid), "the group is made again")
        until(lambda: ours(fusioninfer, namespace) == PLACED, "the group is scheduled again")
        kubectl(fusioninfer, "apply", f"--filename={tmp_path / 'ejected.yaml'}")
    assert specs(fusioninfer, namespace) == sets


def eject(cluster: Cluster, namespace: str) -> Any:
    """Run the command."""
    words = ["eject", SERVICE, f"--namespace={namespace}", "--output=json"]
    command = [sys.executable, "-m", "fusioninfer", *words, f"--kubeconfig={kubeconfig(cluster)}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def commands(printed: Any) -> list[str]:
    return [step["command"] for step in printed["steps"] if step["command"]]


def specs(cluster: Cluster, namespace: str) -> dict[str, tuple[Object, int]]:
    """Return spec and generation of both LeaderWorkerSets."""
    found = [get(cluster.api, path("leaderworkersets", namespace, name)) for name in SETS]
    return {lws["metadata"]["name"]: (lws["spec"], lws["metadata"]["generation"]) for lws in found}


def stored_group(cluster: Cluster, namespace: str) -> Object:
    return get(cluster.api, path("podgroups", namespace, SERVICE))


def marks(cluster: Cluster, namespace: str) -> list[str]:
    """Return the annotations of ours on the LeaderWorkerSets."""
    found = items(cluster.api, path("leaderworkersets", namespace))
    return [key for lws in found for key in lws["metadata"].get("annotations", {}) if key.startswith(PREFIX)]


def replaced(cluster: Cluster, namespace: str, uid: str) -> bool:
    """Return whether the group has all its pods again, and another leader."""
    uids = [pod["metadata"]["uid"] for pod in pods(cluster, namespace) if not is_ending(pod)]
    return uid not in uids and ours(cluster, namespace).get(f"{SERVICE}-decode-0", (0, 0))[1] == 4


def is_ending(pod: Object) -> bool:
    return "deletionTimestamp" in pod["metadata"]


def ours(cluster: Cluster, namespace: str) -> dict[str, tuple[int, int]]:
    """Return the groups of the service, without those of other LeaderWorkerSets."""
    return {group: count for group, count in bound(cluster, namespace).items() if group.startswith(SERVICE)}


@contextmanager
def admission_down(cluster: Cluster) -> Iterator[None]:
    """Kill the webhook for a while; its configurations stay."""
    kill_process(cluster, "webhook")
    try:
        yield
    finally:
        start_webhook(cluster)
        wait_admission(cluster)
