"""Which templates roles have and should have, and routers with the parts of templates."""

from dataclasses import replace
from typing import Any

import pytest

from intent import Object
from intent.applied import TemplateVersion, recorded
from intent.inferenceservice.read import InferenceServiceIntent, read
from intent.served import LEADERS, Serving
from intent.service.member import Member
from sync.kinds import POOL, ROUTES
from sync.observed.inferenceservice import CachedInferenceService
from sync.observed.inferencetemplate import OFF, NamedTemplates, cached_template
from sync.observed.lws import CachedLeaderWorkerSet, LeaderWorkerSet
from sync.parts.service import desired_state
from sync.snapshot import Situation, Snapshot
from tests.builders.isvc import isvc, router, worker
from tests.builders.templates import template
from tests.sync.samples import SETTINGS

SHARED = "fusioninfer-system"


def row(name: str = "base", namespace: str = "team-a", generation: int = 1, **spec: Any) -> Any:
    found = template(name=name, namespace=namespace, **spec)
    found["metadata"] |= {"uid": f"uid-{name}", "generation": generation}
    return cached_template(found, SHARED)


def service(*roles: Object, **spec: Any) -> InferenceServiceIntent:
    found, errors = read(isvc(*(roles or (worker(),)), **{"baseRefs": ["base"], **spec}))
    assert found is not None
    assert not [one for one in errors if one.severity == "error"]
    return replace(found, namespace="team-a", uid="uid-svc")


def named(*rows: Any, trouble: str = "") -> NamedTemplates:
    return NamedTemplates(("base",), {one.name: one for one in rows}, trouble)


def stored(version: str) -> CachedLeaderWorkerSet:
    report = LeaderWorkerSet("svc-inference", templates_version=version)
    return CachedLeaderWorkerSet("team-a", "svc-inference", report=report)


def snapshot(value: InferenceServiceIntent, templates: NamedTemplates, version: str = "") -> Snapshot:
    rows = {"LeaderWorkerSet": (stored(version),)} if version else {}
    cached = CachedInferenceService("team-a", "svc", value.uid, "svc", intent=value)
    return Snapshot(Situation(("team-a", "svc"), ()), cached, rows, templates=templates)


def version_of(value: InferenceServiceIntent, templates: NamedTemplates, version: str = "") -> str:
    objects = desired_state(snapshot(value, templates, version), SETTINGS).objects
    (lws,) = (one for one in objects if one["kind"] == "LeaderWorkerSet")
    return str(lws["metadata"]["annotations"].get("fusioninfer.io/templates-version", ""))


# --- versions ------------------------------------------------------------------------------------------


def test_a_service_that_does_not_follow_its_templates_has_no_version() -> None:
    assert not version_of(service(), named(row()))


def test_a_service_that_follows_gets_another_version_with_each_change_of_a_template() -> None:
    value = service(followTemplates=True)
    first, second = (version_of(value, named(row(generation=at))) for at in (1, 2))
    made_again = version_of(value, named(replace(row(), uid="another")))

    assert len({first, second, made_again}) == 3
    assert all((first, second, made_again))
    assert version_of(value, named(row()), version="older") == first


@pytest.mark.parametrize("templates", [named(), named(row(), trouble=OFF)], ids=["deleted", "unknown"])
def test_the_version_stays_while_a_template_is_not_known(templates: NamedTemplates) -> None:
    assert version_of(service(followTemplates=True), templates, version="older") == "older"
    assert not version_of(service(followTemplates=True), templates)


def test_the_version_stays_when_a_service_follows_no_longer() -> None:
    assert version_of(service(), named(row(generation=2)), version="older") == "older"


def test_a_service_without_templates_has_no_version() -> None:
    assert not version_of(service(baseRefs=[], followTemplates=True), NamedTemplates(), version="older")


# --- what is applied -----------------------------------------------------------------------------------


def test_a_record_names_the_templates_that_were_read() -> None:
    record = '{"v":1,"base":{"refs":["base"],"from":[["base","team-a","uid-base",3]]}}'

    assert recorded(record) == (TemplateVersion("base", "team-a", "uid-base", 3),)


@pytest.mark.parametrize(
    "record",
    [None, 3, "", "{", '{"base":3}', '{"base":{"from":[3,[],["a"],["a","b","c"],[1,2,3,4]]}}', '{"base":[]}'],
)
def test_a_record_of_any_text_can_be_read(record: Any) -> None:
    assert recorded(record) == ()


# --- routers -------------------------------------------------------------------------------------------

GATEWAY = {"parentRefs": [{"name": "shared", "namespace": "infra"}], "hostnames": ["a.example", "b.example"]}


