"""Thousands of services in the store of a real API server: each a LeaderWorkerSet, a PodGroup, and pods.

The objects of the first service are made by the real controllers. The others are copies of what etcd then
holds, with other names, namespaces and uids: through the API server, fifty thousand pods would take longer
than all that is measured. etcd holds built-in kinds as protobuf, in which a text has a length. So every name
of a service has as many characters as `PATTERN`, every namespace as many as `TENANT`, and the copies are
checked as the API server reads them.
"""

import hashlib
import http.client
import json
import uuid
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

import orjson

from intent import Object
from intent.annotations import SERVICE
from kube.request import FIELD_MANAGER
from tests.bench.report import expect
from tests.bench.run import Run
from tests.bench.stages import body, patched, small
from tests.cluster.testbed.api import APPLY_PATCH, MERGE_PATCH, call, create, get, items, path
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.nodes import add_gpu_nodes
from tests.cluster.testbed.wait import until
from webhook import review

# --- etcd past the API server -------------------------------------------------------------------------
# Its JSON gateway (`etcd.io/docs` "gRPC gateway").


def ask(cluster: Cluster, where: str, body: Object) -> Object:
    """Make one call; raises ValueError unless it is answered."""
    connection = http.client.HTTPConnection("127.0.0.1", cluster.ports["etcd"], timeout=10)
    try:
        connection.request("POST", where, json.dumps(body))
        answer: Object = json.loads(connection.getresponse().read())
    finally:
        connection.close()
    if "header" not in answer:
        raise ValueError(answer)
    return answer


PATTERN: Final = "the-pattern"
"""The name of the first service, and of its LeaderWorkerSet; the names of its other objects begin with it."""
TENANT: Final = "a-tenant"
"""The namespace of the first service."""
TENANTS: Final = 100
"""Namespaces of the others. LWS's manager looks through the pods of a namespace in each reconcile."""
PODS: Final = 5
"""Pods of one service: one group."""
POD_GROUPS: Final = "podgroups"
FOLDERS: Final = {
    "leaderworkersets": "leaderworkerset.x-k8s.io/leaderworkersets",
    POD_GROUPS: "scheduling.volcano.sh/podgroups",
    "controllerrevisions": "controllerrevisions",
    "statefulsets": "statefulsets",
    "services": "services/specs",
    "pods": "pods",
}
"""Where etcd holds the objects of a service, by resource."""
GROUP_KEY: Final = "leaderworkerset.sigs.k8s.io/group-key"
SCALED: Final = {"spec": {"replicas": 3}}
BATCH: Final = 100
BYTES: Final = 2**20
"""etcd takes 128 writes at once, and 1.5 MiB."""
CONNECTIONS: Final = 4
PATIENCE: Final = 300.0
"""Seconds until the pods of the first service run."""


def names(count: int) -> list[str]:
    """Return names of services, each as long as `PATTERN`."""
    width = len(PATTERN) - len("set-")
    return [f"set-{at:0{width}}" for at in range(count)]


def namespace(name: str) -> str:
    """Return the namespace of a service, which its name determines."""
    return TENANT if name == PATTERN else f"tenant{int(name.removeprefix('set-')) % TENANTS:02}"


def place(resource: str, name: str, of: str = "") -> str:
    """Return the path of an object of a service; it has the service's name if it has no other."""
    return path(resource, namespace(name), of or name)


