"""A service of KServe as an InferenceService: the command, the roles, the routes, and each field once."""

from itertools import product
from typing import Any, Final

import pytest
from hypothesis import given

from importer.leaves import leaves, put
from importer.report import ImportResult
from importer.table import import_all
from intent import Object
from tests.builders.imported import errors
from tests.importer.kserve.bases import GROUP, PRESETS, config, service
from tests.importer.test_import_laws import all_places, check, damaged
from tests.tiers import some

MODEL: Final = {"uri": "hf://Qwen/Qwen3-8B", "name": "Qwen/Qwen3-8B"}
GPUS: Final = {"limits": {"nvidia.com/gpu": "8"}}
ROUTER: Final[Object] = {"route": {}, "gateway": {}, "scheduler": {}}


def main(**fields: Any) -> Object:
    return {"containers": [{"name": "main", "resources": GPUS, **fields}]}


ARGS: Final = [{"name": "VLLM_ADDITIONAL_ARGS", "value": "--seed 1 --kv_transfer_config '{\"a\": 1}'"}]
ONE: Final = service(
    {"model": MODEL, "replicas": 2, "parallelism": {"tensor": 8}, "template": main(env=ARGS)}
)
RANKS: Final = service(
    {
        "model": {"uri": "pvc://models/r1", "name": "r1"},
        "parallelism": {"data": 16, "dataLocal": 8, "expert": True, "tensor": 1},
        "router": ROUTER,
        "template": main(env=[{"name": "VLLM_API_SERVER_COUNT", "value": "4"}]),
        "worker": main(),
    }
)
SPLIT: Final = service(
    {
        "model": MODEL,
        "router": ROUTER,
        "template": main(),
        "prefill": {"replicas": 3, "template": main(), "parallelism": {"tensor": 4}},
    },
    annotations={"k8s.v1.cni.cncf.io/networks": "roce", "serving.kserve.io/stop": "false"},
)
BASED: Final = service({"baseRefs": [{"name": "fast"}], "model": MODEL, "template": main()})
FAST: Final = config("fast", {"replicas": 4, "template": main(args=["--seed", "2"], image="own:1")}, "llm")
WHOLE: Final = service(
    {
        "model": {
            **MODEL,
            "criticality": "Critical",
            "lora": {
                "adapters": [{"name": "a", "uri": "hf://a/b", "criticality": "Sheddable"}],
                "maxRank": 8,
            },
        },
        "storageInitializer": {"enabled": True},
        "parallelism": {"tensor": 2, "pipeline": 2, "data": 4, "dataLocal": 2, "expert": True},
        "kvCacheOffloading": {"cpu": "1Gi", "secondary": [{"fileSystem": {"emptyDir": {"size": "2Gi"}}}]},
        "scaling": {"minReplicas": 1, "maxReplicas": 3, "wva": {"variantCost": "1", "keda": {}}},
        "labels": {"team": "a"},
        "router": {
            "route": {"group": "g", "weight": 1},
            "gateway": {"refs": [{"name": "web", "namespace": "infra", "sectionName": "s"}]},
            "ingress": {"refs": [{"name": "i"}]},
            "scheduler": {"replicas": 2, "template": main(args=["--v", "2"]), "labels": {"tier": "epp"}},
        },
        "template": {
            **main(),
            "initContainers": [{"name": "storage-initializer", "env": [{"name": "A", "value": "1"}]}],
        },
    },
    uid="u",
)
ALL: Final = (ONE, RANKS, SPLIT, BASED, WHOLE)


def run(*objects: Object) -> ImportResult:
    return import_all([*objects, FAST, *PRESETS])


def made(*objects: Object) -> Object:
    found = run(*objects)
    assert not found.problems
    return found.objects[0]


def role(obj: Object, name: str) -> Object:
    return next(one for one in obj["spec"]["roles"] if one["name"] == name)


def engine(obj: Object, name: str, template: str = "template") -> Object:
    return dict(role(obj, name)[template]["spec"]["containers"][0])


def outcomes(*objects: Object) -> dict[str, tuple[str, str]]:
    """Return kind and code of each field of the first object."""
    lines = run(*objects).lines
    return {one.path: (one.outcome.kind, one.outcome.code) for one in lines if one.document == 0}


