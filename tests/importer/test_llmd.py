"""ModelServices of llm-d with their BaseConfigs: variables, the merge, and what becomes of each part."""

from copy import deepcopy
from typing import Any, Final

import pytest

from importer.account import default
from importer.leaves import plain, tagged
from importer.llmd import sanitized
from importer.merge import LLM_D, merged
from importer.report import ImportResult
from importer.table import import_all
from intent import Object, yaml
from tests.builders.imported import errors

IMAGE: Final = "vllm/vllm-openai:v0.17.1"
DEPLOYMENT: Final = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: ignored}
spec:
  selector: {matchLabels: {a: b}}
  template:
    spec:
      containers:
      - name: vllm
        image: vllm/vllm-openai:v0.17.1
        command: [vllm, serve]
        args:
        - "{{ .HFModelName }}"
        - --port
        - '{{ "engine" | getPort }}'
        - --served-model-name
        - "{{ .ModelName }}"
        ports: [{containerPort: 8000}]
        resources: {requests: {cpu: "8", memory: 64Gi}, limits: {nvidia.com/gpu: "1"}}
"""
SERVICE: Final = """
apiVersion: v1
kind: Service
metadata: {name: "{{ .DecodeServiceName }}"}
spec: {ports: [{port: 8000}]}
"""
ROUTE: Final = """
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: x}
spec:
  parentRefs: [{name: web}, {name: other, sectionName: http}]
  rules:
  - backendRefs: [{group: inference.networking.k8s.io, kind: InferencePool, name: "{{ .InferencePoolName }}"}]
    matches: [{path: {type: PathPrefix, value: /v1}}]
