"""The rendered routes; tests/golden/routes-* has them in full."""

import dataclasses
from typing import Any

import pytest

from catalog.pickers.generations import PICKERS, Picker
from intent import Object
from intent.annotations import Routing
from intent.settings import Settings
from sync.desired.render.endpoint_picker import ELECTING, READING
from sync.desired.render.routes import route_objects
from sync.desired.routes import RoutePlan, Routes
from sync.kinds import OBJECTIVE
from tests.sync.desired.test_routes import CACHE, PD, isvc, routes, worker
from tests.sync.samples import decode, prefill

KINDS = [
    "ServiceAccount",
    "RoleBinding",
    "ConfigMap",
    "InferencePool",
    "Deployment",
    "Service",
    "HTTPRoute",
]
each_row = pytest.mark.parametrize("row", PICKERS.values(), ids=lambda row: row.name)


SEVERAL = dataclasses.replace(routes(worker()), replicas=3)


def made(found: Routes) -> dict[str, Object]:
    """Render routes, by kind."""
    return {obj["kind"]: obj for obj in route_objects(RoutePlan(found))}


def bound(found: Routes) -> list[str]:
    """Return the roles that are bound for the endpoint picker."""
    objects = route_objects(RoutePlan(found))
    return [obj["roleRef"]["name"] for obj in objects if obj["kind"] == "RoleBinding"]


def pod(found: Routes) -> Object:
    """Return the endpoint picker's pod template."""
    template: Object = made(found)["Deployment"]["spec"]["template"]
    return template


def epp(found: Routes) -> Object:
    """Return the endpoint picker's container."""
    container: Object = pod(found)["spec"]["containers"][0]
    return container


def http_route(**spec: Any) -> Object:
    """Render the spec of an author's HTTPRoute."""
    service = isvc(strategy="queue-size", http_route={"parentRefs": [{"name": "g"}], **spec})
    rendered: Object = made(routes(worker(routing=Routing()), service=service))["HTTPRoute"]["spec"]
    return rendered


def test_no_routes_are_no_objects() -> None:
    assert route_objects(RoutePlan()) == ()


def test_the_pool_comes_before_the_endpoint_picker() -> None:
    assert list(made(routes(worker()))) == KINDS


def test_without_a_parent_there_is_no_http_route() -> None:
    assert list(made(routes(worker(routing=Routing("queue-size"))))) == KINDS[:-1]


def test_every_object_has_the_label_of_the_service() -> None:
    found = made(dataclasses.replace(routes(worker()), replicas=2, destination_rule=True))

    assert [obj["metadata"]["labels"]["fusioninfer.io/service"] for obj in found.values()] == ["r1"] * 9


@each_row
def test_the_deployment_is_labelled_with_its_generation(row: Picker) -> None:
    found = made(dataclasses.replace(routes(worker()), picker=row))["Deployment"]

    assert found["metadata"]["labels"]["fusioninfer.io/picker"] == row.name


def test_the_endpoint_pickers_pod_is_no_endpoint_of_the_pool() -> None:
    found = made(routes(worker()))
    selector = found["InferencePool"]["spec"]["selector"]["matchLabels"]

    assert found["Deployment"]["spec"]["template"]["metadata"]["labels"].keys() & selector.keys() == set()


def test_the_pool_selects_leaders_only() -> None:
    selector = made(routes(worker()))["InferencePool"]["spec"]["selector"]

    assert selector == {
        "matchLabels": {"fusioninfer.io/service": "r1", "leaderworkerset.sigs.k8s.io/worker-index": "0"}
    }


def test_the_port_of_the_pool_is_the_leaders() -> None:
    assert made(routes(worker(port=81)))["InferencePool"]["spec"]["targetPorts"] == [{"number": 81}]


def test_the_pool_names_a_service_and_a_port_that_exist() -> None:
    found = made(routes(worker()))
    reference = found["InferencePool"]["spec"]["endpointPickerRef"]

    assert reference["name"] == found["Service"]["metadata"]["name"]
    assert reference["port"]["number"] in {port["port"] for port in found["Service"]["spec"]["ports"]}


def test_the_service_selects_the_endpoint_pickers_pod() -> None:
    found = made(routes(worker()))

    assert found["Service"]["spec"]["selector"] == found["Deployment"]["spec"]["selector"]["matchLabels"]
    assert found["Service"]["spec"]["selector"] == pod(routes(worker()))["metadata"]["labels"]


