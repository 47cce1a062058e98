"""The plan of a service's routes, and what blocks it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import pytest

from catalog.pickers.generations import PICKERS
from intent import Object, yaml
from intent.annotations import ComponentType, Routing
from intent.inferenceservice.read import InferenceServiceIntent, RoleIntent, Router
from intent.inferenceservice.v1alpha1 import ConfigRef
from intent.service.member import Member
from intent.settings import Settings
from sync.kinds import ROUTES
from sync.observed.configuration import Configuration
from sync.observed.pod import ObservedPod
from sync.observed.routes import Deployment
from sync.parts.desired import Desired
from sync.parts.routes import routes
from sync.parts.strategies import presets
from sync.preview import preview
from tests.sync.samples import KEY, SETTINGS, codes, decode, member, prefill, seen

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
    picks: str = "",
    **known: Any,
) -> Desired:
    """Desire the routes of these members; `picks` is the generation of the endpoint picker that there is."""
    picker = Deployment(KEY[0], "r1-epp", applied=True, picker=picks)
    rows = {"Deployment": (picker,)} if picks else {}
    return routes(seen(*members, service=service, configuration=read, rows=rows, **known), settings)


def made(*members: Member, **known: Any) -> dict[str, Object]:
    """Return the objects of routes, which must exist, by kind; of several the last."""
    found = {obj["kind"]: obj for obj in plan(*members, **known).objects}
    assert found
    return found


def picker_in(found: Desired) -> str | None:
    """Return the generation of the endpoint picker that is to run."""
    names = (one["metadata"]["labels"] for one in found.objects if one["kind"] == "Deployment")
    return next((str(one["fusioninfer.io/picker"]) for one in names), None)


def config_in(found: Desired) -> str | None:
    """Return the EndpointPickerConfig."""
    return next((one["data"]["config.yaml"] for one in found.objects if one["kind"] == "ConfigMap"), None)


def is_held(found: Desired) -> bool:
    """Whether routes stay as they are."""
    return found.held == ROUTES and not found.objects


def isvc(**router: Any) -> InferenceServiceIntent:
    """Return an InferenceService with a router."""
    own = {
        field: router.pop(field) for field in ("gateway", "template", "config_ref", "pool") if field in router
    }
    made = Router("router", Routing(**router), **own)
    return InferenceServiceIntent(*KEY, router=made, uid="uid-isvc")


Case = tuple[str, tuple[Member, ...], dict[str, Any]]
SERVICE: Final = InferenceServiceIntent(*KEY)
OWN_GATEWAY: Final = isvc(strategy="queue-size", gateway={"gatewayClassName": "c"})
QUEUES: Final = Routing("queue-size")
UNROUTED: Final = worker(routing=Routing())
GOING: Final = worker(routing=Routing(), deleting=True)
DECODES: Final = decode(routing=PD)
E: Final = member("e", "encoder", size=1, scheduler="", port=9, created="2025-12-31")
PRESET: Final = yaml.dump(presets(PICKERS["gie-1.5"])["queue-size"])
OF_ROUTER: Final = yaml.dump(presets(PICKERS["llm-d-0.10"])["queue-size"])


def case(outcome: str, *members: Member, **known: Any) -> Case:
    return outcome, members, known


PLANS: Final[dict[str, Case]] = {
    "no request": case("none", UNROUTED),
    "a service without a router": case("none", UNROUTED, service=SERVICE),
    "a removed router has no effect through its members": case("none", worker(), service=SERVICE),
    "an InferenceService without its LWS": case("held", service=isvc(strategy="queue-size")),
    "LWS being deleted": case("held", GOING, service=isvc(strategy="queue-size")),
    "the last LWS goes, and there is no InferenceService": case("none", worker(deleting=True)),
    "members being deleted do not count": case(
        "routes", worker("old", deleting=True, routing=QUEUES), worker()
    ),
    "a configuration that stops the picker": case(
        "held FI812 w", worker(routing=Routing(config="kind: Other"))
    ),
    "members that disagree": case("held FI806 d p", prefill(routing=QUEUES), DECODES),
    "a decoder without the strategy": case(
        "held FI807 d2", prefill(), DECODES, decode("d2", role_name="decode-2")
    ),
    "an encoder has any port, and decides nothing": case("routes", E, prefill(), DECODES),
    "an encoder alone": case("held", replace(E, routing=PD)),
    "an encoder is no prefiller": case("held FI808 d", E, DECODES),
    "a prefiller alone": case("held FI808 p", prefill(routing=PD)),
    "a decoder alone": case("held FI808 d", DECODES),
    "both routed alike": case("routes FI802 d p", prefill(), decode(routing=CACHE)),
    "a worker does not disaggregate": case("held FI801 w", worker(routing=PD)),
    "a picker that cannot": case(
        "held FI805 d p", prefill(), DECODES, settings=Settings(disaggregated_picker="gie-1.5")
    ),
    "the common picker has its sidecar": case(
        "routes", prefill(), decode(routing=replace(PD, picker="llm-d-0.9"))
    ),
    "a strategy and a configuration": case("held FI804 w", worker(routing=Routing("queue-size", config="x"))),
    "a gateway without a strategy": case(
        "none FI803 d p", prefill(routing=Routing(gateway="gate")), decode()
    ),
    "leaders with two ports": case("held FI809 d p", prefill(port=8001), DECODES),
    "a configuration checked for a chosen generation": case(
        "held FI812 w", worker(routing=Routing(config=OF_ROUTER, picker="llm-d-0.7"))
    ),
    "the same for the operator's": case(
        "routes", worker(routing=Routing(config=OF_ROUTER)), settings=Settings(picker="llm-d-0.10")
    ),
    "a Gateway of a class that is not allowed": case(
        "held FI833 r1", worker(), service=OWN_GATEWAY, settings=Settings(gateways=("other",))
    ),
    "one that is": case("routes", worker(), service=OWN_GATEWAY, settings=Settings(gateways=("c",))),
}


@pytest.mark.parametrize(("outcome", "members", "known"), PLANS.values(), ids=PLANS)
def test_routes_are_made_or_held_and_members_are_told_why(
    outcome: str, members: tuple[Member, ...], known: dict[str, Any]
) -> None:
    found = plan(*members, **known)

    state = "routes" if found.objects else "held" if is_held(found) else "none"
    told = (*sorted({code for _, code in codes(found)}), *sorted(name for name, _ in codes(found)))
    assert " ".join((state, *told)) == outcome


def asked(field: str, value: Any, *members: Member, **known: Any) -> tuple[Any, ...]:
    return field, value, members, known


def _http_route(found: Desired) -> Object:
    specs = (one["spec"] for one in found.objects if one["kind"] == "HTTPRoute")
    return {key: value for key, value in next(specs, {}).items() if key != "rules"}


@pytest.mark.parametrize(
    ("members", "service", "told"),
    [
        ((worker(),), None, {("w", "FI834", "warning")}),
        ((UNROUTED,), None, set()),
        ((UNROUTED,), isvc(strategy="queue-size"), {("r1", "FI834", "error")}),
        ((worker(),), SERVICE, set()),
    ],
    ids=["annotated", "without annotations", "a router", "no router"],
)
def test_routes_that_are_switched_off_stay_and_who_asks_for_them_is_told(
    members: tuple[Member, ...], service: InferenceServiceIntent | None, told: set[tuple[str, str, str]]
) -> None:
    found = plan(*members, service=service, settings=Settings(routes=False))

    assert (found.objects, found.held) == ((), ROUTES - {"Service"})
    assert {(one.subject.name, one.error.code, one.error.severity) for one in found.of_routes} == told


@pytest.mark.parametrize("tls", [True, False], ids=["TLS", "plain text"])
def test_a_destination_rule_stays_while_the_endpoint_picker_serves_tls(*, tls: bool) -> None:
    """Without it every request of an Istio gateway would fail; with it every one to a picker without TLS."""
    found = plan(worker(), settings=Settings(secure_serving=tls))

    assert (("DestinationRule", "r1-epp") in found.held_objects) is tls


FIELDS: Final[dict[str, Callable[[Desired], Any]]] = {
    "ports": lambda found: [
        port["number"]
        for one in found.objects
        if one["kind"] == "InferencePool"
        for port in one["spec"]["targetPorts"]
    ],
    "picker": picker_in,
    "config": config_in,
    "http_route": _http_route,
    "replicas": lambda found: [
        one["spec"]["replicas"] for one in found.objects if one["kind"] == "Deployment"
    ],
    "rules": lambda found: sum(one["kind"] == "DestinationRule" for one in found.objects),
    "owners": lambda found: [
        (one["name"], one["uid"]) for one in found.objects[0]["metadata"]["ownerReferences"]
    ],
    "objectives": lambda found: [
        (one["metadata"]["name"], one["spec"]["priority"])
        for one in found.objects
        if one["kind"] == "InferenceObjective"
    ],
}
GATE: Final = {"parentRefs": [{"name": "gate"}]}
MINE: Final = {"parentRefs": [{"name": "g"}]}
MADE: Final[dict[str, tuple[Any, ...]]] = {
    "the port is the leaders'": asked("ports", [81], worker(port=81)),
    "the operator's generation": asked("picker", "gie-1.2", worker(), settings=Settings(picker="gie-1.2")),
    "one that disaggregates": asked("picker", SETTINGS.disaggregated_picker, prefill(), DECODES),
    "the author's generation": asked(
        "picker",
        "gie-1.3",
        worker(routing=Routing("queue-size", picker="gie-1.3")),
        settings=Settings(picker="gie-1.2"),
    ),
    "the author's configuration": asked(
        "config", f"{PRESET}# mine\n", worker(routing=Routing(config=f"{PRESET}# mine\n"))
    ),
    "with adapters too": asked("config", PRESET, worker(routing=Routing(config=PRESET), has_adapters=True)),
    "annotations of one member count for all": asked(
        "http_route",
        GATE,
        prefill(routing=Routing(gateway="gate")),
        decode(routing=Routing("pd-disaggregation")),
    ),
    "a gateway in another namespace": asked(
        "http_route", {"parentRefs": [{"name": "gate", "namespace": "infra"}]}, worker()
    ),
    "no gateway": asked("http_route", {}, worker(routing=QUEUES)),
    "hostnames": asked(
        "http_route",
        GATE | {"hostnames": ["a.b", "c.d"]},
        worker(routing=Routing("queue-size", gateway="gate", hostnames=("a.b", "c.d"))),
    ),
    "the operator's replicas": asked("replicas", [2], worker(), settings=Settings(picker_replicas=2)),
    "the author's replicas": asked(
        "replicas",
        [3],
        worker(routing=replace(CACHE, picker_replicas=3)),
        settings=Settings(picker_replicas=2),
    ),
    "the router's replicas": asked(
        "replicas", [2], worker(), service=isvc(strategy="queue-size", picker_replicas=2)
    ),
    "the router's generation": asked(
        "picker", "gie-1.2", worker(), service=isvc(strategy="queue-size", picker="gie-1.2")
    ),
    "a rule for Istio": asked("rules", 1, worker(), settings=Settings(destination_rules=True)),
    "none without TLS": asked(
        "rules", 0, worker(), settings=Settings(destination_rules=True, secure_serving=False)
    ),
    "none by default": asked("rules", 0, worker()),
    "a conflicting role takes no part": asked(
        "owners",
        [("d", "uid-d"), ("p", "uid-p")],
        prefill(),
        DECODES,
        member("late", created="2027", port=81),
    ),
    "the router decides for its members": asked(
        "http_route", MINE, UNROUTED, service=isvc(strategy="queue-size", http_route=MINE)
    ),
    "the InferenceService owns them": asked("owners", [(KEY[1], "uid-isvc")], UNROUTED, service=OWN_GATEWAY),
    "the router's gateway is the parent": asked(
        "http_route", {"parentRefs": [{"name": f"{KEY[1]}-gateway"}]}, UNROUTED, service=OWN_GATEWAY
    ),
    "the author's parent stays beside it": asked(
        "http_route",
        MINE,
        UNROUTED,
        service=isvc(strategy="queue-size", gateway={"gatewayClassName": "c"}, http_route=MINE),
    ),
    "priorities of service and adapter": asked(
        "objectives",
        [(KEY[1], 100), (f"{KEY[1]}.acme-law", -100)],
        worker(),
        service=replace(
            isvc(strategy="queue-size", priority="Critical"), adapters=(("acme/Law", "Sheddable"),)
        ),
    ),
    "a priority of the adapter alone": asked(
        "objectives",
        [(f"{KEY[1]}.law", 7)],
        worker(),
        service=replace(isvc(strategy="queue-size"), adapters=(("law", "7"),)),
    ),
}


@pytest.mark.parametrize(("field", "value", "members", "known"), MADE.values(), ids=MADE)
def test_what_is_asked_for_is_planned(
    field: str, value: Any, members: tuple[Member, ...], known: dict[str, Any]
) -> None:
    assert FIELDS[field](plan(*members, **known)) == value


def test_the_endpoint_picker_scores_the_adapters_that_a_member_serves() -> None:
    with_adapters, without = (config_in(plan(worker(has_adapters=one))) or "" for one in (True, False))

    assert "lora-affinity-scorer" in with_adapters
    assert "lora-affinity-scorer" not in without


@pytest.mark.parametrize(
    ("prefills", "words"),
    [(Routing(gateway="other"), "the gateway (p: other)"), (Routing(config="a\nb\n"), "(p: a ...)")],
)
def test_a_disagreement_names_members_and_the_first_line_of_values(prefills: Routing, words: str) -> None:
    other = PD if prefills.gateway else Routing(config="c\nd\n")

    assert words in str(plan(prefill(routing=prefills), decode(routing=other)).of_routes[0].error)


def test_one_side_alone_is_never_routed_by_another_strategy() -> None:
    assert [one["metadata"]["name"] for one in preview([DECODES], SETTINGS).objects] == ["r1-api"]


def test_an_endpoint_picker_without_disaggregation_is_reported_with_alternatives() -> None:
    found = plan(prefill(), DECODES, settings=Settings(disaggregated_picker="gie-1.5"))
    chosen = plan(prefill(routing=Routing(picker="gie-1.5")), DECODES)

    assert "gie-1.5" in found.of_routes[0].error.message
    assert "use llm-d-0.10" in found.of_routes[0].error.message
    refused = {one.error.path for one in chosen.of_routes if one.error.code == "FI805"}
    assert refused == {"metadata.annotations[fusioninfer.io/picker]"}


def test_members_that_disagree_on_the_endpoint_picker_keep_the_routes() -> None:
    found = plan(
        prefill(routing=Routing(picker="llm-d-0.4")), decode(routing=replace(PD, picker="llm-d-0.7"))
    )

    assert (is_held(found), codes(found) >= {("p", "FI806"), ("d", "FI806")}) == (True, True)


def test_a_decoder_without_a_named_endpoint_picker_has_the_sidecar_of_another() -> None:
    found = plan(prefill(routing=Routing(picker="llm-d-0.4")), DECODES)

    assert (is_held(found), ("d", "FI823") in codes(found)) == (True, True)


PODS: Final = {
    **{name: ObservedPod("llm", name, lws="d", sidecar=name) for name in ("llm-d-0.4", "llm-d-0.7", "")},
    "a copy": ObservedPod("llm", "copy", sidecar="llm-d-0.4"),
}
FOLLOWED: Final = {
    "the sidecar in the template": ("llm-d-0.4", "", (), "gie-1.5", "llm-d-0.4", False),
    "the endpoint picker beside an unknown sidecar": ("", "", (), "llm-d-0.4", "llm-d-0.4", False),
    "no endpoint picker that cannot split": ("", "", (), "gie-1.5", "llm-d-0.10", False),
    "pods with the old sidecar": ("llm-d-0.7", "", ("llm-d-0.7", "llm-d-0.4", ""), "", "llm-d-0.4", True),
    "pods with the new one": ("llm-d-0.7", "", ("llm-d-0.7", ""), "llm-d-0.4", "llm-d-0.7", False),
    "a copy of an old pod": ("llm-d-0.7", "", ("llm-d-0.7", "a copy"), "llm-d-0.7", "llm-d-0.7", False),
    "pods with a newer one": ("llm-d-0.4", "llm-d-0.4", ("llm-d-0.7", "llm-d-0.4"), "", "llm-d-0.7", True),
    "a new decoder": ("llm-d-0.7 llm-d-0.4", "", ("llm-d-0.4", "llm-d-0.7"), "llm-d-0.4", "llm-d-0.4", True),
    "the endpoint picker of pods that are not known": ("llm-d-0.7", "", None, "llm-d-0.4", "llm-d-0.4", True),
}
"""Sidecars in templates of decoders, the author's choice, pods, the present picker; the next, if it waits."""