# --- the command --------------------------------------------------------------------------------------


def test_the_script_of_a_preset_becomes_a_plain_command() -> None:
    container = engine(made(ONE), "worker")

    assert container["command"] == ["vllm", "serve"]
    assert container["args"] == [
        *("/mnt/models", "--served-model-name", "Qwen/Qwen3-8B", "publishers/llm/Qwen/Qwen3-8B"),
        *("--port", "8000", "--seed", "1", "--kv_transfer_config", '{"a": 1}'),
    ]
    assert container["env"] == [{"name": "HOME", "value": "/home"}]
    assert container["readinessProbe"]["httpGet"]["scheme"] == "HTTP"
    assert [one["name"] for one in container["volumeMounts"]] == ["home"]


def test_flags_that_the_script_adds_for_some_versions_are_left_out_and_told() -> None:
    (told,) = (line for line in run(ONE).lines if line.outcome.is_told and line.path.endswith("command[2]"))

    assert "--shutdown-timeout" in told.outcome.reason
    assert not told.outcome.is_lost


@pytest.mark.parametrize("of", [".Labels", ".Annotations", ".Spec.Model", ".Spec.Template", "1"])
def test_the_time_to_shut_down_is_the_default_of_what_is_no_pod(of: str) -> None:
    labels = {"TerminationGracePeriodSeconds": "9"}
    env = [{"name": "A", "value": f"{{{{ shutdownTimeout {of} 15 }}}}"}]

    found = made(service({"model": MODEL, "template": main(env=env)}, labels=labels))

    assert {"name": "A", "value": "40"} in engine(found, "worker")["env"]


@pytest.mark.parametrize(
    "value",
    [
        "--seed $(date)",
        "a; b",
        "--x `y`",
        "--x 'open",
        "--x $UNKNOWN",
        "--x {a,b} > f",
        "--x # y",
        "$((LWS_WORKER_INDEX * 8))",
    ],
)
def test_what_only_a_shell_can_tell_stays_in_the_script(value: str) -> None:
    env = [{"name": "VLLM_ADDITIONAL_ARGS", "value": value}]
    container = engine(made(service({"model": MODEL, "template": main(env=env)})), "worker")

    assert container["command"][0] == "/bin/bash"
    assert container["env"][0] == env[0]


def test_a_reference_to_a_variable_becomes_one_of_the_kubelet_unless_it_is_quoted() -> None:
    env = [
        {"name": "SEED", "value": "3"},
        {"name": "VLLM_ADDITIONAL_ARGS", "value": "--seed ${SEED} '$SEED'"},
    ]
    container = engine(made(service({"model": MODEL, "template": main(env=env)})), "worker")

    assert container["args"][-3:] == ["--seed", "$(SEED)", "$SEED"]


def test_variables_of_lws_are_known_in_the_script_and_in_its_variables() -> None:
    flags = "--data-parallel-address $LWS_LEADER_ADDRESS --a $LWS_GROUP_SIZE ${VLLM_ADDITIONAL_ARGS:-} ${B:-}"
    command = ["sh", "-c", f'eval "exec vllm serve m {flags}"']
    env = [{"name": "VLLM_ADDITIONAL_ARGS", "value": "--b $LWS_WORKER_INDEX --c $(LWS_LEADER_ADDRESS)"}]
    own = service({"model": MODEL, "template": main(command=command, env=env)})

    assert engine(made(own), "worker")["args"] == [
        *("m", "--a", "$(LWS_GROUP_SIZE)", "--b", "$(LWS_WORKER_INDEX)", "--c", "$(LWS_LEADER_ADDRESS)")
    ]


@pytest.mark.parametrize(
    ("more", "command"), [("--seed 1", ["vllm", "serve"]), ("--seed $B", ["/bin/bash", "-c"])]
)
def test_only_variables_that_the_script_names_may_be_too_long(more: str, command: list[str]) -> None:
    values = {"A": "a" * 600_000, "B": "$(A)$(A)", "VLLM_ADDITIONAL_ARGS": more}
    env = [{"name": name, "value": value} for name, value in values.items()]
    container = engine(made(service({"model": MODEL, "template": main(env=env)})), "worker")

    assert container["command"][:2] == command