def test_without_a_priority_there_is_no_objective() -> None:
    assert "InferenceObjective" not in made(routes(worker()))


@pytest.mark.parametrize(
    ("priority", "number"), [("Critical", 100), ("Standard", 0), ("Sheddable", -100), ("7", 7)]
)
def test_the_objective_of_a_service_has_its_name_and_the_number_of_its_priority(
    priority: str, number: int
) -> None:
    objects = made(routes(worker(routing=dataclasses.replace(CACHE, priority=priority))))
    objective, pool = objects["InferenceObjective"], objects["InferencePool"]

    assert objective["metadata"]["name"] == "r1"
    assert objective["spec"]["priority"] == number
    assert objective["spec"]["poolRef"] == {
        "group": pool["apiVersion"].partition("/")[0],
        "name": pool["metadata"]["name"],
    }


@each_row
def test_every_generation_reads_and_may_read_the_objectives_that_the_controller_makes(row: Picker) -> None:
    assert row.objectives == OBJECTIVE.resource.api_version
    assert (row.objectives.partition("/")[0], OBJECTIVE.resource.plural) in row.rights


def test_without_the_endpoint_picker_any_worker_serves() -> None:
    assert made(routes(worker()))["InferencePool"]["spec"]["endpointPickerRef"]["failureMode"] == "FailOpen"


def test_without_the_endpoint_picker_no_request_goes_to_a_prefiller() -> None:
    pool = made(routes(prefill(), decode(routing=PD)))["InferencePool"]

    assert pool["spec"]["endpointPickerRef"]["failureMode"] == "FailClose"


@each_row
def test_every_generation_may_read_pods_and_pools(row: Picker) -> None:
    assert {("", "pods"), ("inference.networking.k8s.io", "inferencepools")} <= set(row.rights)


def test_the_rights_are_bound_to_the_account_of_the_pod() -> None:
    found = made(routes(worker()))

    account = found["ServiceAccount"]["metadata"]["name"]
    assert found["RoleBinding"]["subjects"] == [
        {"kind": "ServiceAccount", "name": account, "namespace": "team-a"}
    ]
    assert found["RoleBinding"]["roleRef"]["name"] == READING
    assert pod(routes(worker()))["spec"]["serviceAccountName"] == account


def test_every_flag_is_one_argument() -> None:
    assert [
        word for word in epp(routes(worker()))["args"] if not word.startswith("--") or "=" not in word
    ] == []


@each_row
def test_only_old_generations_get_the_new_name_of_the_metric(row: Picker) -> None:
    words = epp(dataclasses.replace(routes(worker()), picker=row))["args"]

    told = "--kv-cache-usage-percentage-metric=vllm:kv_cache_usage_perc" in words
    assert told == (row.name in {"gie-1.2", "llm-d-0.4"})


@pytest.mark.parametrize("flag", ["--metrics-endpoint-auth=false", "--tracing=false"])
def test_features_that_need_cluster_wide_rights_are_off(flag: str) -> None:
    assert flag in epp(routes(worker()))["args"]


def test_a_generation_whose_tracing_has_no_switch_samples_nothing() -> None:
    found = dataclasses.replace(routes(worker()), picker=PICKERS["llm-d-0.7"])

    assert {"name": "OTEL_TRACES_SAMPLER_ARG", "value": "0"} in epp(found)["env"]


@pytest.mark.parametrize("secure", [True, False])
def test_tls_between_gateway_and_endpoint_picker_is_always_explicit(secure: bool) -> None:  # noqa: FBT001 - a case
    found = dataclasses.replace(routes(worker()), secure_serving=secure)

    assert f"--secure-serving={str(secure).lower()}" in epp(found)["args"]


def test_another_configuration_makes_a_new_pod() -> None:
    one, two = routes(worker()), routes(worker(routing=Routing("queue-size")))

    assert pod(one)["metadata"]["annotations"] != pod(two)["metadata"]["annotations"]


def test_another_hostname_leaves_the_pod_alone() -> None:
    asked = Routing("prefix-cache", gateway="g", hostnames=("a.b",))

    assert pod(routes(worker())) == pod(routes(worker(routing=asked)))


def test_the_pod_mounts_the_configuration_that_its_flag_names() -> None:
    found = made(routes(worker()))
    (file,) = found["ConfigMap"]["data"]
    container, volume = epp(routes(worker())), pod(routes(worker()))["spec"]["volumes"][0]

    assert f"--config-file={container['volumeMounts'][0]['mountPath']}/{file}" in container["args"]
    assert volume["configMap"]["name"] == found["ConfigMap"]["metadata"]["name"]


