"""The plan of a service's routes, and what blocks it."""

from dataclasses import replace
from typing import Any

import pytest

from catalog.pickers.generations import PICKERS
from intent import Object, yaml
from intent.annotations import ComponentType, Routing
from intent.inferenceservice.read import ConfigMapKey, InferenceServiceIntent, RoleIntent, Router
from intent.service.member import Member
from intent.settings import Settings
from sync.desired.preview import preview
from sync.desired.routes import RoutePlan, Routes, desired_routes
from sync.desired.strategies import presets
from sync.observed.configuration import Configuration
from tests.sync.samples import KEY, SETTINGS, decode, member, prefill

PD = Routing("pd-disaggregation", gateway="gate")
CACHE = Routing("prefix-cache", gateway="infra/gate")


def worker(name: str = "w", component_type: ComponentType = "worker", **fields: Any) -> Member:
    """Return a worker that asks for a strategy."""
    return member(name, component_type, **({"routing": CACHE} | fields))


def plan(
    *members: Member,
    service: InferenceServiceIntent | None = None,
    settings: Settings = SETTINGS,
    read: Configuration | None = None,
) -> RoutePlan:
    """Plan the routes of these members."""
    return desired_routes(KEY, members, service, settings, read=read)


def routes(*members: Member, **known: Any) -> Routes:
    """Plan routes, which must exist."""
    found = plan(*members, **known).routes
    assert found is not None
    return found


def codes(found: RoutePlan) -> set[tuple[str, str]]:
    """Return subjects and codes of findings."""
    return {(finding.subject.name, finding.error.code) for finding in found.findings}


def isvc(**router: Any) -> InferenceServiceIntent:
    """Return an InferenceService with a router."""
    own = {
        field: router.pop(field) for field in ("gateway", "template", "config_ref", "pool") if field in router
    }
    made = Router("router", Routing(**router), **own)
    return InferenceServiceIntent(*KEY, router=made, uid="uid-isvc")


def test_without_a_request_there_are_no_routes() -> None:
    assert plan(worker(routing=Routing())) == RoutePlan()


def test_a_strategy_makes_routes() -> None:
    assert routes(worker(port=81)).port == 81


def test_the_endpoint_picker_is_the_configured_one() -> None:
    assert routes(worker(), settings=Settings(picker="gie-1.2")).picker is PICKERS["gie-1.2"]


def test_prefillers_and_decoders_get_an_endpoint_picker_that_supports_them() -> None:
    assert routes(prefill(), decode(routing=PD)).picker is PICKERS[SETTINGS.disaggregated_picker]


def test_an_authors_configuration_is_used_as_it_is() -> None:
    text = f"{yaml.dump(presets(PICKERS['gie-1.5'])['queue-size'])}# mine\n"

    assert routes(worker(routing=Routing(config=text))).config == text


def test_a_configuration_that_stops_the_endpoint_picker_is_not_rolled_out() -> None:
    found = plan(worker(routing=Routing(config="kind: Other")))

    assert (found.routes, found.hold, codes(found)) == (None, True, {("w", "FI811")})


def test_a_configuration_with_a_parameter_without_effect_is_rolled_out() -> None:
    config = yaml.dump(presets(PICKERS["gie-1.5"])["prefix-cache"]).replace("lruCapacityPerServer", "lru")

    found = plan(worker(routing=Routing(config=config)))

    assert (found.routes is not None, codes(found)) == (True, {("w", "FI818")})


def test_the_endpoint_picker_scores_the_adapters_that_a_member_serves() -> None:
    with_adapters, without = routes(worker(has_adapters=True)), routes(worker())

    assert "lora-affinity-scorer" in with_adapters.config
    assert "lora-affinity-scorer" not in without.config


def test_a_configuration_of_the_author_is_used_as_it_is_with_adapters_too() -> None:
    own = "plugins:\n- type: queue-scorer\n- type: max-score-picker\n"

    found = routes(worker(routing=Routing(config=own), has_adapters=True))

    assert found.config == own


def test_an_adapter_with_a_priority_has_an_objective_of_its_own() -> None:
    service = replace(isvc(strategy="queue-size", priority="Critical"), adapters=(("acme/Law", "Sheddable"),))

    assert routes(worker(), service=service).objectives == ((KEY[1], 100), (f"{KEY[1]}.acme-law", -100))


def test_an_adapter_may_have_a_priority_without_one_of_the_service() -> None:
    service = replace(isvc(strategy="queue-size"), adapters=(("law", "7"),))

    assert routes(worker(), service=service).objectives == ((f"{KEY[1]}.law", 7),)