def test_a_command_of_the_author_stays() -> None:
    own = {"command": ["sh", "-c"], "args": ["vllm serve /mnt/models --port 8000"]}
    container = engine(made(service({"model": MODEL, "template": main(**own)})), "worker")

    assert {key: container[key] for key in own} == own


# --- roles --------------------------------------------------------------------------------------------


def test_sizes_without_workers_are_those_that_kserve_reads() -> None:
    assert role(made(WHOLE), "worker")["parallelism"] == {"tensor": 2}
    assert outcomes(WHOLE)["spec.parallelism.pipeline"] == ("dropped", "FI961")


def test_ranks_over_several_pods_are_launched_by_vllm_itself() -> None:
    obj = made(RANKS)
    worker = role(obj, "worker")

    assert worker["template"]["metadata"]["annotations"] == {"fusioninfer.io/launcher": "vllm-native"}
    assert "metadata" not in worker["worker"]
    sizes = {"tensor": 1, "data": 16, "dataLocal": 8, "expert": True, "dataRPCPort": 5555}
    assert worker["parallelism"] == sizes
    assert worker["multinode"] == {"nodeCount": 2}
    assert engine(obj, "worker")["args"][4:8] == ["--port", "8000", "--api-server-count", "4"]
    assert not [one for one in engine(obj, "worker")["args"] if one.startswith("--data")]


def test_prefill_and_decode_are_roles_and_the_sidecar_is_ours() -> None:
    obj = made(SPLIT)

    assert [(one["name"], one["componentType"], one.get("replicas")) for one in obj["spec"]["roles"]] == [
        ("prefill", "prefiller", 3),
        ("decode", "decoder", None),
        ("router", "router", None),
    ]
    assert engine(obj, "decode")["ports"] == [{"containerPort": 8000, "protocol": "TCP"}]
    assert "initContainers" not in role(obj, "decode")["template"]["spec"]
    assert role(obj, "decode")["template"]["metadata"]["annotations"] == {
        "k8s.v1.cni.cncf.io/networks": "roce"
    }


def test_a_command_of_the_author_gets_no_sizes_and_keeps_its_sidecar() -> None:
    own = main(command=["simulator"], args=["--port", "8001"])
    obj = made(service({"model": MODEL, "parallelism": {"tensor": 2}, "template": own, "prefill": {}}))
    decode = role(obj, "decode")

    assert "parallelism" not in decode
    assert decode["template"]["metadata"]["annotations"] == {"fusioninfer.io/skip": "sidecar"}
    assert [one["name"] for one in decode["template"]["spec"]["initContainers"]] == ["routing-proxy"]


def test_a_kept_sidecar_needs_no_right_to_read_the_pool() -> None:
    flags = ["--pool-group=inference.networking.x-k8s.io", "--enable-ssrf-protection=true", "--port=8000"]
    sidecar = {"name": "llm-d-routing-sidecar", "image": "sidecar:1", "command": ["/app/pd-sidecar", *flags]}
    own = {**main(command=["simulator"]), "initContainers": [sidecar]}
    result = run(service({"model": MODEL, "template": own, "prefill": {}}))
    decode = role(result.objects[0], "decode")

    (guard,) = (one for one in result.lines if one.path.endswith("initContainers[0].command[2]"))
    assert "pods of other services can be named as prefillers" in guard.outcome.reason
    (kept,) = decode["template"]["spec"]["initContainers"]
    assert kept["command"][1:] == [flags[0], "--enable-ssrf-protection=false", flags[2]]


def test_a_base_is_below_the_service_and_above_the_preset() -> None:
    obj = made(BASED)

    assert role(obj, "worker")["replicas"] == 4
    assert engine(obj, "worker")["image"] == "own:1"
    assert engine(obj, "worker")["args"][-2:] == ["--seed", "2"]


def test_a_route_leads_to_our_pool_and_our_service() -> None:
    route = role(made(RANKS), "router")["httproute"]

    assert route["parentRefs"] == [{"name": "kserve-ingress-gateway", "namespace": "kserve"}]
    assert [one.get("backendRefs") for one in route["rules"]] == [None, [{"name": "qwen-api", "port": 80}]]
    assert route["rules"][0]["matches"][0]["path"]["value"] == "/llm/qwen/v1"