def test_the_new_endpoint_picker_serves_before_the_old_one_ends() -> None:
    spec = made(routes(worker()))["Deployment"]["spec"]

    assert (spec["replicas"], spec["strategy"]["rollingUpdate"]) == (1, {"maxSurge": 1, "maxUnavailable": 0})


# --- settings of the operator -----------------------------------------------------------------------

OPERATED = Settings(
    picker_registry="mirror.example.com/upstream",
    picker_image_pull_secrets=("mirror",),
    picker_resources={"limits": {"memory": "1Gi"}},
    picker_tolerations=({"key": "system", "operator": "Exists"},),
    picker_node_selector={"pool": "system"},
    picker_priority_class_name="high",
)


@each_row
def test_the_operator_chooses_the_registry(row: Picker) -> None:
    image = epp(dataclasses.replace(routes(worker(), settings=OPERATED), picker=row))["image"]

    assert image == f"mirror.example.com/upstream/{row.image.partition('/')[2]}"


def test_the_operator_chooses_where_endpoint_pickers_run_and_with_what() -> None:
    spec = pod(routes(worker(), settings=OPERATED))["spec"]

    assert spec["imagePullSecrets"] == [{"name": "mirror"}]
    assert spec["tolerations"] == [{"key": "system", "operator": "Exists"}]
    assert (spec["nodeSelector"], spec["priorityClassName"]) == ({"pool": "system"}, "high")
    assert spec["containers"][0]["resources"] == {"limits": {"memory": "1Gi"}}


def test_what_the_operator_leaves_out_is_absent() -> None:
    spec = pod(routes(worker()))["spec"]

    assert not {"imagePullSecrets", "tolerations", "nodeSelector", "priorityClassName"} & spec.keys()
    assert epp(routes(worker()))["resources"] == {"requests": {"cpu": "250m", "memory": "256Mi"}}


# --- several endpoint pickers -----------------------------------------------------------------------


def test_one_endpoint_picker_has_no_leader_election() -> None:
    found = made(routes(worker()))

    assert "PodDisruptionBudget" not in found
    assert not [word for word in epp(routes(worker()))["args"] if "leader" in word]
    assert bound(routes(worker())) == [READING]


@each_row
def test_several_endpoint_pickers_elect_a_leader(row: Picker) -> None:
    found = dataclasses.replace(SEVERAL, picker=row)

    assert made(found)["Deployment"]["spec"]["replicas"] == 3
    assert "--ha-enable-leader-election=true" in epp(found)["args"]


def test_several_endpoint_pickers_may_have_leases() -> None:
    assert bound(SEVERAL) == [READING, ELECTING]


def test_a_rollout_of_several_endpoint_pickers_waits_for_no_second_leader() -> None:
    strategy = made(SEVERAL)["Deployment"]["spec"]["strategy"]

    assert strategy["rollingUpdate"] == {"maxSurge": "100%", "maxUnavailable": "100%"}


def test_the_disruption_budget_selects_the_endpoint_pickers_pods() -> None:
    found = made(SEVERAL)

    assert found["PodDisruptionBudget"]["spec"]["selector"] == found["Deployment"]["spec"]["selector"]


def test_several_endpoint_pickers_are_spread_over_nodes() -> None:
    (spread,) = pod(SEVERAL)["spec"]["topologySpreadConstraints"]

    assert (spread["topologyKey"], spread["whenUnsatisfiable"]) == (
        "kubernetes.io/hostname",
        "ScheduleAnyway",
    )
    assert spread["labelSelector"] == made(SEVERAL)["Deployment"]["spec"]["selector"]


# --- Istio ------------------------------------------------------------------------------------------


def test_istio_calls_the_endpoint_picker_with_tls_without_verification() -> None:
    found = made(dataclasses.replace(routes(worker()), destination_rule=True))

    assert found["DestinationRule"]["spec"] == {
        "host": found["Service"]["metadata"]["name"],
        "trafficPolicy": {"tls": {"mode": "SIMPLE", "insecureSkipVerify": True}},
    }


# --- the pod ----------------------------------------------------------------------------------------


def test_an_endpoint_picker_that_waits_for_its_pool_is_not_killed() -> None:
    probe = epp(routes(worker()))["startupProbe"]

    assert probe["periodSeconds"] * probe["failureThreshold"] >= 300


