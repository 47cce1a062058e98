"""Reading of an InferenceService: its fields, and its errors."""

from typing import Any

import pytest

from intent import Object
from intent.annotations import Routing
from intent.errors import FieldError
from intent.inferenceservice.read import Router, read
from intent.inferenceservice.v1alpha1 import ConfigRef
from tests.builders.isvc import decoder, encoder, isvc, prefiller, router, worker
from tests.builders.lws import changed, template

ROLE = "spec.roles[0]"


def found(obj: Any) -> list[tuple[str, str]]:
    """Return path and code of all findings."""
    return [(one.path, one.code) for one in read(obj)[1]]


def routed(*roles: Object, **spec: Any) -> tuple[Router, tuple[FieldError, ...]]:
    """Return the router of a readable InferenceService, and all findings."""
    service, errors = read(isvc(*roles, **spec))
    assert service is not None
    assert service.router is not None
    return service.router, errors


@pytest.mark.parametrize(
    ("roles", "strategy"),
    [
        ((router(strategy=None), worker()), "prefix-cache"),
        ((router(strategy=None), prefiller(), decoder()), "pd-disaggregation"),
        ((router(strategy=None), prefiller()), "pd-disaggregation"),
        ((router(strategy="queue-size"), worker()), "queue-size"),
        ((router(strategy=None, endpointPickerConfig="a: b"), worker()), ""),
    ],
)
def test_a_router_without_strategy_gets_the_roles_default(roles: tuple[Object, ...], strategy: str) -> None:
    assert routed(*roles)[0].routing.strategy == strategy


def test_a_router_keeps_the_specs_of_its_author() -> None:
    route = {"parentRefs": [{"name": "g"}], "rules": [{"x": 1}]}

    found, _ = routed(worker(), router(httproute=route, gateway={"listeners": []}))

    assert (found.name, found.routing) == ("router", Routing("prefix-cache", http_route=route))
    assert (found.gateway, found.given) == (
        {"listeners": []},
        frozenset({"name", "componentType", "strategy", "httproute", "gateway"}),
    )


def test_carried_annotations_are_kept() -> None:
    annotations = {"note": "x", "fusioninfer.io/skip": "shm", "scheduling.volcano.sh/queue-name": "q"}

    service, _ = read(isvc(annotations=annotations))

    assert service is not None
    assert dict(service.annotations) == {k: v for k, v in annotations.items() if k != "note"}


# --- shape ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("spec.roles[0].replicas", "2", "must be a valid integer"),
        ("spec.roles[0].replicas", True, "must be a valid integer"),
        ("spec.roles[0].replicas", -1, "must be greater than or equal to 0"),
        ("spec.roles[0].multinode.nodeCount", 0, "must be greater than or equal to 1"),
        ("spec.roles[0].multinode.nodeCount", 2**31, "must be less than or equal to 2147483647"),
        ("spec.roles[0].componentType", "prefill", "must be 'router', 'worker', "),
        ("spec.roles[0].template", [], "must be a map"),
        ("spec.roles[0].name", "Upper", "must match pattern "),
        ("spec.roles[0].name", "a" * 64, "must have at most 63 characters"),
        ("spec.roles", [], "must have at least 1 item"),
        ("spec.roles", {"a": 1}, "must be a valid list"),
        ("spec.schedulingStrategy", "volcano", "must be a map"),
        ("apiVersion", "fusioninfer.io/v1", "must be 'fusioninfer.io/v1alpha1'"),
        ("metadata", None, "is required"),
        ("spec", None, "is required"),
    ],
)
def test_a_field_of_the_wrong_type_is_reported_and_nothing_is_read(
    path: str, value: Any, message: str
) -> None:
    service, errors = read(changed(isvc(), path.replace("[0]", ".0"), value))

    assert service is None
    assert [(one.path, one.code) for one in errors] == [(path, "FI701")]
    assert errors[0].message.startswith(message)


def test_the_number_of_findings_about_the_shape_is_bounded() -> None:
    many = changed(isvc(), "spec.schedulingStrategy", {str(at): at for at in range(1000)})

    assert [one.path for one in read(many)[1]] == [f"spec.schedulingStrategy.{at}" for at in range(100)]


@pytest.mark.parametrize("field", ["replicas", "multinode", "strategy", "gateway", "roleReplicas"])
def test_a_null_is_an_absent_field(field: str) -> None:
    plain = isvc(worker(multinode=None))
    null = isvc(plain["spec"]["roles"][0] | {field: None})

    assert read(null) == read(plain)


@pytest.mark.parametrize(("path", "where"), [("extra", "extra"), ("spec.extra", "spec.extra")])
def test_an_unknown_field_that_is_null_is_reported(path: str, where: str) -> None:
    """A strict API server refuses it, too."""
    obj = changed(isvc(), path, 1)
    (obj if path == "extra" else obj["spec"])["extra"] = None

    assert found(obj) == [(where, "FI702")]


