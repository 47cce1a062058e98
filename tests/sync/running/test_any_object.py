"""Any object can be projected, whatever its fields contain, and no service stops because of it."""

import contextlib
import copy
from collections.abc import Iterator
from functools import reduce
from operator import getitem
from typing import Any, Final

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from intent import Object
from intent.settings import Settings
from sync.kinds import (
    DEPLOYMENT,
    GATEWAYS,
    HTTP_ROUTE,
    INFERENCE_SERVICE,
    LWS,
    OUTPUTS,
    POD,
    POD_GROUP,
    POOL,
    WATCHED,
    Kind,
)
from sync.observe import ServiceMemory, observe
from sync.observed.cached import UnreadableObject
from sync.parts.service import desired_state
from sync.status import report
from sync.watch.cache import Cache
from tests.sync.samples import KEY, hold, inference_service, lws, role, router, take
from tests.sync.served import accepted, ready_pod

NOW: Final = "2026-01-01T00:00:00Z"
CONDITION: Final = {
    "type": "Ready",
    "status": "False",
    "reason": "No",
    "message": "m",
    "observedGeneration": 1,
}
METADATA: Final = {
    "namespace": KEY[0],
    "name": "r1",
    "uid": "u",
    "generation": 1,
    "resourceVersion": "4",
    "labels": {"fusioninfer.io/service": "r1", "fusioninfer.io/picker": "llm-d-0.7"},
    "annotations": {"fusioninfer.io/roles": "a,b"},
    "ownerReferences": [
        {
            "apiVersion": "leaderworkerset.x-k8s.io/v1",
            "kind": "Pod",
            "name": "p",
            "uid": "v",
            "controller": True,
        }
    ],
    "managedFields": [{"manager": "fusioninfer", "operation": "Apply", "fieldsV1": {"f:spec": {}}}],
}
OWNER: Final = {"kind": "InferenceService", "name": "r1", "uid": "uid-r1", "controller": True}


def service() -> Object:
    """Return an InferenceService that uses every field, with a status."""
    route = {
        "parentRefs": [
            {"name": "g", "namespace": "infra", "sectionName": "web", "port": 80, "kind": "Gateway"}
        ],
        "hostnames": ["a.example"],
        "rules": [
            {"matches": [{"path": {"type": "PathPrefix", "value": "/v1"}}], "filters": [{"type": "x"}]}
        ],
    }
    own = {"gatewayClassName": "istio", "listeners": [{"name": "web", "port": 80, "protocol": "HTTP"}]}
    engines = (role("prefill", "prefiller", multinode={"nodeCount": 2}), role("decode", "decoder"))
    made = inference_service(
        *engines, router(httproute=route, gateway=own, endpointPickerConfig="plugins: []")
    )
    made["metadata"] |= {"annotations": {"fusioninfer.io/picker": "llm-d-0.7"}}
    components = {"prefill": {"phase": "Failed", "lastUpdateTime": NOW, "readyPods": 1}}
    return made | {"status": {"observedGeneration": 1, "conditions": [CONDITION], "components": components}}


def made(kind: Kind[Any], spec: Object, status: Object) -> Object:
    """Return an object of a kind with all metadata that is read."""
    return {
        "apiVersion": kind.resource.api_version,
        "kind": kind.kind,
        "metadata": copy.deepcopy(METADATA),
        "spec": spec,
        "status": status,
    }


def sets() -> Object:
    """Return a LeaderWorkerSet that an InferenceService controls."""
    found = lws("r1-prefill") | {"status": {"conditions": [CONDITION], "observedGeneration": 1}}
    found["metadata"] |= {"ownerReferences": [OWNER], "managedFields": METADATA["managedFields"]}
    engine = {
        "name": "vllm",
        "image": "vllm/vllm-openai:v0.11.0",
        "command": ["vllm", "serve"],
        "args": [
            *("m", "--port", "$(P)"),
            *("--kv-transfer-config", '{"kv_connector":"NixlConnector","kv_role":"kv_both"}'),
        ],
        "env": [{"name": "P", "value": "8001"}],
        "ports": [{"name": "http", "containerPort": 8001}],
        "readinessProbe": {"httpGet": {"port": 8001}},
        "resources": {"limits": {"nvidia.com/gpu": "8"}},
    }
    template = found["spec"]["leaderWorkerTemplate"]["workerTemplate"]
    template["spec"] |= {
        "containers": [engine],
        "initContainers": [{"name": "routing-proxy", "args": ["--port=8000"]}],
    }
    return found


def pod() -> Object:
    """Return a pod that fails."""
    found = ready_pod("r1-prefill")
    state = {"waiting": {"reason": "CrashLoopBackOff", "message": "m"}}
    ended = {"terminated": {"exitCode": 1, "reason": "Error"}}
    status = {"name": "vllm", "state": state, "lastState": ended, "restartCount": 3, "ready": False}
    found["spec"] |= {"containers": [{"name": "vllm", "resources": {"limits": {"nvidia.com/gpu": "8"}}}]}
    return found | {"status": {"phase": "Failed", "conditions": [CONDITION], "containerStatuses": [status]}}