def test_a_route_without_endpoint_picker_is_a_manifest_to_the_service() -> None:
    obj = service({"model": MODEL, "router": {"route": {}}, "template": main()})
    _, route = run(obj).objects

    assert (route["kind"], route["metadata"]) == ("HTTPRoute", {"name": "qwen-route", "namespace": "llm"})
    assert {one["backendRefs"][0]["name"] for one in route["spec"]["rules"]} == {"qwen-api"}


# --- the report ---------------------------------------------------------------------------------------


def test_no_field_of_the_api_is_unknown() -> None:
    lines = [one for obj in ALL for one in run(obj).lines]

    assert [one.path for one in lines if one.outcome.code == "FI964"] == []
    assert {one.outcome.kind for one in lines} == {"kept", "translated", "default", "dropped"}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("metadata.uid", ("dropped", "FI963")),
        ("spec.model.criticality", ("dropped", "FI961")),
        ("spec.model.lora.adapters[0].criticality", ("dropped", "FI961")),
        ("spec.model.lora.maxRank", ("translated", "")),
        ("spec.parallelism.dataLocal", ("dropped", "FI961")),
        ("spec.router.ingress.refs[0].name", ("dropped", "FI961")),
        ("spec.router.route.group", ("dropped", "FI960")),
        ("spec.router.gateway.refs[0].sectionName", ("translated", "")),
        ("spec.router.scheduler.template.containers[0].args[0]", ("dropped", "FI960")),
        ("spec.router.scheduler.replicas", ("dropped", "FI960")),
        ("spec.router.scheduler.labels.tier", ("dropped", "FI960")),
        ("spec.template.initContainers[0].env[0].name", ("dropped", "FI960")),
        ("spec.scaling.maxReplicas", ("dropped", "FI960")),
        ("spec.labels.team", ("translated", "")),
        ("metadata.name", ("kept", "")),
    ],
)
def test_a_field_has_a_decided_outcome(path: str, expected: tuple[str, str]) -> None:
    assert outcomes(WHOLE)[path] == expected


def test_a_value_of_a_base_that_another_one_replaces_is_not_lost() -> None:
    lines = [one for one in run(BASED).lines if one.outcome.code == "FI962"]

    assert "spec.template.containers[0].image" in {one.path for one in lines}
    assert not [one for one in lines if one.outcome.is_lost]


@pytest.mark.parametrize(
    ("obj", "path", "code", "message"),
    [
        (service({"baseRefs": [{"name": "no"}]}), "spec.baseRefs", "FI965", "LLMInferenceServiceConfig no:"),
        (
            service({"baseRefs": [{"name": "own-pipeline-parallel"}]}),
            "spec.baseRefs",
            "FI965",
            "own-pipeline-parallel: add the file",
        ),
        (service({"baseRefs": [{}], "template": main()}), "spec.baseRefs", "FI965", "without a name"),
        (service({"template": main(image="{{ .Spec.No }}")}), "", "FI966", "no field No"),
        ({"apiVersion": GROUP, "kind": "LLMInferenceService"}, "", "FI967", "metadata.name is missing"),
    ],
)
def test_a_service_that_is_not_imported_is_a_problem(obj: Object, path: str, code: str, message: str) -> None:
    found = run(obj)
    errors = list(found.problems.values())

    assert [(one.code, message in one.message) for one in errors] == [(code, True)]
    assert errors[0].path.startswith(path)
    assert {line.outcome.code for line in found.lines if line.document == 0} == {code}
    assert found.objects == ()