# --- topology ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "roles",
    [
        (router(),),
        (prefiller(),),
        (decoder(),),
        (worker(), worker(name="second")),
        (worker(), prefiller(), decoder()),
        (worker(), prefiller()),
        (encoder(),),
        (encoder(), prefiller()),
    ],
)
def test_invalid_combinations_of_roles_are_refused(roles: tuple[Object, ...]) -> None:
    assert ("spec.roles", "FI703") in found(isvc(*roles))


@pytest.mark.parametrize("roles", [(worker(),), (prefiller(), decoder())])
def test_encoders_stand_beside_other_engines(roles: tuple[Object, ...]) -> None:
    assert found(isvc(encoder(), *roles, encoder(name="encode-2"))) == []


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("replicas", 1),
        ("multinode", {"nodeCount": 1}),
        ("worker", {}),
        ("acceleratorTypes", {"labelKey": "gpu", "labelValues": ["a"]}),
        ("roleReplicas", 1),
        ("podReplicas", 1),
    ],
)
def test_a_router_runs_no_engine(field: str, value: Any) -> None:
    assert (f"{ROLE}.{field}", "FI706") in found(isvc(router(**{field: value}), worker()))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("strategy", "queue-size"),
        ("httproute", {}),
        ("gateway", {}),
        ("endpointPickerConfig", "a: b"),
        ("configRef", {"name": "c", "key": "k"}),
        ("pool", {"ref": {"name": "p"}}),
    ],
)
def test_an_engine_has_no_routes(field: str, value: Any) -> None:
    assert found(isvc(worker(**{field: value}))) == [(f"{ROLE}.{field}", "FI706")]


def test_a_strategy_that_leaves_prefillers_idle_is_a_warning() -> None:
    assert found(isvc(router(), prefiller(), decoder())) == [(f"{ROLE}.strategy", "FI802")]


# --- earlier names ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fields", [{"replicas": 2, "roleReplicas": 3}, {"multinode": {"nodeCount": 2}, "podReplicas": 3}]
)
def test_an_earlier_name_with_another_value_is_refused(fields: Object) -> None:
    assert [code for _, code in found(isvc(worker(**fields)))] == ["FI732"]


# --- annotations and names --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "code"),
    [
        ("fusioninfer.io/lancher", "FI102"),
        ("fusioninfer.io/component-type", "FI709"),
        ("fusioninfer.io/service", "FI709"),
        ("fusioninfer.io/expansion", "FI709"),
    ],
)
def test_an_annotation_that_a_field_replaces_is_refused(key: str, code: str) -> None:
    on_it = isvc(annotations={key: "x"})
    on_a_role = changed(isvc(), f"spec.roles.0.template.metadata.annotations.{key}", "x")

    assert found(on_it) == [(f"metadata.annotations[{key}]", code)]
    assert found(on_a_role) == [(f"{ROLE}.template.metadata.annotations[{key}]", code)]


@pytest.mark.parametrize(
    ("priority", "text"), [("Critical", "Critical"), (7, "7"), ("-7", "-7"), (0, "0"), (None, "")]
)
def test_the_priority_is_that_of_the_router(priority: Any, text: str) -> None:
    made, errors = routed(router(), worker(), priority=priority)

    assert (made.routing.priority, errors) == (text, ())


@pytest.mark.parametrize("priority", ["critical", 2**31, 1.5, True, ["Critical"], {}])
def test_an_unknown_priority_is_reported(priority: Any) -> None:
    assert found(isvc(router(), worker(), priority=priority)) == [("spec.priority", "FI701")]


def test_a_priority_has_no_effect_without_a_router() -> None:
    assert found(isvc(priority="Critical")) == [("spec.priority", "FI803")]


def test_a_router_has_the_endpoint_picker_of_the_annotation() -> None:
    named = {"fusioninfer.io/picker": "gie-1.2", "fusioninfer.io/picker-replicas": "2"}

    made, errors = routed(router(), worker(), annotations=named)

    assert (made.routing.picker, made.routing.picker_replicas, errors) == ("gie-1.2", 2, ())


@pytest.mark.parametrize("name", ["1st", "a.b", "s" * 64, None])
def test_the_name_is_that_of_a_service(name: str | None) -> None:
    assert ("metadata.name", "FI701") in found(changed(isvc(), "metadata.name", name))


