"""The rendered routes; tests/golden/routes-* has them in full."""

import copy
from dataclasses import replace
from typing import Any, Final

import pytest

from catalog.pickers.generations import PICKERS, Picker
from intent import Object
from intent.annotations import Routing
from intent.settings import Settings
from sync.kinds import OBJECTIVE
from sync.parts.endpoints import Endpoints
from sync.parts.picker import deployment
from sync.parts.traffic import Routes
from tests.sync.parts.test_routes import CACHE, PD, UNROUTED, isvc, made, worker
from tests.sync.samples import KEY, decode, prefill

SEVERAL = made(worker(), settings=Settings(picker_replicas=3))
each_row = pytest.mark.parametrize("row", PICKERS.values(), ids=lambda row: row.name)


def pod(found: dict[str, Object]) -> Object:
    """Return the endpoint picker's pod template."""
    template: Object = found["Deployment"]["spec"]["template"]
    return template


def epp(found: dict[str, Object]) -> Object:
    """Return the endpoint picker's container."""
    container: Object = pod(found)["spec"]["containers"][0]
    return container


def http_route(**spec: Any) -> Object:
    """Render the spec of an author's HTTPRoute."""
    service = isvc(strategy="queue-size", http_route={"parentRefs": [{"name": "g"}], **spec})
    rendered: Object = made(UNROUTED, service=service)["HTTPRoute"]["spec"]
    return rendered


def test_the_parts_of_routes_name_each_other_and_the_picker_is_no_endpoint_of_its_pool() -> None:
    found, (file,) = SEVERAL, SEVERAL["ConfigMap"]["data"]
    selector, labels = found["Deployment"]["spec"]["selector"], pod(SEVERAL)["metadata"]["labels"]
    (volume,), (mount,) = pod(SEVERAL)["spec"]["volumes"], epp(SEVERAL)["volumeMounts"]
    reference = found["InferencePool"]["spec"]["endpointPickerRef"]
    account = found["ServiceAccount"]["metadata"]["name"]

    assert found["Service"]["spec"]["selector"] == selector["matchLabels"] == labels
    assert found["PodDisruptionBudget"]["spec"]["selector"] == selector
    assert pod(SEVERAL)["spec"]["topologySpreadConstraints"][0]["labelSelector"] == selector
    assert labels.keys().isdisjoint(found["InferencePool"]["spec"]["selector"]["matchLabels"])
    assert reference["name"] == found["Service"]["metadata"]["name"]
    assert reference["port"]["number"] in {port["port"] for port in found["Service"]["spec"]["ports"]}
    assert f"--config-file={mount['mountPath']}/{file}" in epp(SEVERAL)["args"]
    assert volume["configMap"]["name"] == found["ConfigMap"]["metadata"]["name"]
    subject = {"kind": "ServiceAccount", "name": account, "namespace": "team-a"}
    assert found["RoleBinding"]["subjects"] == [subject]
    assert pod(SEVERAL)["spec"]["serviceAccountName"] == account


@pytest.mark.parametrize(
    ("priority", "number"), [("Critical", 100), ("Standard", 0), ("Sheddable", -100), ("7", 7)]
)
def test_the_objective_of_a_service_has_the_number_of_its_priority(priority: str, number: int) -> None:
    objects = made(worker(routing=replace(CACHE, priority=priority)))

    assert objects["InferenceObjective"]["spec"]["priority"] == number


@each_row
def test_a_picker_that_does_not_follow_the_ports_of_its_pool_is_replaced_with_them(row: Picker) -> None:
    asked = Routes(*KEY, row, Endpoints((1,)), Routing(config="c"), Settings())
    one, other, two = (
        deployment(replace(asked, endpoints=Endpoints(ports)))["spec"]["template"]
        for ports in ((8000,), (9000,), (8000, 8001))
    )

    assert one == other
    assert (one == two) is row.active_ports


@each_row
def test_every_generation_may_read_what_the_controller_makes_for_it(row: Picker) -> None:
    assert OBJECTIVE.resource.api_version in row.objectives
    assert {
        ("", "pods"),
        ("inference.networking.k8s.io", "inferencepools"),
        *((one.partition("/")[0], OBJECTIVE.resource.plural) for one in row.objectives),
    } <= set(row.rights)


def test_only_old_generations_get_the_new_name_of_the_metric() -> None:
    flag = "--kv-cache-usage-percentage-metric=vllm:kv_cache_usage_perc"

    assert {row.name for row in PICKERS.values() if flag in row.flags} == {"gie-1.2", "llm-d-0.4"}


