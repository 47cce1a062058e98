"""Which part of a snapshot goes into which part of the status."""

from dataclasses import replace
from typing import Any

import pytest

from intent import Object
from intent.errors import FieldError, Finding
from intent.inferenceservice.read import InferenceServiceIntent
from sync.kinds import DEPLOYMENT, GATEWAYS, HTTP_ROUTE, LWS, POD, POD_GROUP, POOL, Kind
from sync.observed.inferenceservice import cached_inferenceservice
from sync.parts.desired import Desired
from sync.snapshot import Situation, Snapshot
from sync.status import report
from sync.status.observed import ObservedRoutes, observed
from tests.sync.samples import APPLIED, KEY, decode, inference_service, lws, prefill, role, routed, router

NOW = "2026-01-01T12:00:00Z"
LATER = "2026-01-01T12:00:05Z"
NOTHING = Desired()
OWNER = {"kind": "InferenceService", "name": "r1", "uid": "uid-r1", "controller": True}
WAITS = FieldError("spec.roles", None, "service r1 waits for a decoder", "FI410")
REFUSED = FieldError("spec", None, "this cluster has no InferencePool", "FI870")


def snapshot(service: Object | None = None, *objects: tuple[Kind[Any], Object], **known: Any) -> Snapshot:
    """Return a snapshot of a service with these objects."""
    kinds = (LWS, POD, DEPLOYMENT, POOL, HTTP_ROUTE, GATEWAYS)
    rows = {kind.kind: tuple(kind.project(obj) for of, obj in objects if of is kind) for kind in kinds}
    situation = Situation(KEY, (), **known)
    return Snapshot(
        situation, cached_inferenceservice(inference_service() if service is None else service), rows
    )


def made(name: str, **status: Any) -> Object:
    """Return a LeaderWorkerSet that the InferenceService controls."""
    obj = lws(name) | {"status": status}
    obj["metadata"]["ownerReferences"] = [OWNER]
    return obj


def part(name: str, **fields: Any) -> Object:
    """Return an object of the routes."""
    labels = {"fusioninfer.io/service": "r1"}
    return {"metadata": {"namespace": KEY[0], "name": name, "labels": labels}, **fields}


def of_routes(
    *objects: tuple[Kind[Any], Object], desired: Desired = NOTHING, **fields: Any
) -> ObservedRoutes:
    """Return the observed routes of a service whose router has these fields."""
    service = inference_service(role("prefill", "prefiller"), role("decode", "decoder"), router(**fields))
    found = observed(snapshot(service, *objects), desired).routes
    assert found is not None
    return found


def test_without_an_inference_service_there_is_no_status() -> None:
    assert report(Snapshot(Situation(KEY, (prefill(),))), NOTHING, NOW) is None


def test_only_a_changed_status_is_written_again() -> None:
    service = inference_service()
    service["status"] = report(snapshot(service), NOTHING, NOW)

    assert report(snapshot(service), NOTHING, LATER) is None
    assert report(snapshot(service, (LWS, made("r1-prefill"))), NOTHING, LATER) is not None


def test_pods_are_reported_and_lws_by_their_role_unless_a_user_made_them() -> None:
    ours, pod = (LWS, made("r1-prefill", observedGeneration=2)), (POD, part("r1-prefill-0"))
    found = observed(snapshot(None, ours, pod), NOTHING)

    assert {name: row.observed for name, row in found.sets.items()} == {"prefill": 2}
    assert [pod.name for pod in found.pods] == ["r1-prefill-0"]
    assert observed(snapshot(None, (LWS, lws("r1-prefill"))), NOTHING).sets == {}


@pytest.mark.parametrize(("fields", "message"), [(APPLIED, "2/4 tasks"), (APPLIED, ""), ([], None)])
def test_our_pod_group_counts_and_is_quoted(fields: list[Object], message: str | None) -> None:
    said = [{"type": "Unschedulable", "status": "True", "message": message}] if message else []
    metadata = {"namespace": KEY[0], "name": "r1", "managedFields": fields}
    stored = POD_GROUP.project({"metadata": metadata, "status": {"conditions": said}})

    found = observed(snapshot(stored=stored), NOTHING).pod_group

    assert (found and found.message) == message