@pytest.mark.parametrize(
    ("sidecar", "chosen", "there", "picks", "followed", "waits"), FOLLOWED.values(), ids=FOLLOWED
)
def test_an_endpoint_picker_is_of_the_generation_of_the_sidecars(
    sidecar: str, chosen: str, there: tuple[str, ...] | None, picks: str, followed: str, *, waits: bool
) -> None:
    asked = replace(PD, picker=chosen)
    decoders = (
        decode(name, role_name=name, routing=asked, sidecar=one)
        for name, one in zip("dx", sidecar.split(" "), strict=False)
    )
    members = prefill(), *decoders
    pods = None if there is None else tuple(map(PODS.__getitem__, there))

    found = plan(*members, pods=pods, picks=picks)

    assert (picker_in(found), ("d", "FI823") in codes(found)) == (followed, waits)


def test_the_endpoint_picker_stays_while_its_configuration_is_for_the_generation_to_come() -> None:
    config = yaml.dump(presets(PICKERS["llm-d-0.7"])["pd-disaggregation"])
    members = prefill(), decode(routing=Routing(config=config), sidecar="llm-d-0.7")

    rolling, without, rolled = (
        plan(*members, pods=tuple(map(PODS.__getitem__, names)), picks=picks)
        for names, picks in (
            (("llm-d-0.7", "llm-d-0.4"), "llm-d-0.4"),
            (("llm-d-0.7", "llm-d-0.4"), ""),
            (("llm-d-0.7",), "llm-d-0.4"),
        )
    )

    kept = ("Deployment", "r1-epp")
    assert (picker_in(rolling), kept in rolling.held_objects) == (None, True)
    for one in (without, rolled):
        assert (picker_in(one), kept in one.held_objects) == ("llm-d-0.7", False)