@pytest.mark.parametrize(
    ("probe", "service"), [("livenessProbe", "liveness"), ("readinessProbe", "readiness")]
)
def test_probes_use_names_that_every_generation_knows(probe: str, service: str) -> None:
    assert epp(routes(worker()))[probe]["grpc"] == {"port": 9003, "service": service}


def test_the_pod_conforms_to_pod_security_restricted() -> None:
    context = {**pod(routes(worker()))["spec"]["securityContext"], **epp(routes(worker()))["securityContext"]}

    assert context == {
        "runAsNonRoot": True,
        "runAsUser": 65532,
        "seccompProfile": {"type": "RuntimeDefault"},
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_an_endpoint_picker_has_time_to_finish_its_requests() -> None:
    by_itself = 30

    assert pod(routes(worker()))["spec"]["terminationGracePeriodSeconds"] > by_itself


def test_the_endpoint_picker_requests_resources() -> None:
    assert epp(routes(worker()))["resources"]["requests"].keys() == {"cpu", "memory"}


def test_the_members_own_the_routes_together() -> None:
    found = made(routes(prefill(), decode(routing=PD)))

    owners = [[ref["name"] for ref in obj["metadata"]["ownerReferences"]] for obj in found.values()]
    assert owners == [["d", "p"]] * len(found)


def test_an_inferenceservice_owns_and_controls_its_routes_alone() -> None:
    service = isvc(strategy="queue-size")

    (owner,) = made(routes(worker(), service=service))["Deployment"]["metadata"]["ownerReferences"]

    assert (owner["kind"], owner["uid"], owner["controller"]) == ("InferenceService", "uid-isvc", True)


def test_offline_the_routes_have_no_owners() -> None:
    assert "ownerReferences" not in made(routes(worker(uid="")))["InferencePool"]["metadata"]


def test_a_gateway_is_rendered_as_written_and_before_its_route() -> None:
    mine = {"gatewayClassName": "kgateway", "listeners": [{"name": "web", "port": 80, "protocol": "HTTP"}]}

    found = made(routes(worker(routing=Routing()), service=isvc(strategy="queue-size", gateway=mine)))

    assert list(found)[-2:] == ["Gateway", "HTTPRoute"]
    assert (found["Gateway"]["metadata"]["name"], found["Gateway"]["spec"]) == ("r1-gateway", mine)


def test_a_gateway_is_owned_by_its_inference_service() -> None:
    service = isvc(strategy="queue-size", gateway={"gatewayClassName": "kgateway"})

    (owner,) = made(routes(worker(), service=service))["Gateway"]["metadata"]["ownerReferences"]

    assert (owner["kind"], owner["uid"], owner["controller"]) == ("InferenceService", "uid-isvc", True)


def test_without_rules_one_rule_matches_everything_without_a_timeout() -> None:
    assert http_route()["rules"] == [
        {
            "matches": [{"path": {"type": "PathPrefix", "value": "/"}}],
            "backendRefs": [
                {"group": "inference.networking.k8s.io", "kind": "InferencePool", "name": "r1-pool"}
            ],
            "timeouts": {"request": "0s"},
        }
    ]


def test_an_authors_rule_keeps_matches_filters_and_timeouts() -> None:
    mine = {
        "name": "mine",
        "matches": [{"headers": [{"name": "x", "value": "y"}]}],
        "filters": [{"type": "URLRewrite", "urlRewrite": {"hostname": "h"}}],
        "timeouts": {"request": "10m"},
        "unknown": 1,
    }

    (rule,) = http_route(rules=[mine])["rules"]

    assert {key: value for key, value in rule.items() if key != "backendRefs"} == mine


def test_a_rule_with_its_own_backends_is_kept() -> None:
    mine = {"backendRefs": [{"name": "canary", "port": 80}]}

    assert http_route(rules=[mine])["rules"] == [mine]


def test_a_rule_with_weighted_pools_is_kept() -> None:
    pools = [
        {"group": "inference.networking.k8s.io", "kind": "InferencePool", "name": name, "weight": weight}
        for name, weight in (("r1-pool", 80), ("r2-pool", 20))
    ]

    assert http_route(rules=[{"backendRefs": pools}])["rules"] == [{"backendRefs": pools}]


def test_a_rule_that_redirects_gets_no_backend() -> None:
    mine = {"filters": [{"type": "RequestRedirect", "requestRedirect": {"hostname": "h"}}]}

    assert http_route(rules=[mine])["rules"] == [mine]


def test_an_authors_route_keeps_parents_and_hostnames() -> None:
    parent = {"name": "g", "namespace": "n", "sectionName": "s", "port": 80}

    spec = http_route(parentRefs=[parent], hostnames=["a.b"])

    assert (spec["parentRefs"], spec["hostnames"]) == ([parent], ["a.b"])


def test_an_authors_route_is_not_changed() -> None:
    mine = {"parentRefs": [{"name": "g"}], "rules": [{"matches": []}]}

    made(routes(worker(routing=Routing()), service=isvc(strategy="queue-size", http_route=mine)))

    assert mine == {"parentRefs": [{"name": "g"}], "rules": [{"matches": []}]}


@each_row
def test_every_generation_runs_its_own_image_with_a_tag(row: Picker) -> None:
    image = epp(dataclasses.replace(routes(worker()), picker=row))["image"]

    assert image == row.image
    assert image.rpartition(":")[2].startswith("v")


# --- the author's template of the endpoint picker, and the author's pool -------------------------------


def customized(**template: Any) -> Object:
    """Return the endpoint picker's pod template with changes of its author."""
    return pod(routes(worker(routing=Routing()), service=isvc(strategy="queue-size", template=template)))


def container(**fields: Any) -> Object:
    """Return the endpoint picker's container with changes of its author."""
    found: Object = customized(spec={"containers": [{"name": "epp", **fields}]})["spec"]["containers"][0]
    return found


def plain() -> Object:
    return pod(routes(worker(routing=Routing()), service=isvc(strategy="queue-size")))


def test_an_authors_template_without_fields_changes_nothing() -> None:
    assert (
        customized(spec={"containers": []}) == customized(spec={"containers": [{"name": "epp"}]}) == plain()
    )


def test_the_image_and_the_resources_are_the_authors() -> None:
    made = container(image="mirror/epp:2", resources={"requests": {"cpu": "4"}, "limits": {"memory": "1Gi"}})

    assert made["image"] == "mirror/epp:2"
    assert made["resources"] == {"requests": {"cpu": "4", "memory": "256Mi"}, "limits": {"memory": "1Gi"}}


@pytest.mark.parametrize(
    ("asked", "limits", "made"),
    [
        ({"limits": {"cpu": "100m"}}, None, {"requests": {"memory": "256Mi"}, "limits": {"cpu": "100m"}}),
        (
            {"limits": {"cpu": "1"}},
            None,
            {"requests": {"cpu": "250m", "memory": "256Mi"}, "limits": {"cpu": "1"}},
        ),
        ({"requests": {"cpu": "4"}}, {"cpu": "1"}, {"limits": {}, "requests": {"cpu": "4"}}),
        ({"requests": {"cpu": "500m"}}, {"cpu": "1"}, {"limits": {"cpu": "1"}, "requests": {"cpu": "500m"}}),
    ],
)
def test_a_request_never_exceeds_the_limit_that_its_author_or_the_operator_sets(
    asked: Object, limits: Object | None, made: Object
) -> None:
    settings = Settings(picker_resources={"limits": limits}) if limits else Settings()
    template = {"spec": {"containers": [{"name": "epp", "resources": asked}]}}
    service = isvc(strategy="queue-size", template=template)

    whole = pod(routes(worker(routing=Routing()), service=service, settings=settings))

    assert whole["spec"]["containers"][0]["resources"] == made


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
    made = pod(routes(worker(routing=Routing()), service=service, settings=settings))

    assert made["spec"]["tolerations"] == [{"key": "infra"}, {"key": "mine"}]


def test_a_further_container_comes_after_the_endpoint_picker() -> None:
    made = customized(spec={"containers": [{"name": "log", "image": "l:1"}]})

    assert [one["name"] for one in made["spec"]["containers"]] == ["epp", "log"]


def test_with_a_pool_of_the_author_there_is_only_the_route_to_it() -> None:
    service = isvc(pool="theirs", http_route={"parentRefs": [{"name": "g"}]})
    settings = Settings(picker_replicas=3, destination_rules=True)

    found = made(routes(worker(routing=Routing()), service=service, settings=settings))

    assert list(found) == ["HTTPRoute"]
    assert found["HTTPRoute"]["spec"]["rules"][0]["backendRefs"] == [
        {"group": "inference.networking.k8s.io", "kind": "InferencePool", "name": "theirs"}
    ]