def test_findings_are_assigned_once_to_the_service_or_its_routes_if_it_has_any() -> None:
    both = tuple(Finding(one.subject, WAITS) for one in (prefill(), decode()))
    desired = Desired(findings=both, of_routes=(Finding(prefill().subject, REFUSED),))

    found = observed(snapshot(routed()), desired)

    assert found.routes is not None
    assert (found.errors, found.routes.errors) == ((WAITS,), (REFUSED,))
    assert observed(snapshot(), NOTHING).routes is None


@pytest.mark.parametrize(
    ("kind", "name", "field"),
    [(DEPLOYMENT, "r1-epp", "picker"), (POOL, "r1-pool", "pool"), (HTTP_ROUTE, "r1-httproute", "http_route")],
)
def test_an_object_is_found_by_its_name(kind: Kind[Any], name: str, field: str) -> None:
    found = (of_routes((kind, part(name))), of_routes((kind, part("other"))))

    assert [getattr(routes, field) is None for routes in found] == [False, True]


def test_the_gateways_of_the_route_are_reported() -> None:
    gateway = part("shared", status={"addresses": [{"value": "10.0.0.1"}]})

    assert [one.addresses for one in of_routes((GATEWAYS, gateway)).gateways] == [("10.0.0.1",)]


@pytest.mark.parametrize(
    ("fields", "attached"),
    [
        ({}, True),
        ({"httproute": {}}, False),
        ({"httproute": {"rules": []}}, False),
        ({"httproute": {}, "gateway": {"gatewayClassName": "c"}}, True),
    ],
)
def test_an_http_route_is_missing_only_where_one_is_desired(fields: Object, attached: bool) -> None:  # noqa: FBT001 - a case
    assert of_routes(**fields).attached is attached


def test_of_an_unreadable_service_only_name_and_generation_are_known() -> None:
    found = observed(snapshot(routed(role("a", replicas="many"), generation=7)), NOTHING)

    assert (found.service, found.routes) == (InferenceServiceIntent(*KEY, generation=7), None)


@pytest.mark.parametrize(
    ("unapplied", "settled"),
    [((), True), (("LeaderWorkerSet",), False), (("Service",), True), (("HorizontalPodAutoscaler",), True)],
)
def test_a_service_with_an_unstored_object_is_not_settled(
    unapplied: tuple[str, ...],
    settled: bool,  # noqa: FBT001 - a case
) -> None:
    assert observed(replace(snapshot(), unapplied=frozenset(unapplied)), NOTHING).settled is settled


def test_an_unreadable_service_is_never_settled() -> None:
    broken = inference_service(role("a", replicas="many"))

    assert not observed(snapshot(broken), NOTHING).settled


def test_a_service_that_breaks_a_rule_has_its_roles() -> None:
    broken = inference_service(annotations={"fusioninfer.io/strategy": "queue-size"})

    found = observed(snapshot(broken), NOTHING)

    assert ([role.name for role in found.service.roles], found.settled) == (["prefill", "decode"], True)


# --- a service of that name that is gone ------------------------------------------------------------


def left_over(*objects: tuple[Kind[Any], Object]) -> Snapshot:
    """Return a snapshot of a service whose predecessor's LeaderWorkerSet still exists."""
    replaced = routed(uid="uid-again")
    return snapshot(replaced, (LWS, made("r1-prefill", observedGeneration=1)), *objects)


def test_an_lws_of_a_deleted_service_is_not_its_successors_which_is_not_settled_while_it_exists() -> None:
    found = observed(left_over(), NOTHING)

    assert found.sets == {}
    assert found.routes is not None
    assert (found.settled, found.routes.settled) == (False, False)