def test_the_annotations_of_one_member_count_for_all() -> None:
    found = routes(prefill(routing=Routing(gateway="gate")), decode(routing=Routing("pd-disaggregation")))

    assert found.http_route == {"parentRefs": [{"name": "gate"}]}


def test_a_gateway_may_be_in_another_namespace() -> None:
    assert routes(worker()).http_route == {"parentRefs": [{"name": "gate", "namespace": "infra"}]}


def test_without_a_gateway_there_is_no_http_route() -> None:
    assert routes(worker(routing=Routing("queue-size"))).http_route == {}


def test_hostnames_are_added_to_the_route() -> None:
    asked = Routing("queue-size", gateway="gate", hostnames=("a.b", "c.d"))

    assert routes(worker(routing=asked)).http_route["hostnames"] == ["a.b", "c.d"]


def test_members_that_disagree_keep_the_routes_as_they_are() -> None:
    found = plan(prefill(routing=Routing("queue-size")), decode(routing=PD))

    assert (found.routes, found.hold, codes(found)) == (None, True, {("p", "FI806"), ("d", "FI806")})


def test_a_disagreement_names_the_members_and_their_values() -> None:
    found = plan(prefill(routing=Routing(gateway="other")), decode(routing=PD))

    assert "the gateway (p: other)" in str(found.findings[0].error)


def test_a_disagreement_on_a_configuration_does_not_print_it() -> None:
    found = plan(prefill(routing=Routing(config="a\nb\n")), decode(routing=Routing(config="c\nd\n")))

    assert "(p: a ...)" in str(found.findings[0].error)


def test_a_decoder_without_the_strategy_takes_no_part_in_the_kv_transfer() -> None:
    found = plan(prefill(), decode(routing=PD), decode("d2", role_name="decode-2"))

    assert (found.hold, codes(found)) == (True, {("d2", "FI807")})


@pytest.mark.parametrize("there", [prefill(routing=PD), decode(routing=PD)])
def test_one_side_alone_waits_for_the_other(there: Member) -> None:
    found = plan(there)

    assert (found.routes, found.hold, codes(found)) == (None, True, {(there.name, "FI808")})


def test_one_side_alone_is_never_routed_by_another_strategy() -> None:
    assert [one["metadata"]["name"] for one in preview([decode(routing=PD)], SETTINGS).objects] == ["r1-api"]


def test_prefillers_and_decoders_are_routed_alike_if_asked_and_their_authors_are_told() -> None:
    found = plan(prefill(), decode(routing=CACHE))

    assert (found.routes is None, codes(found)) == (False, {("p", "FI802"), ("d", "FI802")})


def test_a_worker_does_not_disaggregate() -> None:
    assert codes(plan(worker(routing=PD))) == {("w", "FI801")}


def test_an_endpoint_picker_without_disaggregation_is_reported_with_alternatives() -> None:
    found = plan(prefill(), decode(routing=PD), settings=Settings(disaggregated_picker="gie-1.5"))

    assert {finding.error.code for finding in found.findings} == {"FI805"}
    assert found.hold
    assert "gie-1.5" in found.findings[0].error.message
    assert "llm-d-0.4 or llm-d-0.7" in found.findings[0].error.message


def test_an_author_chooses_the_generation_for_one_service() -> None:
    chosen = worker(routing=Routing("queue-size", picker="gie-1.3"))

    assert routes(chosen, settings=Settings(picker="gie-1.2")).picker is PICKERS["gie-1.3"]


def test_a_generation_that_an_author_chose_and_that_cannot_disaggregate_is_refused() -> None:
    found = plan(prefill(routing=Routing(picker="gie-1.5")), decode(routing=PD))

    refused = [finding.error for finding in found.findings if finding.error.code == "FI805"]
    assert {error.path for error in refused} == {"metadata.annotations[fusioninfer.io/picker]"}


def test_members_that_disagree_on_the_endpoint_picker_keep_the_routes() -> None:
    found = plan(
        prefill(routing=Routing(picker="llm-d-0.4")), decode(routing=replace(PD, picker="llm-d-0.7"))
    )

    assert (found.hold, codes(found) >= {("p", "FI806"), ("d", "FI806")}) == (True, True)


def test_a_configuration_is_checked_against_the_generation_that_its_author_chose() -> None:
    config = yaml.dump(presets(PICKERS["gie-1.5"])["queue-size"]) + "parser: {pluginRef: queue-scorer}\n"

    found = plan(worker(routing=Routing(config=config, picker="gie-1.2")))

    assert codes(found) == {("w", "FI812")}
    assert codes(plan(worker(routing=Routing(config=config)))) == set()


