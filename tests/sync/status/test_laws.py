"""Properties that hold for any rows and any stored status."""

import copy
from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from catalog.codes import CODES
from intent import Object
from intent.errors import FieldError
from intent.inferenceservice.read import InferenceServiceIntent, RoleIntent
from sync.observed import lws, pod, routes
from sync.observed.pod_group import pod_group
from sync.status import differs, status
from sync.status.observed import Observed, ObservedRoutes
from sync.status.reasons import CONDITIONS, OPTIONAL, STATES
from tests.laws.strategies import JSON
from tests.sync.status.samples import LATER, NOW, router

LATEST = "2026-01-02T00:00:00Z"
KEYS = (
    *("metadata", "spec", "status", "name", "namespace", "generation", "observedGeneration", "labels"),
    *("conditions", "type", "reason", "message", "parents", "parentRef", "parentRefs", "replicas"),
    *("containers", "resources", "limits", "nvidia.com/gpu", "containerStatuses", "state", "waiting"),
    *("lastState", "terminated", "exitCode", "restartCount", "nodeName", "listeners", "port", "protocol"),
    *("hostname", "hostnames", "addresses", "value", "rules", "matches", "path", "components", "decode"),
)
WORDS = (
    *("True", "False", "Accepted", "ResolvedRefs", "Programmed", "Ready", "Available", "HTTP"),
    *("gw", "r1-decode", "n1"),
)
LEAVES = JSON | st.sampled_from(WORDS) | st.integers(0, 4)
OBJECTS: st.SearchStrategy[Object] = st.dictionaries(
    st.sampled_from(KEYS),
    st.recursive(
        LEAVES,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
        max_leaves=12,
    ),
    max_size=4,
)
PODS = st.builds(
    pod.ObservedPod,
    st.just("team-a"),
    st.sampled_from(["a", "b", "c", "d"]),
    lws=st.sampled_from(["r1-prefill", "r1-decode", ""]),
    group=st.sampled_from(["0", "1", ""]),
    group_size=st.integers(0, 4),
    ready=st.booleans(),
    scheduled=st.booleans(),
    held=st.sampled_from(["", "no room"]),
    accelerators=st.sampled_from([(), (("nvidia.com/gpu", 8),), (("amd.com/gpu", 1), ("google.com/tpu", 4))]),
    failure=st.none() | st.builds(pod.Failure, st.just("vllm"), st.sampled_from(["Evicted", *pod.FAILURES])),
    deleting=st.booleans(),
)
SETS = st.dictionaries(
    st.sampled_from(["prefill", "decode"]),
    st.builds(
        lws.LeaderWorkerSet,
        st.sampled_from(["r1-prefill", "r1-decode"]),
        replicas=st.integers(0, 3),
        generation=st.integers(0, 2),
        observed=st.integers(0, 2),
        updating=st.booleans(),
    ),
)
ROLES = st.sampled_from(
    [
        (),
        (RoleIntent("prefill", "prefiller", {}, 1, 2), RoleIntent("decode", "decoder", {}, None, 1)),
        (RoleIntent("decode", "worker", {}, 2, 2),),
    ]
)
ERRORS = st.lists(
    st.builds(
        FieldError, st.just("spec"), st.none() | JSON, st.text(max_size=5), st.sampled_from(sorted(CODES))
    ),
    max_size=2,
).map(tuple)
ROUTES = st.none() | st.builds(
    ObservedRoutes,
    st.builds(router, picked=st.booleans(), attached=st.booleans(), ingress=st.booleans()),
    picker=st.none() | OBJECTS.map(routes.project_deployment),
    pool=st.none() | OBJECTS.map(routes.project_pool),
    http_route=st.none() | OBJECTS.map(routes.project_http_route),
    gateways=st.lists(OBJECTS.map(routes.project_gateway), max_size=2).map(tuple),
    errors=ERRORS,
)
OBSERVED = st.builds(
    Observed,
    st.builds(
        InferenceServiceIntent, st.just("team-a"), st.just("r1"), roles=ROLES, generation=st.integers(0, 9)
    ),
    sets=SETS,
    pods=st.lists(PODS, max_size=6).map(tuple),
    pod_group=st.none() | OBJECTS.map(pod_group),
    routes=ROUTES,
    errors=ERRORS,
    settled=st.booleans(),
)
STORED = OBJECTS | OBSERVED.map(lambda seen: status(seen, {}, NOW))
"""What may be stored: anything, or the status of other rows."""
often = settings(suppress_health_check=[HealthCheck.too_slow])


@often
@given(OBSERVED, STORED)
def test_the_same_rows_give_the_same_status(seen: Observed, before: Object) -> None:
    once = status(seen, before, LATER)

    assert status(seen, once, LATEST) == once
    assert not differs(status(seen, once, LATEST), once)


@often
@given(OBSERVED, STORED)
def test_the_stored_status_is_not_modified(seen: Observed, before: Object) -> None:
    as_it_was = copy.deepcopy(before)

    status(seen, before, NOW)

    assert before == as_it_was


@often
@given(OBSERVED, STORED)
def test_every_condition_is_one_that_the_api_takes(seen: Observed, before: Object) -> None:
    made = status(seen, before, NOW)["conditions"]

    assert [one["type"] for one in made] == [name for name in CONDITIONS if name not in OPTIONAL]
    assert all(STATES[one["type"], one["reason"]] == one["status"] for one in made)
    assert all(len(one["message"]) <= 1024 for one in made)


@often
@given(OBSERVED)
def test_what_is_not_stored_yet_is_never_true(seen: Observed) -> None:
    made = status(replace(seen, settled=False), {}, NOW)["conditions"]

    said = {one["type"] for one in made if one["status"] == "True"}
    assert not said & {"Ready", "Active", "Scheduled"}