def routed(value: InferenceServiceIntent, *rows: Any) -> Any:
    found = snapshot(value, named(*rows)).routed
    assert found is not None
    assert found.router is not None
    return found.router


def test_a_router_has_what_its_template_says_and_its_author_does_not() -> None:
    value = service(worker(), {"name": "router", "componentType": "router"})
    found = routed(value, row(router={"httproute": GATEWAY, "strategy": "queue-size"}, priority="Critical"))

    assert found.routing.http_route == GATEWAY
    assert (found.routing.strategy, found.routing.priority) == ("queue-size", "Critical")
    assert found.is_attached


def test_an_author_s_hostnames_replace_those_of_templates_as_a_whole() -> None:
    value = service(worker(), router(httproute={"hostnames": ["own.example"]}))
    found = routed(value, row(router={"httproute": GATEWAY, "strategy": "queue-size"}))

    assert found.routing.http_route == {**GATEWAY, "hostnames": ["own.example"]}
    assert found.routing.strategy == "prefix-cache"


@pytest.mark.parametrize(
    ("own", "config"),
    [
        ({}, "kind: EndpointPickerConfig"),
        ({"strategy": "queue-size"}, ""),
        ({"configRef": {"name": "own", "key": "config"}}, ""),
        ({"pool": {"ref": {"name": "own"}}}, ""),
    ],
)
def test_one_of_author_and_templates_decides_how_requests_are_routed(own: Object, config: str) -> None:
    value = service(worker(), {"name": "router", "componentType": "router", **own})
    found = routed(value, row(router={"endpointPickerConfig": "kind: EndpointPickerConfig"}))

    assert found.routing.config == config
    assert found.routing.strategy == own.get("strategy", "")


def test_of_two_templates_the_later_one_decides() -> None:
    value = service(worker(), {"name": "router", "componentType": "router"}, baseRefs=["base", "more"])
    rows = row(router={"endpointPickerConfig": "x"}), row("more", router={"strategy": "queue-size"})
    found = Snapshot(
        Situation(("team-a", "svc"), ()),
        CachedInferenceService("team-a", "svc", intent=value),
        templates=NamedTemplates(("base", "more"), {one.name: one for one in rows}),
    ).routed

    assert found is not None
    assert found.router is not None
    assert (found.router.routing.strategy, found.router.routing.config) == ("queue-size", "")


def test_pods_do_not_get_the_strategy_of_a_template() -> None:
    """It would restart them when the template changes."""
    value = service(worker(), {"name": "router", "componentType": "router"})
    objects = desired_state(snapshot(value, named(row(router={"strategy": "queue-size"}))), SETTINGS).objects
    (lws,) = (one for one in objects if one["kind"] == "LeaderWorkerSet")

    assert lws["metadata"]["annotations"]["fusioninfer.io/strategy"] == "prefix-cache"


@pytest.mark.parametrize("templates", [named(), named(row(), trouble=OFF)], ids=["deleted", "unknown"])
def test_routes_stay_while_a_template_is_not_known(templates: NamedTemplates) -> None:
    desired = desired_state(snapshot(service(worker(), router()), templates), SETTINGS)

    assert [one.error.code for one in desired.of_routes] == ["FI977"]
    assert {"HTTPRoute", "InferencePool", "Gateway"} <= desired.held
    assert not {one["kind"] for one in desired.objects} & {"HTTPRoute", "InferencePool", "Gateway"}


def test_the_pool_goes_on_to_select_the_pods_that_serve_while_a_template_is_not_known() -> None:
    first = snapshot(service(worker(), router()), named(row()))
    engine = Member("team-a", "svc-inference", "svc", serving=Serving(everywhere=True))
    made = desired_state(replace(first, situation=Situation(("team-a", "svc"), (engine,))), SETTINGS)
    fields = {"managedFields": [{"manager": "fusioninfer", "operation": "Apply"}]}
    pools = [one | {"metadata": one["metadata"] | fields} for one in made.objects if one["kind"] == POOL.kind]
    alone = Situation(("team-a", "svc"), (replace(engine, serving=LEADERS),))
    rows = {POOL.kind: tuple(map(POOL.project, pools))}

    found = desired_state(replace(first, situation=alone, rows=rows, templates=named()), SETTINGS)

    (pool,) = [one for one in found.objects if one["kind"] in ROUTES - {"Service"}]
    labels = {"fusioninfer.io/service": "svc", "leaderworkerset.sigs.k8s.io/worker-index": "0"}
    assert pool["spec"]["selector"]["matchLabels"] == labels
    assert pool["metadata"]["ownerReferences"] == pools[0]["metadata"]["ownerReferences"]


def test_a_template_without_a_part_for_routers_keeps_nothing_of_it() -> None:
    assert (row().packed, row().spec) == (b"", {})