def test_a_sidecar_of_an_author_says_no_generation() -> None:
    members = prefill(), decode(routing=PD, sidecar="")

    assert picker_in(plan(*members, pods=(PODS["llm-d-0.4"],), picks="llm-d-0.7")) == "llm-d-0.7"


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

    assert ("HTTPRoute" in made(UNROUTED, service=service), service.router.is_attached) == (
        attached,
        attached,
    )


def test_a_finding_about_a_router_is_reported_once_to_its_author() -> None:
    service = replace(isvc(config="kind: Other"), roles=(RoleIntent("w", "worker", {}),))
    members = [worker(name, role_name=name, routing=Routing()) for name in ("w", "x")]

    found = preview(members, SETTINGS, [service]).all_findings

    told = [(one.subject.kind, one.error.path) for one in found if one.error.code == "FI812"]
    assert told == [("InferenceService", "spec.roles[0].endpointPickerConfig")]


# --- a configuration in a ConfigMap, and a pool of the author -----------------------------------------

REFERRING = isvc(config_ref=ConfigRef(name="routing", key="c.yaml"))


def test_a_configuration_in_a_config_map_is_used_as_it_is() -> None:
    assert config_in(plan(UNROUTED, service=REFERRING, read=Configuration(PRESET))) == PRESET


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
    found = plan(UNROUTED, service=REFERRING, read=read)

    assert is_held(found)
    assert [(one.error.code, one.error.severity, one.error.path) for one in found.of_routes] == [
        (code, severity, "spec.roles[0].configRef")
    ]