def test_a_decoder_without_a_named_endpoint_picker_has_the_sidecar_of_another() -> None:
    found = plan(prefill(routing=Routing(picker="llm-d-0.4")), decode(routing=PD))

    assert (found.hold, ("d", "FI823") in codes(found)) == (True, True)


def test_a_decoder_with_the_common_endpoint_picker_has_its_sidecar() -> None:
    found = plan(prefill(), decode(routing=replace(PD, picker="llm-d-0.7")))

    assert (found.hold, codes(found)) == (False, set())


def test_an_endpoint_picker_that_forgets_prefillers_is_accepted_with_a_warning() -> None:
    found = plan(prefill(), decode(routing=replace(PD, picker="llm-d-0.4")))

    assert (found.routes is None, codes(found)) == (False, {("p", "FI822"), ("d", "FI822")})


def test_the_default_endpoint_picker_remembers_prefillers() -> None:
    assert codes(plan(prefill(), decode(routing=PD))) == set()


def test_the_operator_sets_the_number_of_endpoint_pickers() -> None:
    assert routes(worker(), settings=Settings(picker_replicas=2)).replicas == 2


def test_the_author_sets_the_number_of_endpoint_pickers() -> None:
    chosen = worker(routing=replace(CACHE, picker_replicas=3))

    assert routes(chosen, settings=Settings(picker_replicas=2)).replicas == 3


def test_the_endpoint_picker_of_a_router_is_that_of_its_inference_service() -> None:
    found = routes(worker(), service=isvc(strategy="queue-size", picker="gie-1.2", picker_replicas=2))

    assert (found.picker.name, found.replicas) == ("gie-1.2", 2)


@pytest.mark.parametrize(("tls", "told"), [(True, True), (False, False)])
def test_istio_gets_a_rule_where_tls_is_used(tls: bool, told: bool) -> None:  # noqa: FBT001 - a table
    settings = Settings(destination_rules=True, secure_serving=tls)

    assert routes(worker(), settings=settings).destination_rule == told


def test_there_is_no_rule_for_istio_unless_it_is_enabled() -> None:
    assert not routes(worker()).destination_rule


def test_a_strategy_and_a_configuration_exclude_each_other() -> None:
    assert codes(plan(worker(routing=Routing("queue-size", config="x")))) == {("w", "FI804")}


def test_a_gateway_without_a_strategy_has_no_effect() -> None:
    found = plan(prefill(routing=Routing(gateway="gate")), decode())

    assert (found.routes, found.hold, codes(found)) == (None, False, {("p", "FI803"), ("d", "FI803")})


def test_leaders_with_two_ports_fit_no_pool() -> None:
    found = plan(prefill(port=8001), decode(routing=PD))

    assert (found.hold, codes(found)) == (True, {("p", "FI809"), ("d", "FI809")})


def test_members_that_are_being_deleted_do_not_count() -> None:
    found = plan(worker("old", deleting=True, routing=Routing("queue-size")), worker())

    assert found.routes is not None


def test_a_member_with_a_conflicting_role_takes_no_part() -> None:
    late = member("late", created="2027", port=81)

    assert routes(prefill(), decode(routing=PD), late).members == (("d", "uid-d"), ("p", "uid-p"))


def test_the_router_decides_for_all_its_members() -> None:
    service = isvc(strategy="queue-size", http_route={"parentRefs": [{"name": "g"}]})

    found = routes(worker(routing=Routing()), service=service)

    assert (found.http_route, found.owner) == ({"parentRefs": [{"name": "g"}]}, (KEY[1], "uid-isvc"))


def test_the_routers_gateway_is_the_parent_where_the_route_names_none() -> None:
    service = isvc(strategy="queue-size", gateway={"gatewayClassName": "kgateway"})

    found = routes(worker(routing=Routing()), service=service)

    assert found.http_route["parentRefs"] == [{"name": f"{KEY[1]}-gateway"}]


def test_a_service_without_a_router_has_no_routes() -> None:
    assert plan(worker(routing=Routing()), service=InferenceServiceIntent(*KEY)) == RoutePlan()


def test_a_removed_router_has_no_effect_through_its_members() -> None:
    assert plan(worker(), service=InferenceServiceIntent(*KEY)) == RoutePlan()


def test_the_routes_of_an_inference_service_wait_for_its_lws() -> None:
    assert plan(service=isvc(strategy="queue-size")) == RoutePlan(hold=True)