"""


def base(**data: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "base", "namespace": "llm"},
        "data": data,
    }


def service(**spec: Any) -> Object:
    routing = {"modelName": "Meta/Llama-3.1", "ports": [{"name": "engine", "port": 8000}]}
    return {
        "apiVersion": "llm-d.ai/v1alpha1",
        "kind": "ModelService",
        "metadata": {"name": "llama", "namespace": "llm"},
        "spec": {
            "baseConfigMapRef": {"name": "base"},
            "routing": routing,
            "modelArtifacts": {"uri": "hf://meta/llama"},
            "decode": {"replicas": 2},
            **spec,
        },
    }


def container(**fields: Any) -> Object:
    return {"containers": [{"name": "vllm", **fields}]}


def made(*objects: Object) -> ImportResult:
    return import_all(objects)


def role(result: ImportResult, name: str = "decode") -> Object:
    found: Object = next(one for one in result.objects[0]["spec"]["roles"] if one["name"] == name)
    return found


def engine(result: ImportResult) -> Object:
    found: Object = role(result)["template"]["spec"]["containers"][0]
    return found


def problem(result: ImportResult) -> str:
    (found,) = result.problems.values()
    return str(found)


# --- variables ----------------------------------------------------------------------------------------

VARIABLES: Final = {
    "ModelServiceName": "llama",
    "ModelServiceNamespace": "llm",
    "ModelName": "Meta/Llama-3.1",
    "SanitizedModelName": "meta-llama-3-1",
    "HFModelName": "meta/llama",
    "ModelPath": "meta/llama",
    "MountedModelPath": "/model-cache",
    "AuthSecretName": "token",
    "EPPServiceName": "llama-epp-service",
    "EPPDeploymentName": "llama-epp",
    "PrefillDeploymentName": "llama-prefill",
    "DecodeDeploymentName": "llama-decode",
    "PrefillServiceName": "llama-service-prefill",
    "DecodeServiceName": "llama-service-decode",
    "InferencePoolName": "llama-inference-pool",
    "InferenceModelName": "llama",
}
OF_CLAIM: Final = {"HFModelName": "", "ModelPath": "a/b", "MountedModelPath": "/model-cache/a/b"}


@pytest.mark.parametrize(
    ("uri", "expected"), [("hf://meta/llama", VARIABLES), ("pvc://claim/a/b", VARIABLES | OF_CLAIM)]
)
def test_each_variable_has_its_value(uri: str, expected: dict[str, str]) -> None:
    args = [f"{name}={{{{ .{name} }}}}" for name in VARIABLES]
    artifacts = {"uri": uri, "authSecretName": "token"}

    given = service(modelArtifacts=artifacts, decode=container(args=args))
    found = engine(made(base(decodeDeployment=DEPLOYMENT), given))

    assert found["args"][: len(args)] == [f"{name}={value}" for name, value in expected.items()]


def test_templates_of_a_base_are_rendered_with_ports_and_a_default() -> None:
    text = DEPLOYMENT.replace("--port", "{{ .AuthSecretName | default .ModelName }}")

    assert engine(made(base(decodeDeployment=text), service()))["args"] == [
        *("meta/llama", "Meta/Llama-3.1", "8000", "--served-model-name", "Meta/Llama-3.1")
    ]


def test_an_argument_that_is_no_text_stays() -> None:
    asked = service(decode=container(args=["--port", 8000]))

    assert engine(made(base(decodeDeployment=DEPLOYMENT), asked))["args"][:2] == ["--port", 8000]


@pytest.mark.parametrize(
    ("objects", "message"),
    [
        (
            [base(decodeDeployment=DEPLOYMENT.replace("engine", "api")), service()],
            'data.decodeDeployment: {{ "api" | getPort }}: spec.routing.ports has no such',
        ),
        (
            [service()],
            "spec.baseConfigMapRef: needs the ConfigMap llm/base, which is not in the files (FI965)",
        ),
        ([base(decodeDeployment="a: [", x="y"), service()], "data.decodeDeployment: is not YAML: "),
        (
            [base(), service(modelArtifacts={"uri": "s3://bucket/x"})],
            "spec.modelArtifacts.uri: must be hf://ORGANIZATION/MODEL or pvc://CLAIM/PATH: llm-d refuses",
        ),
        (
            [base(), service(decode=container(args=["{{ .Nope }}"]))],
            "spec.decode.containers[0].args[0]: {{ .Nope }}: there is no field Nope (FI966)",
        ),
        ([base(), service(decode=None)], "spec: needs prefill or decode, here or in its BaseConfig"),
    ],
)
def test_what_llm_d_would_refuse_is_a_problem(objects: list[Object], message: str) -> None:
    result = made(*objects)

    assert problem(result).startswith(message)
    assert not [one for one in result.objects if one["kind"] == "InferenceService"]


def test_templates_in_variables_of_containers_stay_as_llm_d_leaves_them() -> None:
    env = [{"name": "A", "value": "{{ .ModelName }}"}]

    assert engine(made(base(), service(decode=container(image=IMAGE, env=env))))["env"] == env


# --- the merge ----------------------------------------------------------------------------------------

SECRET: Final = {"secretKeyRef": {"name": "s", "key": "k"}}
MERGES: Final[dict[str, tuple[Object, Object, Object]]] = {
    "M11: an image": ({"image": "a"}, {"image": "b"}, {"image": "b"}),
    "M11: an empty image": ({"image": "a"}, {"image": ""}, {"image": "a"}),
    "M12: arguments": ({"args": ["x"]}, {"args": ["y"]}, {"args": ["y", "x"]}),
    "a command": ({"command": ["x"]}, {"command": ["y", "z"]}, {"command": ["y", "z"]}),
    "M13: another container": (
        {"containers": [{"name": "a"}]},
        {"containers": [{"name": "side"}, {"name": "a", "image": "i"}]},
        {"containers": [{"name": "a", "image": "i"}, {"name": "side"}]},
    ),
    "M14: variables": (
        {"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]},
        {"env": [{"name": "B", "value": "3"}, {"name": "C", "value": "4"}]},
        {"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "3"}, {"name": "C", "value": "4"}]},
    ),
    "M15: resources": (
        {"resources": {"limits": {"nvidia.com/gpu": "1", "cpu": "16"}}},
        {"resources": {"limits": {"nvidia.com/gpu": "2", "memory": "32Gi"}}},
        {"resources": {"limits": {"nvidia.com/gpu": "2", "cpu": "16", "memory": "32Gi"}}},
    ),
    "M16: a value in place of a source": (
        {"env": [{"name": "A", "valueFrom": SECRET}]},
        {"env": [{"name": "A", "value": "1"}]},
        {"env": [{"name": "A", "value": "1"}]},
    ),
    "M16: a source in place of a value": (
        {"env": [{"name": "A", "value": "1"}]},
        {"env": [{"name": "A", "valueFrom": SECRET}]},
        {"env": [{"name": "A", "valueFrom": SECRET}]},
    ),
    "M15: none of a resource": (
        {"resources": {"limits": {"nvidia.com/gpu": "1", "cpu": "16"}}},
        {"resources": {"limits": {"nvidia.com/gpu": 0}}},
        {"resources": {"limits": {"nvidia.com/gpu": 0, "cpu": "16"}}},
    ),
    "M16: an empty value changes nothing": (
        {"env": [{"name": "A", "valueFrom": SECRET}]},
        {"env": [{"name": "A", "value": ""}]},
        {"env": [{"name": "A", "valueFrom": SECRET, "value": ""}]},
    ),
    "M18: a volume of the same name": (
        {"volumes": [{"name": "model-storage", "emptyDir": {}}, {"name": "x"}]},
        {"volumes": [{"name": "model-storage", "persistentVolumeClaim": {"claimName": "c"}}]},
        {"volumes": [{"name": "model-storage", "persistentVolumeClaim": {"claimName": "c"}}, {"name": "x"}]},
    ),
    "a mount of the same path": (
        {"volumeMounts": [{"name": "a", "mountPath": "/m"}]},
        {"volumeMounts": [{"name": "b", "mountPath": "/m"}]},
        {"volumeMounts": [{"name": "b", "mountPath": "/m"}]},
    ),
    "ports of one number": (
        {"ports": [{"containerPort": 1, "protocol": "TCP"}, {"containerPort": 1, "protocol": "UDP"}]},
        {"ports": [{"containerPort": 2, "protocol": "TCP"}, {"containerPort": 2, "protocol": "UDP"}]},
        {
            "ports": [
                *({"containerPort": 1, "protocol": protocol} for protocol in ("TCP", "UDP")),
                *({"containerPort": 2, "protocol": protocol} for protocol in ("TCP", "UDP")),
            ]
        },
    ),
    "another protocol": (
        {"ports": [{"containerPort": 1}]},
        {"ports": [{"containerPort": 1, "protocol": "UDP"}]},
        {"ports": [{"containerPort": 1}, {"containerPort": 1, "protocol": "UDP"}]},
    ),
    "a port of the same number and protocol": (
        {"ports": [{"containerPort": 1}]},
        {"ports": [{"containerPort": 1, "protocol": "TCP", "name": "http"}]},
        {"ports": [{"containerPort": 1, "protocol": "TCP", "name": "http"}]},
    ),
    "constraints of one topology": (
        {"topologySpreadConstraints": [{"topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}]},
        {"topologySpreadConstraints": [{"topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}]},
        {
            "topologySpreadConstraints": [
                {"topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"},
                {"topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"},
            ]
        },
    ),
    "envFrom": (
        {"envFrom": [{"prefix": "a"}]},
        {"envFrom": [{"prefix": "b"}]},
        {"envFrom": [{"prefix": "a"}, {"prefix": "b"}]},
    ),
    "a pointer to false": (
        {"securityContext": {"runAsNonRoot": True}},
        {"securityContext": {"runAsNonRoot": False}},
        {"securityContext": {"runAsNonRoot": True}},
    ),
    "false": ({"tty": True}, {"tty": False}, {"tty": True}),
    "null": ({"resources": {"limits": {}}}, {"resources": None}, {"resources": {"limits": {}}}),
}


@pytest.mark.parametrize(("below", "above", "expected"), MERGES.values(), ids=MERGES)
def test_a_service_is_merged_over_its_base(below: Object, above: Object, expected: Object) -> None:
    assert plain(merged(LLM_D, tagged(0, below), tagged(1, above))) == expected


def test_sections_of_one_gateway_stay_each() -> None:
    sections = [{"name": "web", "sectionName": "http"}, {"name": "web", "sectionName": "https"}]
    others = [{"name": "other", "sectionName": "http"}, {"name": "other", "sectionName": "https"}]
    below = {"parentRefs": sections}
    above = {"parentRefs": [{"name": "web", "namespace": "infra"}, *others]}

    assert plain(merged(LLM_D, tagged(0, below), tagged(1, above))) == {
        "parentRefs": [*({**section, "namespace": "infra"} for section in sections), *others]
    }


# --- the output ---------------------------------------------------------------------------------------


def test_the_volume_of_a_model_is_mounted_where_it_is_asked_for() -> None:
    artifacts = {"uri": "hf://meta/llama", "authSecretName": "token", "size": "5Gi"}
    own = [{"name": "X", "value": "1"}]
    given = service(modelArtifacts=artifacts, decode=container(mountModelVolume=True, env=own))

    pod = role(made(base(decodeDeployment=DEPLOYMENT), given))["template"]["spec"]

    assert pod["volumes"] == [{"name": "model-storage", "emptyDir": {"sizeLimit": "5Gi"}}]
    assert pod["containers"][0]["volumeMounts"] == [{"name": "model-storage", "mountPath": "/model-cache"}]
    assert pod["containers"][0]["env"] == [
        {"name": "HF_HOME", "value": "/model-cache"},
        {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "token", "key": "HF_TOKEN"}}},
        *own,
    ]


def test_a_claim_is_mounted_for_reading_only() -> None:
    given = service(modelArtifacts={"uri": "pvc://claim/a"}, decode=container(mountModelVolume=True))

    pod = role(made(base(decodeDeployment=DEPLOYMENT), given))["template"]["spec"]

    assert pod["volumes"][0]["persistentVolumeClaim"] == {"claimName": "claim", "readOnly": True}
    assert pod["containers"][0]["volumeMounts"][0]["readOnly"] is True
    assert "env" not in pod["containers"][0]


def test_no_volume_is_added_that_nobody_mounts() -> None:
    assert "volumes" not in role(made(base(decodeDeployment=DEPLOYMENT), service()))["template"]["spec"]


def test_prefill_and_decode_become_roles_behind_a_router() -> None:
    types = {"labelKey": "gpu", "labelValues": ["a", "b"]}
    texts = {"decodeDeployment": DEPLOYMENT, "prefillDeployment": DEPLOYMENT, "httpRoute": ROUTE}
    given = service(prefill={"replicas": 1, "acceleratorTypes": types}, decode={"replicas": 0})
    given["spec"]["routing"]["gatewayRefs"] = [{"name": "web", "namespace": "infra"}]

    result = made(base(**texts), given)
    spec = result.objects[0]["spec"]

    assert [(one["name"], one["componentType"], one.get("replicas")) for one in spec["roles"]] == [
        ("prefill", "prefiller", 1),
        ("decode", "decoder", 0),
        ("router", "router", None),
    ]
    assert spec["roles"][0]["acceleratorTypes"] == types
    assert spec["roles"][2]["httproute"] == {
        "parentRefs": [{"name": "web", "namespace": "infra"}, {"name": "other", "sectionName": "http"}],
        "rules": [{"matches": [{"path": {"type": "PathPrefix", "value": "/v1"}}]}],
    }
    assert not result.lost


def test_config_maps_of_a_base_are_in_the_namespace_of_the_service() -> None:
    text = yaml.dump([{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}} for name in "ab"])

    found = made(base(configMaps=text), service()).objects[1:]

    assert [(one["kind"], one["metadata"]["namespace"], one["metadata"]["name"]) for one in found] == [
        ("ConfigMap", "llm", "a"),
        ("ConfigMap", "llm", "b"),
    ]


def test_an_autoscaler_counts_replicas_of_a_decoupled_service() -> None:
    result = made(base(decodeDeployment=DEPLOYMENT), service(decoupleScaling=True))

    assert "replicas" not in role(result)
    assert [one.path for one in result.lost] == ["spec.decode.replicas"]


def test_two_services_share_a_base() -> None:
    other = deepcopy(service()) | {"metadata": {"name": "other", "namespace": "llm"}}
    result = made(base(decodeDeployment=DEPLOYMENT), service(), other)

    assert [one["metadata"]["name"] for one in result.objects] == ["llama", "other"]
    assert not result.lost


def test_what_is_lost_of_an_object_in_a_text_is_named() -> None:
    text = DEPLOYMENT.replace("  selector:", "  strategy: {type: Recreate}\n  selector:")

    deployment, service_of_base = made(
        base(decodeDeployment=text, nope="x", decodeService=SERVICE, eppService=SERVICE), service()
    ).lost

    assert (deployment.path, service_of_base.path) == ("data.decodeDeployment", "data.decodeService")
    assert deployment.outcome.reason.startswith(
        "of its object, spec.strategy.type are lost: a LeaderWorkerSet"
    )


@pytest.mark.parametrize("key", ["inferencePool", "inferenceModel", "eppService"])
def test_an_object_that_the_controller_makes_is_told(key: str) -> None:
    own = {"apiVersion": "v1", "kind": "Any", "metadata": {"name": "x"}, "spec": {"a": "b"}}

    result = made(base(decodeDeployment=DEPLOYMENT, **{key: yaml.dump(own)}), service())

    (line,) = (one for one in result.lines if one.path == f"data.{key}")
    assert line.outcome == default("the output has it, or the controller makes it by itself")


def test_config_maps_of_others_stay() -> None:
    other = base(decodeDeployment=DEPLOYMENT) | {"metadata": {"name": "other", "namespace": "llm"}}

    of_other_group = service(baseConfigMapRef={"name": "other"}) | {"apiVersion": "models.example/v1"}

    assert other in made(other, base(), service(decode=container(image=IMAGE)), of_other_group).objects


def test_the_value_of_a_label_never_ends_in_a_dash() -> None:
    assert sanitized("A" * 62 + "/b") == "a" * 62


def test_a_routing_sidecar_of_a_base_stays_the_only_one() -> None:
    sidecar = """
      initContainers:
      - {name: routing-proxy, image: sidecar:1, restartPolicy: Always, args: [--port=8000, --vllm-port=8001]}
      containers:"""
    behind = DEPLOYMENT.replace("\n      containers:", sidecar).replace('{{ "engine" | getPort }}', "8001")
    texts = {"decodeDeployment": behind, "prefillDeployment": DEPLOYMENT, "httpRoute": ROUTE}

    result = made(base(**texts), service())

    assert role(result)["template"]["metadata"] == {"annotations": {"fusioninfer.io/skip": "sidecar"}}
    assert "metadata" not in role(result, "prefill")["template"]
    assert errors(result.objects) == []


@pytest.mark.parametrize("split", [False, True])
def test_a_service_is_valid_and_renders(*, split: bool) -> None:
    texts = {"decodeDeployment": DEPLOYMENT, "decodeService": SERVICE, "httpRoute": ROUTE}
    more = {"prefill": {"replicas": 1}} if split else {}
    transfer = '{"kv_connector":"NixlConnector","kv_role":"kv_both"}'
    flag = f"        - --kv-transfer-config\n        - '{transfer}'\n        - --port\n"
    text = DEPLOYMENT.replace("        - --port\n", flag)
    both = {**texts, "decodeDeployment": text, "prefillDeployment": text} if split else texts

    assert errors(made(base(**both), service(**more)).objects) == []