def member(name: str) -> Object:
    """Make the only LeaderWorkerSet of a service, expanded: its gang can start at once."""
    live = small()
    live["metadata"] = {"name": name, "annotations": {SERVICE: name}}
    live["spec"]["leaderWorkerTemplate"]["size"] = PODS
    engine = live["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["containers"][0]
    engine["args"] = [*engine["args"][:2], "--tensor-parallel-size", "8", f"--pipeline-parallel-size={PODS}"]
    engine["env"] = [{"name": f"VARIABLE_{at}", "value": "value " * 3} for at in range(24)]
    expanded = patched(live, review.mutate(body(live)))
    return expanded | {"metadata": expanded["metadata"] | {"namespace": namespace(name)}}


def first(cluster: Cluster) -> None:
    """Store the LeaderWorkerSet from which the others are copied, and wait until its pods run."""
    add_gpu_nodes(cluster, PODS)
    for tenant in (TENANT, *sorted({namespace(name) for name in names(TENANTS)})):
        create(cluster.api, path("namespaces"), {"metadata": {"name": tenant}})
    create(cluster.api, path("leaderworkersets", TENANT), member(PATTERN))
    until(lambda: _is_available(cluster), f"{PATTERN} is available", seconds=PATIENCE, every=1.0)


def _is_available(cluster: Cluster) -> bool:
    said = get(cluster.api, place("leaderworkersets", PATTERN)).get("status", {}).get("conditions", ())
    return ("Available", "True") in {(one["type"], one["status"]) for one in said}


# --- copies -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Pattern:
    """The objects of the first service."""

    objects: dict[str, list[Object]]
    """As the API server reads them, by resource."""

    def renamed(self, text: bytes, name: str) -> bytes:
        """Return a text for another service: other names, namespace, uids and keys, all equally long."""
        copied, names = text, ((PATTERN, name), (TENANT, namespace(name)))
        for old, new in (*names, *self._uids(name), _group_key(name)):
            copied = copied.replace(old.encode(), new.encode())
        expect(len(copied), len(text), f"bytes of an object of {name}")
        return copied

    def _uids(self, name: str) -> Iterable[tuple[str, str]]:
        """Return each uid with the one that it and the new name determine."""
        for uid in (one["metadata"]["uid"] for found in self.objects.values() for one in found):
            yield uid, str(uuid.uuid5(uuid.UUID(uid), name))


def pattern(cluster: Cluster) -> Pattern:
    """Read the objects of the first service."""
    found = {resource: _of_pattern(cluster, resource) for resource in FOLDERS}
    expect(len(found["pods"]), PODS, f"pods of {PATTERN}")
    keys = {one["metadata"]["labels"].get(GROUP_KEY) for one in found["pods"]}
    expect(keys, {_group_key(PATTERN)[0]}, "the group's key")
    return Pattern(found)


def copy(cluster: Cluster, known: Pattern, resource: str, chosen: Sequence[str], run: Run) -> None:
    """Copy the objects of the first service under other names, one resource of it."""
    folder = f"/registry/{FOLDERS[resource]}"
    for each in _copied(known, resource):
        key = f"{folder}/{TENANT}/{each['metadata']['name']}".encode()
        held = b64decode(ask(cluster, "/v3/kv/range", {"key": _coded(key)})["kvs"][0]["value"])
        size = min(BATCH, BYTES // len(held))
        for at in run.rounds(-(-len(chosen) // size), f"copying {resource}"):
            batch = chosen[at * size : (at + 1) * size]
            puts = [_put(known.renamed(key, name), known.renamed(held, name)) for name in batch]
            ask(cluster, "/v3/kv/txn", {"success": puts})


def _copied(known: Pattern, resource: str) -> list[Object]:
    """Return the objects of a resource that are copied: of Services, LWS's headless one."""
    return [one for one in known.objects[resource] if not one["metadata"]["name"].endswith("-api")]


def apply_services(cluster: Cluster, known: Pattern, chosen: Sequence[str], run: Run) -> None:
    """Apply the Services of the controller as it does: copies would share one address.

    The API server repairs such Services all the time, and hardly answers.
    """
    (stored,) = (one for one in known.objects["services"] if one["metadata"]["name"] == f"{PATTERN}-api")
    fields = next(one for one in stored["metadata"]["managedFields"] if one["manager"] == FIELD_MANAGER)[
        "fieldsV1"
    ]
    owned = _of_fields(stored, fields)
    owned["metadata"]["name"] = stored["metadata"]["name"]
    text = orjson.dumps({"apiVersion": "v1", "kind": "Service", **owned})

    def applied(name: str) -> None:
        target = f"{place('services', name, f'{name}-api')}?fieldManager={FIELD_MANAGER}&force=true"
        call(cluster.api, "PATCH", target, orjson.loads(known.renamed(text, name)), APPLY_PATCH)

    _each(chosen, applied, run, "applying services")


def _each(chosen: Sequence[str], do: Callable[[str], None], run: Run, what: str) -> None:
    """Do something for each service, for some at once."""
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        for at in run.rounds(-(-len(chosen) // BATCH), what):
            list(pool.map(do, chosen[at * BATCH : (at + 1) * BATCH]))


def _of_fields(stored: Any, fields: Object) -> Any:
    """Return the fields of an object that a set of managedFields names."""
    if not (below := {key: value for key, value in fields.items() if key != "."}):
        return stored
    if isinstance(stored, list):
        keys = [(orjson.loads(key[2:]), value) for key, value in below.items()]
        return [
            _of_fields(item, value) for key, value in keys for item in stored if key.items() <= item.items()
        ]
    return {key[2:]: _of_fields(stored[key[2:]], value) for key, value in below.items()}


def expect_copies(cluster: Cluster, known: Pattern, resource: str, chosen: Sequence[str]) -> None:
    """Compare some copies, as the API server reads them, with the objects that they are copied from."""
    for name in {chosen[0], chosen[len(chosen) // 2], chosen[-1]}:
        for each in _copied(known, resource):
            wanted = orjson.loads(known.renamed(orjson.dumps(each), name))
            stored = get(cluster.api, place(resource, name, wanted["metadata"]["name"]))
            expect(_unversioned(stored), _unversioned(wanted), f"{resource} of {name}")


def revision(cluster: Cluster) -> int:
    """Return the revision of etcd."""
    return int(ask(cluster, "/v3/kv/range", {"key": "AA=="})["header"]["revision"])


def written_since(cluster: Cluster, since: int) -> int:
    """Count the objects of services that were written after a revision."""
    return sum(_written(cluster, f"/registry/{folder}", since) for folder in FOLDERS.values())


def _written(cluster: Cluster, folder: str, since: int) -> int:
    first, end = f"{folder}/".encode(), f"{folder}0".encode()  # 0 comes after / in ASCII
    between = {"key": _coded(first), "range_end": _coded(end)}
    asked = {**between, "min_mod_revision": str(since + 1), "keys_only": True}
    return len(ask(cluster, "/v3/kv/range", asked).get("kvs", ()))


def _of_pattern(cluster: Cluster, resource: str) -> list[Object]:
    """Return the objects of the first service, each as a GET returns it."""
    found = (one["metadata"]["name"] for one in items(cluster.api, path(resource, TENANT)))
    return [get(cluster.api, path(resource, TENANT, name)) for name in found if name.startswith(PATTERN)]


def _unversioned(obj: Object) -> Object:
    return obj | {"metadata": obj["metadata"] | {"resourceVersion": ""}}


def _group_key(name: str) -> tuple[str, str]:
    """Return the label by which LWS finds the pods of a group, old and new (LWS `pkg/utils/utils.go`)."""
    keys = (f"{namespace(one)}/{one}-0" for one in (PATTERN, name))
    old, new = (hashlib.sha1(key.encode()).hexdigest() for key in keys)  # noqa: S324 - LWS's own choice
    return old, new


def _put(key: bytes, value: bytes) -> Object:
    return {"requestPut": {"key": _coded(key), "value": b64encode(value).decode()}}


def _coded(key: bytes) -> str:
    return b64encode(key).decode()


# --- changes ----------------------------------------------------------------------------------------


def scale(cluster: Cluster, chosen: Sequence[str], run: Run) -> None:
    """Scale LeaderWorkerSets: events of which the controller must see that there is nothing to do."""

    def scaled(name: str) -> None:
        call(cluster.api, "PATCH", place("leaderworkersets", name), SCALED, MERGE_PATCH)

    _each(chosen, scaled, run, "scaling")