# --- settings of the operator -----------------------------------------------------------------------


def test_the_operator_chooses_where_endpoint_pickers_run_and_with_what() -> None:
    settings = Settings(
        picker_registry="mirror.example.com/upstream",
        picker_image_pull_secrets=("mirror",),
        picker_resources={"limits": {"memory": "1Gi"}},
        picker_tolerations=({"key": "system", "operator": "Exists"},),
        picker_node_selector={"pool": "system"},
        picker_priority_class_name="high",
        picker_security_context={"runAsGroup": 7},
        secure_serving=False,
    )
    found = made(worker(), settings=settings)
    spec, container = pod(found)["spec"], epp(found)

    assert spec["imagePullSecrets"] == [{"name": "mirror"}]
    assert spec["tolerations"] == [{"key": "system", "operator": "Exists"}]
    assert (spec["nodeSelector"], spec["priorityClassName"]) == ({"pool": "system"}, "high")
    assert container["resources"] == {"limits": {"memory": "1Gi"}}
    assert container["securityContext"] == {"runAsGroup": 7}
    assert (
        container["image"]
        == f"mirror.example.com/upstream/{PICKERS[settings.picker].image.partition('/')[2]}"
    )
    assert "--secure-serving=false" in container["args"]


def test_istio_calls_the_endpoint_picker_with_tls_without_verification() -> None:
    found = made(worker(), settings=Settings(destination_rules=True))["DestinationRule"]

    assert found["metadata"]["labels"] == {"fusioninfer.io/service": "r1"}
    assert found["spec"] == {
        "host": "r1-epp",
        "trafficPolicy": {"tls": {"mode": "SIMPLE", "insecureSkipVerify": True}},
    }


def test_the_members_own_the_routes_together() -> None:
    found = made(prefill(), decode(routing=PD))

    owners = [[ref["name"] for ref in obj["metadata"]["ownerReferences"]] for obj in found.values()]
    assert owners == [["d", "p"]] * len(found)


