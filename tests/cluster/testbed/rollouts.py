"""What writes did to a LeaderWorkerSet: its revisions, its pods, how often its spec changed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from intent import Object
from tests.cluster.testbed.api import create, get, items, path
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.components import TRIAL_LWS
from tests.cluster.testbed.groups import LWS_LABELS
from tests.cluster.testbed.wait import until

LAST: Final = "last-"


@dataclass(frozen=True, slots=True)
class Rollout:
    """The names of the LeaderWorkerSet's own revisions, and the uid of each of its pods by name."""

    revisions: frozenset[str]
    pods: Mapping[str, str]


def rollout(cluster: Cluster, namespace: str, name: str) -> Rollout:
    """Read which revisions and pods there are now."""
    selector = f"{LWS_LABELS}name={name}"
    revisions = items(cluster.api, path("controllerrevisions", namespace), labelSelector=selector)
    pods = items(cluster.api, path("pods", namespace), labelSelector=selector)
    return Rollout(
        frozenset(each["metadata"]["name"] for each in revisions if _is_of_lws(each)),
        {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in pods},
    )


def started(cluster: Cluster, namespace: str, name: str) -> Rollout:
    """Wait until it exists, and every pod of its groups; return the rollout."""
    named = {"fieldSelector": f"metadata.name={name}"}
    sets = until(lambda: items(cluster.api, path("leaderworkersets", namespace), **named), f"{name} is made")
    spec = sets[0]["spec"]
    count = spec["replicas"] * spec["leaderWorkerTemplate"]["size"]

    def whole() -> Rollout | None:
        now = rollout(cluster, namespace, name)
        return now if len(now.pods) == count else None

    found = until(whole, f"{count} pods of {name}")
    assert found is not None
    return found


def caught_up(cluster: Cluster, namespace: str) -> None:
    """Wait until LWS's controller saw what was written before: a later set of two pods is there.

    It takes one object at a time, in the order of the writes, and creates the revision of a changed template
    at once. So a restart of pods has begun; it need not have ended, since the controller of StatefulSets and
    the garbage collector work on their own. Read a state after this only if it must not change; wait with
    `until` for one that must.
    """
    template = {**TRIAL_LWS["spec"]["leaderWorkerTemplate"], "size": 2}
    last = {**TRIAL_LWS, "metadata": {"generateName": LAST}, "spec": {"leaderWorkerTemplate": template}}
    name = create(cluster.api, path("leaderworkersets", namespace), last)["metadata"]["name"]
    started(cluster, namespace, name)


def generation(cluster: Cluster, namespace: str, name: str) -> int:
    """Return how many specs an object has had."""
    return int(get(cluster.api, path("leaderworkersets", namespace, name))["metadata"]["generation"])


def _is_of_lws(revision: Object) -> bool:
    return any(owner["kind"] == "LeaderWorkerSet" for owner in revision["metadata"]["ownerReferences"])