@pytest.mark.parametrize(
    ("field", "spec", "remedy"),
    [
        ("spec.workload.replicas", {"workload": {"replicas": 8}}, ": write replicas one level up, in spec"),
        ("spec.prefill.parallel", {"prefill": {"parallel": 8}, "router": ROUTER}, ""),
        (
            "spec.template.spec.containers",
            {"template": {"spec": {"containers": 8}}},
            ": write containers one level up, in spec.template",
        ),
    ],
)
def test_a_field_that_kserve_does_not_have_is_lost(field: str, spec: Object, remedy: str) -> None:
    (lost,) = run(service({"model": MODEL, "template": main(), **spec})).lost
    place, name = field.removesuffix(".replicas").removesuffix(".containers").rsplit(".", 1)

    assert (lost.path, lost.outcome.code) == (field, "FI964")
    assert lost.outcome.reason == f"KServe has no field {name} in {place}, and drops it{remedy}"


@pytest.mark.parametrize(
    ("field", "value", "remedy"),
    [
        ("kvCacheOffloading", {"cpu": "1Gi"}, "--kv-transfer-config"),
        ("scaling", {"maxReplicas": 3, "wva": {"hpa": {}}}, "`scaling` of the role"),
        ("tracing", {}, "OTEL_"),
    ],
)
def test_what_has_to_be_written_by_hand_is_lost(field: str, value: Object, remedy: str) -> None:
    lost = run(service({"model": MODEL, "template": main(), field: value})).lost

    own = [(line.path.split(".")[1], remedy in line.outcome.reason) for line in lost if line.document == 0]
    assert set(own) == {(field, True)}


def test_an_empty_base_loses_nothing() -> None:
    found = import_all(
        [service({"baseRefs": [{"name": "own"}], **ONE["spec"]}), config("own", {}, "llm"), *PRESETS]
    )

    assert not found.lost


def test_pipeline_without_workers_is_told_and_with_workers_asks_for_a_preset_that_kserve_lacks() -> None:
    spec = {"model": MODEL, "parallelism": {"tensor": 8, "pipeline": 2}, "template": main()}
    (line,) = [one for one in run(service(spec)).lines if one.path == "spec.parallelism.pipeline"]
    (problem,) = run(service({**spec, "worker": main()})).problems.values()

    assert (line.outcome.code, line.outcome.note) == ("FI961", True)
    assert "no release of KServe has one" in problem.message
    assert "kubectl" not in problem.message


def test_the_rollout_of_a_role_is_that_of_its_leaderworkerset() -> None:
    rollout = {"maxUnavailable": 0, "maxSurge": "25%"}
    found = role(made(service({"model": MODEL, "template": main(), "rolloutStrategy": rollout})), "worker")

    assert found["rolloutStrategy"] == {"rollingUpdateConfiguration": rollout}


def test_everything_that_is_missing_is_named_at_once() -> None:
    refs = {"baseRefs": [{"name": "one"}, {"name": "two"}], "router": {"scheduler": {}, "route": {}}}
    (problem,) = import_all([service(refs)]).problems.values()

    presets = (f"kserve-config-llm-{name}" for name in ("scheduler", "router-route", "template"))
    assert [name for name in ("one", "two", *presets) if name not in problem.message] == []
    assert "-n kserve" in problem.message


@pytest.mark.parametrize("obj", ALL, ids=["one", "ranks", "split", "based", "whole"])
def test_the_output_has_no_errors(obj: Object) -> None:
    assert errors(run(obj).objects) == []


# --- laws ---------------------------------------------------------------------------------------------


@given(objects=damaged({str(number): [obj, FAST, *PRESETS] for number, obj in enumerate(ALL)}))
def test_each_leaf_of_a_damaged_service_is_reported_once(objects: list[Object]) -> None:
    check(objects)


OF_OTHER_TYPES: Final[tuple[Any, ...]] = (3, "x", [], {}, ["x"], {"a": [1]})
FULL: Final = service(
    {
        **SPLIT["spec"],
        "tracing": {"exporterEndpoint": "http://a"},
        "template": main(args=["--seed"], env=ARGS),
    }
)


@pytest.mark.parametrize("obj", [RANKS, WHOLE, FULL], ids=["ranks", "whole", "full"])
def test_a_field_of_another_type_anywhere_fails_no_import(obj: Object) -> None:
    for path, value in some([*product([path for path, _ in all_places(obj)], OF_OTHER_TYPES)], "OTHER_TYPES"):
        changed = put(obj, path, value)
        report = run(changed)

        assert sum(line.document == 0 for line in report.lines) == sum(1 for _ in leaves(changed))