def test_a_configuration_in_a_config_map_that_stops_the_endpoint_picker_is_not_rolled_out() -> None:
    found = plan(UNROUTED, service=REFERRING, read=Configuration("kind: Other"))

    assert (is_held(found), codes(found)) == (True, {("r1", "FI812")})


@pytest.mark.parametrize("config", [None, ConfigRef(name="routing", key="c.yaml")], ids=["alone", "wins"])
def test_a_pool_of_the_author_leaves_the_choice_to_its_endpoint_picker(config: ConfigRef | None) -> None:
    """Admission refuses a configuration beside it; both may have been stored while it was down."""
    service = isvc(pool="theirs", config_ref=config, http_route={"parentRefs": [{"name": "g"}]})

    found = made(UNROUTED, service=service)

    assert list(found) == ["HTTPRoute"]
    (backend,) = found["HTTPRoute"]["spec"]["rules"][0]["backendRefs"]
    assert backend["name"] == "theirs"


def test_beside_a_pool_of_the_author_no_sidecar_is_compared_with_an_endpoint_picker() -> None:
    service = isvc(pool="theirs", http_route={"parentRefs": [{"name": "g"}]})
    decoders = (decode(name, role_name=name, routing=PD, sidecar=name) for name in ("llm-d-0.4", "llm-d-0.7"))

    found = plan(prefill(), *decoders, service=service, pods=(PODS["llm-d-0.7"],))

    assert (found.of_routes, is_held(found)) == ((), False)


def test_the_strategy_of_the_sidecars_does_not_exclude_a_configuration_of_the_author() -> None:
    service = isvc(strategy="pd-disaggregation", config_ref=ConfigRef(name="routing", key="c.yaml"))
    text = yaml.dump(presets(PICKERS[SETTINGS.disaggregated_picker])["pd-disaggregation"])

    found = plan(prefill(), decode(routing=PD), service=service, read=Configuration(text))

    assert (found.of_routes, config_in(found)) == ((), text)
