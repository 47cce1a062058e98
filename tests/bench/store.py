"""Thousands of services in the store of a real API server: a LeaderWorkerSet and a PodGroup each.

The first of both is made as always. The others are copies of what etcd then holds, with other names and uids:
through the API server ten thousand would take longer than all that is measured.
"""

import uuid
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Final

import orjson

from intent import Object
from intent.annotations import SERVICE
from tests.bench.kept import Kept, kept
from tests.bench.run import Run
from tests.bench.sizes import small
from tests.bench.stages import body, patched
from tests.cluster.testbed.api import MERGE_PATCH, create, path
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.etcd import ask
from webhook import review

PATTERN: Final = "the-pattern"
"""The name of the first service, and of its objects; it stands nowhere else in them."""
SETS: Final = "/registry/leaderworkerset.x-k8s.io/leaderworkersets/default/"
POD_GROUPS: Final = "/registry/scheduling.volcano.sh/podgroups/default/"
PLACE: Final = path("leaderworkersets", "default")
SCALED: Final = orjson.dumps({"spec": {"replicas": 3}})
BATCH: Final = 100
"""etcd takes 128 writes at once, and 1.5 MiB."""
CONNECTIONS: Final = 4


def member(name: str) -> Object:
    """Make the only LeaderWorkerSet of a service, expanded: its gang can start at once."""
    live = small()
    live["metadata"] = {"name": name, "namespace": "default", "annotations": {SERVICE: name}}
    engine = live["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["containers"][0]
    engine["env"] = [{"name": f"VARIABLE_{at}", "value": "value " * 3} for at in range(24)]
    return patched(live, review.mutate(body(live)))


def first(cluster: Cluster) -> None:
    """Store the LeaderWorkerSet from which the others are copied."""
    create(cluster.api, PLACE, member(PATTERN))


def copy(cluster: Cluster, folder: str, names: Sequence[str], run: Run) -> None:
    """Copy the first object of a folder of etcd under other names."""
    held = ask(cluster, "/v3/kv/range", {"key": _coded(folder + PATTERN)})["kvs"][0]
    whole = b64decode(held["value"])
    for at in run.rounds(-(-len(names) // BATCH), "filling the store"):
        puts = [_put(folder, whole, name) for name in names[at * BATCH : (at + 1) * BATCH]]
        ask(cluster, "/v3/kv/txn", {"success": puts})


def _put(folder: str, whole: bytes, name: str) -> Object:
    """Write a copy: every uid in it becomes one that its old one and the new name determine."""
    renamed = whole.replace(PATTERN.encode(), name.encode())
    for uid in _uids(orjson.loads(whole)["metadata"]):
        renamed = renamed.replace(uid.encode(), str(uuid.uuid5(uuid.UUID(uid), name)).encode())
    return {"requestPut": {"key": _coded(folder + name), "value": b64encode(renamed).decode()}}


def _uids(metadata: Object) -> Iterator[str]:
    yield metadata["uid"]
    yield from (owner["uid"] for owner in metadata.get("ownerReferences", ()))


def _coded(key: str) -> str:
    return b64encode(key.encode()).decode()


def scale(cluster: Cluster, names: Sequence[str], run: Run) -> None:
    """Scale LeaderWorkerSets: events of which the controller must see that there is nothing to do."""
    with ThreadPoolExecutor(CONNECTIONS) as pool, ExitStack() as stack:
        lines = [stack.enter_context(kept(cluster.api)) for _ in range(CONNECTIONS)]
        for at in run.rounds(-(-len(names) // BATCH), "scaling"):
            batch = names[at * BATCH : (at + 1) * BATCH]
            list(pool.map(_scale, lines, (batch[share::CONNECTIONS] for share in range(CONNECTIONS))))


def _scale(line: Kept, names: Sequence[str]) -> None:
    for name in names:
        line.send("PATCH", f"{PLACE}/{name}", SCALED, MERGE_PATCH)