PARENTS: Final = accepted()
OBJECTS: Final[dict[str, Object]] = {
    INFERENCE_SERVICE.kind: service(),
    LWS.kind: sets(),
    POD.kind: pod(),
    POD_GROUP.kind: made(
        POD_GROUP,
        {
            "minMember": 2,
            "queue": "q",
            "subGroupPolicy": [{"name": "p", "minSubGroups": 1, "subGroupSize": 2}],
        },
        {"conditions": [{"type": "Unschedulable", "status": "True", "message": "m"}]},
    ),
    GATEWAYS.kind: made(
        GATEWAYS,
        {"listeners": [{"name": "web", "port": 80, "protocol": "HTTP", "hostname": "*.example"}]},
        {"addresses": [{"value": "10.0.0.1"}], "conditions": [CONDITION]},
    ),
    HTTP_ROUTE.kind: made(HTTP_ROUTE, service()["spec"]["roles"][2]["httproute"], PARENTS),
    POOL.kind: made(POOL, {}, PARENTS),
    DEPLOYMENT.kind: made(
        DEPLOYMENT, {}, {"conditions": [CONDITION], "replicas": 1, "observedGeneration": 1}
    ),
}


def nested(levels: int) -> Any:
    """Return a list nested to this depth."""
    return orjson.loads(b"[" * levels + b"]" * levels)


SAMPLES: Final = {kind.kind: OBJECTS.get(kind.kind) or made(kind, {"a": 1}, {}) for kind in WATCHED}
NAUGHTY: Final[st.SearchStrategy[Any]] = st.sampled_from(
    [
        *(None, True, 5, -1, 2**70, 1.5, "", "x/y", "a\x00b"),
        *([], {}, [None], [5], [[]], [{}], {"": None}, {"name": 5}),
    ]
).map(copy.deepcopy)
ANYTHING: Final = st.one_of(
    NAUGHTY,
    st.sampled_from((200, 300, 900)).map(nested),
    st.recursive(
        NAUGHTY,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=8,
    ),
)
PROMISED: Final = {("metadata",), ("metadata", "name"), ("metadata", "namespace")}
"""Every API server checks these."""
LIMITS: Final = settings(suppress_health_check=list(HealthCheck))


def index_keys(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every field and item."""
    if path and path not in PROMISED:
        yield path
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in pairs:
        yield from index_keys(item, (*path, key))


PLACES: Final = {kind: list(index_keys(sample)) for kind, sample in SAMPLES.items()}


@st.composite
def spoiled(draw: st.DrawFn, kind: str) -> Object:
    """Replace one to three fields by arbitrary values."""
    obj = copy.deepcopy(SAMPLES[kind])
    for _ in range(draw(st.integers(1, 3))):
        *way, last = draw(st.sampled_from(PLACES[kind]))
        with contextlib.suppress(LookupError, TypeError):  # an earlier replacement may have no such field
            reduce(getitem, way, obj)[last] = draw(ANYTHING)
    return obj


@pytest.mark.parametrize("kind", WATCHED, ids=lambda kind: kind.kind)
@given(data=st.data())
@LIMITS
def test_any_object_has_a_row_that_compares(kind: Kind[Any], data: st.DataObject) -> None:
    obj = data.draw(spoiled(kind.kind))
    cache, again = Cache(kind), Cache(kind)

    for one in (cache, again):
        take(one, obj)

    assert (cache.rows, cache.unreadable) == (again.rows, again.unreadable)
    assert [row.why for row in cache.unreadable.values() if "nested" not in row.why] == []


@pytest.mark.parametrize("kind", WATCHED, ids=lambda kind: kind.kind)
def test_an_object_that_is_nested_too_deeply_anywhere_is_read_or_says_so(kind: Kind[Any]) -> None:
    for *above, last in [*PLACES[kind.kind], ("extra",)]:
        obj, cache = copy.deepcopy(SAMPLES[kind.kind]), Cache(kind)
        reduce(getitem, above, obj)[last] = nested(300)

        take(cache, obj)

        assert all("nested" in row.why for row in cache.unreadable.values()), (*above, last)


@given(data=st.data())
@LIMITS
def test_a_service_with_any_object_is_planned_and_reported(data: st.DataObject) -> None:
    kinds = data.draw(st.sets(st.sampled_from(sorted(SAMPLES)), min_size=1, max_size=3))
    caches = {kind.kind: Cache(kind) for kind in WATCHED}
    for kind, cache in caches.items():
        hold(cache, *filter(None, [cache.project(copy.deepcopy(SAMPLES[kind]))]))
        if kind in kinds:
            take(
                cache,
                data.draw(spoiled(kind)) | {"metadata": SAMPLES[kind]["metadata"] | {"resourceVersion": "9"}},
            )

    snapshot = observe(KEY, caches, ServiceMemory())
    desired = desired_state(snapshot, Settings())

    for obj in desired.objects:
        OUTPUTS[obj["kind"]].project(obj)
    report(snapshot, desired, NOW)


def test_a_deep_object_of_another_kind_is_unreadable() -> None:
    cache, obj = Cache(LWS), sets()
    obj["spec"]["deep"] = nested(300)

    take(cache, obj)

    assert [type(row) for row in cache.unreadable_of(KEY)] == [UnreadableObject]