def test_lws_being_deleted_leave_the_routes_to_their_inference_service() -> None:
    going = worker(routing=Routing(), deleting=True)

    assert plan(going, service=isvc(strategy="queue-size")) == RoutePlan(hold=True)


def test_without_an_inference_service_the_routes_are_deleted_with_the_last_lws() -> None:
    assert plan(worker(deleting=True)) == RoutePlan()


def test_an_author_who_names_a_parent_keeps_it_beside_an_own_gateway() -> None:
    mine = {"parentRefs": [{"name": "g"}]}
    service = isvc(strategy="queue-size", gateway={"gatewayClassName": "c"}, http_route=mine)

    found = routes(worker(routing=Routing()), service=service)

    assert (found.http_route, found.gateway) == (mine, {"gatewayClassName": "c"})


@pytest.mark.parametrize(
    ("router", "attached"),
    [
        ({}, False),
        ({"http_route": {"rules": []}}, False),
        ({"http_route": {"parentRefs": [{"name": "g"}]}}, True),
        ({"gateway": {"gatewayClassName": "c"}}, True),
    ],
)
def test_an_http_route_needs_a_gateway(router: Object, attached: bool) -> None:  # noqa: FBT001 - a case
    service = isvc(strategy="queue-size", **router)
    assert service.router is not None

    made = bool(routes(worker(routing=Routing()), service=service).http_route)

    assert (made, service.router.is_attached) == (attached, attached)


def test_the_configuration_is_yaml_that_reads_back() -> None:
    (read,) = yaml.load(routes(worker()).config)

    assert read["kind"] == "EndpointPickerConfig"


def test_a_finding_about_a_router_is_reported_once_to_its_author() -> None:
    service = replace(isvc(config="kind: Other"), roles=(RoleIntent("w", "worker", {}),))
    members = [worker(name, role_name=name, routing=Routing()) for name in ("w", "x")]

    found = preview(members, SETTINGS, [service]).findings

    told = [(one.subject.kind, one.error.path) for one in found if one.error.code == "FI811"]
    assert told == [("InferenceService", "spec.roles[0].endpointPickerConfig")]


# --- a configuration in a ConfigMap, and a pool of the author -----------------------------------------

REFERRING = isvc(config_ref=ConfigMapKey("routing", "c.yaml"))
PLAIN = worker(routing=Routing())


def test_a_configuration_in_a_config_map_is_used_as_it_is() -> None:
    text = yaml.dump(presets(PICKERS["gie-1.5"])["queue-size"])

    assert routes(PLAIN, service=REFERRING, read=Configuration(text)).config == text


@pytest.mark.parametrize(
    ("read", "code", "severity"),
    [
        (None, "FI837", "warning"),
        (Configuration(problem="there is no ConfigMap routing"), "FI836", "error"),
        (Configuration(problem="no answer", is_transient=True), "FI836", "warning"),
    ],
)
def test_without_the_configuration_the_routes_stay_as_they_are(
    read: Configuration | None, code: str, severity: str
) -> None:
    found = plan(PLAIN, service=REFERRING, read=read)

    assert (found.routes, found.hold) == (None, True)
    assert [(one.error.code, one.error.severity, one.error.path) for one in found.findings] == [
        (code, severity, "spec.roles[0].configRef")
    ]


def test_a_configuration_in_a_config_map_that_stops_the_endpoint_picker_is_not_rolled_out() -> None:
    found = plan(PLAIN, service=REFERRING, read=Configuration("kind: Other"))

    assert (found.routes, found.hold, codes(found)) == (None, True, {("w", "FI811")})


def test_a_pool_of_the_author_leaves_the_choice_to_its_endpoint_picker() -> None:
    found = routes(PLAIN, service=isvc(pool="theirs", http_route={"parentRefs": [{"name": "g"}]}))

    assert (found.pool, found.config) == ("theirs", "")


def test_a_pool_of_the_author_wins_over_a_configuration() -> None:
    """Admission refuses both; they were stored while it was down."""
    both = isvc(pool="theirs", config_ref=ConfigMapKey("routing", "c.yaml"))

    assert routes(PLAIN, service=both).pool == "theirs"


def test_the_strategy_of_the_sidecars_does_not_exclude_a_configuration_of_the_author() -> None:
    service = isvc(strategy="pd-disaggregation", config_ref=ConfigMapKey("routing", "c.yaml"))
    text = yaml.dump(presets(PICKERS[SETTINGS.disaggregated_picker])["pd-disaggregation"])

    found = plan(prefill(), decode(routing=PD), service=service, read=Configuration(text))

    assert (found.findings, found.routes and found.routes.config) == ((), text)