@pytest.mark.parametrize(
    ("length", "nodes", "replicas", "accepted"),
    [
        (42, 1, 1, True),
        (43, 1, 1, False),
        (40, 2, 10, True),
        (41, 2, 10, False),
        (39, 2, 11, True),
        (40, 2, 11, False),
    ],
)
def test_service_and_role_together_name_a_leader_worker_set(
    length: int, nodes: int, replicas: int, *, accepted: bool
) -> None:
    long = isvc(worker(multinode={"nodeCount": nodes}, replicas=replicas), name="s" * length)

    assert (found(long) == []) is accepted


def test_a_router_with_an_ingress_alone_has_no_endpoint_picker() -> None:
    alone, both = (
        routed({"name": "r", "componentType": "router", "ingress": {}, **more}, worker())[0]
        for more in ({}, {"strategy": "queue-size"})
    )

    assert (alone.routing.wanted, both.routing.wanted) == (False, True)
    assert alone.ingress == both.ingress == {}


@pytest.mark.parametrize("nodes", [None, {"nodeCount": 1}])
def test_a_replica_of_one_node_has_no_workers(nodes: Object | None) -> None:
    assert found(isvc(worker(multinode=nodes, worker=template()))) == [(f"{ROLE}.worker", "FI706")]


@pytest.mark.parametrize("key", ["launcher", "component-type", "picker", "paused"])
def test_annotations_of_a_role_are_refused_on_the_template_of_its_workers(key: str) -> None:
    whole = template() | {"metadata": {"annotations": {f"fusioninfer.io/{key}": "none"}}}

    (error,) = read(isvc(worker(worker=whole)))[1]

    assert (error.path, error.code) == (f"{ROLE}.worker.metadata.annotations[fusioninfer.io/{key}]", "FI709")


def of_router(**fields: Any) -> Router:
    """Return the router of a valid InferenceService."""
    made, errors = routed(router(**{"strategy": None} | fields), worker())
    assert errors == ()
    return made


POOL: Object = {"ref": {"name": "theirs"}}
CONFIG: Object = {"name": "routing", "key": "config.yaml"}
PODS: Object = {"spec": {"containers": []}}


def test_a_router_that_refers_to_a_configuration_has_no_strategy() -> None:
    made = of_router(configRef=CONFIG)

    assert (made.config_ref, made.routing, made.is_picked) == (
        ConfigRef(name="routing", key="config.yaml"),
        Routing(),
        True,
    )


def test_a_router_with_a_pool_of_its_author_gets_no_endpoint_picker() -> None:
    made = of_router(pool=POOL)

    assert (made.pool, made.routing.strategy, made.is_picked, made.is_routed) == ("theirs", "", False, True)


@pytest.mark.parametrize("fields", [{"pool": POOL}, {"configRef": CONFIG}])
def test_decoders_behind_an_endpoint_picker_of_the_author_still_get_a_sidecar(fields: Object) -> None:
    made, errors = routed(router(**{"strategy": None} | fields), prefiller(), decoder())

    assert (errors, made.routing.strategy) == ((), "pd-disaggregation")


def test_a_router_with_a_template_beside_an_ingress_has_an_endpoint_picker() -> None:
    assert of_router(ingress={}, template=PODS).is_picked


@pytest.mark.parametrize(
    ("fields", "wrong", "code"),
    [
        ({"configRef": CONFIG, "endpointPickerConfig": "a: b"}, "endpointPickerConfig", "FI732"),
        ({"configRef": CONFIG, "strategy": "queue-size"}, "strategy", "FI732"),
        ({"pool": POOL, "strategy": "queue-size"}, "strategy", "FI732"),
        ({"pool": POOL, "endpointPickerConfig": "a: b"}, "endpointPickerConfig", "FI732"),
        ({"pool": POOL, "configRef": CONFIG}, "configRef", "FI732"),
        ({"pool": POOL, "template": PODS}, "template", "FI732"),
        ({"configRef": {"name": "A b", "key": "k"}}, "configRef.name", "FI734"),
        ({"configRef": {"name": "a", "key": "k/l"}}, "configRef.key", "FI734"),
        ({"configRef": {"name": "a", "key": ".."}}, "configRef.key", "FI734"),
        ({"pool": {"ref": {"name": "a/b"}}}, "pool.ref.name", "FI734"),
        ({"pool": {"ref": {"name": "svc-pool"}}}, "pool.ref.name", "FI734"),
        (
            {"template": PODS | {"metadata": {"annotations": {"fusioninfer.io/launcher": "none"}}}},
            "template.metadata.annotations[fusioninfer.io/launcher]",
            "FI709",
        ),
    ],
)
def test_fields_of_a_router_that_exclude_each_other_or_name_what_cannot_exist_are_refused(
    fields: Object, wrong: str, code: str
) -> None:
    assert found(isvc(router(**{"strategy": None} | fields), worker())) == [(f"{ROLE}.{wrong}", code)]