def test_an_inferenceservice_owns_and_controls_its_routes_and_its_gateway_alone() -> None:
    mine = {"gatewayClassName": "kgateway", "listeners": [{"name": "web", "port": 80, "protocol": "HTTP"}]}

    found = made(UNROUTED, service=isvc(strategy="queue-size", gateway=mine))

    assert list(found)[-2:] == ["Gateway", "HTTPRoute"]
    assert (found["Gateway"]["metadata"]["name"], found["Gateway"]["spec"]) == ("r1-gateway", mine)
    for one in found.values():
        (owner,) = one["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["uid"], owner["controller"]) == ("InferenceService", "uid-isvc", True)


# --- the author's route ---------------------------------------------------------------------------------

OURS: Final = {"group": "inference.networking.k8s.io", "kind": "InferencePool", "name": "r1-pool"}
OWN: Final = {
    "name": "mine",
    "matches": [{"headers": [{"name": "x", "value": "y"}]}],
    "filters": [{"type": "URLRewrite", "urlRewrite": {"hostname": "h"}}],
    "timeouts": {"request": "10m"},
    "unknown": 1,
}
CANARY: Final = {"backendRefs": [{"name": "canary", "port": 80}]}
WEIGHTED: Final = {"backendRefs": [OURS | {"weight": 80}, OURS | {"name": "r2-pool", "weight": 20}]}
REDIRECT: Final = {"filters": [{"type": "RequestRedirect", "requestRedirect": {"hostname": "h"}}]}


@pytest.mark.parametrize(
    ("mine", "rendered"),
    [(OWN, OWN | {"backendRefs": [OURS]}), (CANARY, CANARY), (WEIGHTED, WEIGHTED), (REDIRECT, REDIRECT)],
    ids=["without backends", "own backends", "weighted pools", "a redirect"],
)
def test_an_authors_rule_is_kept_and_gets_the_pool_where_it_names_no_backend(
    mine: Object, rendered: Object
) -> None:
    before = copy.deepcopy(mine)

    assert (http_route(rules=[mine])["rules"], mine) == ([rendered], before)


def test_an_authors_route_keeps_parents_and_hostnames() -> None:
    parent = {"name": "g", "namespace": "n", "sectionName": "s", "port": 80}

    spec = http_route(parentRefs=[parent], hostnames=["a.b"])

    assert (spec["parentRefs"], spec["hostnames"]) == ([parent], ["a.b"])


# --- the author's template of the endpoint picker, and the author's pool -------------------------------


def customized(**template: Any) -> Object:
    """Return the endpoint picker's pod template with changes of its author."""
    return pod(made(UNROUTED, service=isvc(strategy="queue-size", template=template)))


def container(**fields: Any) -> Object:
    """Return the endpoint picker's container with changes of its author."""
    found: Object = customized(spec={"containers": [{"name": "epp", **fields}]})["spec"]["containers"][0]
    return found


def plain() -> Object:
    return pod(made(UNROUTED, service=isvc(strategy="queue-size")))


def test_an_authors_template_without_fields_changes_nothing() -> None:
    assert (
        customized(spec={"containers": []}) == customized(spec={"containers": [{"name": "epp"}]}) == plain()
    )


@pytest.mark.parametrize(
    ("asked", "limits", "bounded"),
    [
        ({"limits": {"cpu": "100m"}}, None, {"requests": {"memory": "256Mi"}, "limits": {"cpu": "100m"}}),
        (
            {"limits": {"cpu": "1"}},
            None,
            {"requests": {"cpu": "250m", "memory": "256Mi"}, "limits": {"cpu": "1"}},
        ),
        ({"requests": {"cpu": "4"}}, {"cpu": "1"}, {"limits": {}, "requests": {"cpu": "4"}}),
        (
            {"requests": {"cpu": "4"}, "limits": {"memory": "1Gi"}},
            None,
            {"requests": {"cpu": "4", "memory": "256Mi"}, "limits": {"memory": "1Gi"}},
        ),
        ({"requests": {"cpu": "500m"}}, {"cpu": "1"}, {"limits": {"cpu": "1"}, "requests": {"cpu": "500m"}}),
    ],
)
def test_a_request_never_exceeds_the_limit_that_its_author_or_the_operator_sets(
    asked: Object, limits: Object | None, bounded: Object
) -> None:
    settings = Settings(picker_resources={"limits": limits}) if limits else Settings()
    template = {"spec": {"containers": [{"name": "epp", "resources": asked}]}}
    service = isvc(strategy="queue-size", template=template)

    whole = pod(made(UNROUTED, service=service, settings=settings))

    assert whole["spec"]["containers"][0]["resources"] == bounded


def test_an_authors_variable_is_added_and_does_not_hide_the_pods_name() -> None:
    made = container(env=[{"name": "A", "value": "1"}, {"name": "POD_NAME", "value": "other"}])

    assert {"name": "A", "value": "1"} in made["env"]
    assert [one for one in made["env"] if one["name"] == "POD_NAME"] == [
        {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
    ]


def test_an_authors_flag_comes_after_ours_that_it_may_change_and_before_those_that_it_may_not() -> None:
    flags = container(args=["--zap-encoder=console", "--pool-name=other"])["args"]

    assert flags.index("--zap-encoder=json") < flags.index("--zap-encoder=console")
    assert flags.index("--pool-name=other") < flags.index("--pool-name=r1-pool")


def test_what_routes_depend_on_is_not_the_authors() -> None:
    """Admission refuses all of this; it was stored while admission was down."""
    own = customized(
        metadata={"labels": {"fusioninfer.io/service": "r1", "app.kubernetes.io/instance": "x", "team": "a"}},
        spec={
            "serviceAccountName": "admin",
            "volumes": [{"name": "config", "emptyDir": {}}],
            "containers": [{"name": "epp", "volumeMounts": [{"name": "x", "mountPath": "/etc/picker"}]}],
        },
    )

    assert own["metadata"]["labels"] == plain()["metadata"]["labels"] | {"team": "a"}
    assert own["spec"]["serviceAccountName"] == "r1-epp"
    assert own["spec"]["volumes"] == plain()["spec"]["volumes"]
    assert own["spec"]["containers"][0]["volumeMounts"] == plain()["spec"]["containers"][0]["volumeMounts"]


def test_tolerations_of_the_operator_stay_beside_the_authors() -> None:
    settings = Settings(picker_tolerations=({"key": "infra"},))
    service = isvc(strategy="queue-size", template={"spec": {"tolerations": [{"key": "mine"}]}})
    whole = pod(made(UNROUTED, service=service, settings=settings))

    assert whole["spec"]["tolerations"] == [{"key": "infra"}, {"key": "mine"}]


def test_a_further_container_comes_after_the_endpoint_picker() -> None:
    made = customized(spec={"containers": [{"name": "log", "image": "l:1"}]})

    assert [one["name"] for one in made["spec"]["containers"]] == ["epp", "log"]
