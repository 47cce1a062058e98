"""Bases that are built as KServe's presets are, but shorter: a script that evaluates a command."""

from typing import Any, Final

from intent import Object

GROUP: Final = "serving.kserve.io/v1alpha2"
GATE: Final = """
if [ "$(printf '%s\\n' "{since}" "${{VLLM_VERSION}}" | sort -V | head -1)" = "{since}" ]; then
  {name}="{value}"
fi"""
SCRIPT: Final = (
    'ACCESS_LOG_ARGS="--disable-uvicorn-access-log"'
    + GATE.format(since="0.16.0", name="ACCESS_LOG_ARGS", value="--disable-access-log-for-endpoints /health")
    + '\nSHUTDOWN_TIMEOUT_ARGS=""'
    + GATE.format(
        since="0.18.0",
        name="SHUTDOWN_TIMEOUT_ARGS",
        value="--shutdown-timeout {{ shutdownTimeout .Spec.Template 15 }}",
    )
    + '\nKV_TRANSFER_ARGS=""'
    + GATE.format(
        since="0.22.0", name="KV_TRANSFER_ARGS", value="{{ kvTransferConfig .Spec.KVCacheOffloading }}"
    )
    + """
eval "exec vllm serve /mnt/models \\
  --served-model-name "{{ .Spec.Model.Name }}" \\
  "publishers/{{ .ObjectMeta.Namespace }}/{{ .Spec.Model.Name }}" \\
  --port PORT \\
  DATA ${ACCESS_LOG_ARGS} ${SHUTDOWN_TIMEOUT_ARGS} ${KV_TRANSFER_ARGS} \\
  {{- if and .Spec.Parallelism .Spec.Parallelism.Tensor }} \\
  --tensor-parallel-size {{ .Spec.Parallelism.Tensor }}{{ end }} \\
  {{ if .GlobalConfig.EnableTLS }}--ssl-keyfile /certificates/tls.key{{- end }} \\
  ${VLLM_ADDITIONAL_ARGS} \\
  $@"
"""
)
RANKS: Final = (
    "--api-server-count ${VLLM_API_SERVER_COUNT:-8} --data-parallel-size {{ or .Spec.Parallelism.Data 1 }} "
    "--data-parallel-address ${DP_ADDRESS} --data-parallel-start-rank $START_RANK"
)


def config(name: str, spec: Object, namespace: str = "kserve") -> Object:
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": GROUP, "kind": "LLMInferenceServiceConfig", "metadata": metadata, "spec": spec}


def service(spec: Object, **metadata: Any) -> Object:
    named = {"name": "qwen", "namespace": "llm", **metadata}
    return {"apiVersion": GROUP, "kind": "LLMInferenceService", "metadata": named, "spec": spec}


def pod(port: int = 8000, ranks: str = "", **more: Any) -> Object:
    script = SCRIPT.replace("PORT", str(port)).replace("DATA", ranks)
    check = {
        "path": "/health",
        "port": port,
        "scheme": "{{ if .GlobalConfig.EnableTLS }}HTTPS{{else}}HTTP{{- end }}",
    }
    main = {
        "name": "main",
        "image": "vllm/vllm-openai:v0.21.0",
        "command": ["/bin/bash", "-c", script, "--"],
        "ports": [{"containerPort": port, "protocol": "TCP"}],
        "env": [{"name": "HOME", "value": "/home"}],
        "readinessProbe": {"httpGet": check, "periodSeconds": 1},
        "volumeMounts": [
            {"name": "home", "mountPath": "/home"},
            {"name": "tls-certs", "mountPath": "/certificates"},
        ],
    }
    certificates = "{{ ChildName .ObjectMeta.Name `-kserve-self-signed-certs` }}"
    volumes = [
        {"name": "home", "emptyDir": {}},
        {"name": "tls-certs", "secret": {"secretName": certificates}},
    ]
    return {"containers": [main], "volumes": volumes, "terminationGracePeriodSeconds": 60, **more}


SIDECAR: Final = {"name": "llm-d-routing-sidecar", "image": "sidecar:1", "restartPolicy": "Always"}
POOL: Final = {
    "group": "inference.networking.k8s.io",
    "kind": "InferencePool",
    "name": "{{ ChildName .ObjectMeta.Name `-inference-pool` }}",
    "port": 8000,
}
WORKLOAD: Final = {
    "kind": "Service",
    "name": "{{ ChildName .ObjectMeta.Name `-kserve-workload-svc` }}",
    "port": 8000,
}
ROUTE: Final = {
    "parentRefs": [{"name": "{{ .GlobalConfig.IngressGatewayName }}", "namespace": "kserve"}],
    "rules": [
        {
            "matches": [
                {"path": {"type": "PathPrefix", "value": "/{{ .ObjectMeta.Namespace }}/{{ .Name }}/v1"}}
            ],
            "backendRefs": [POOL],
        },
        {"matches": [{"path": {"type": "PathPrefix", "value": "/all"}}], "backendRefs": [WORKLOAD]},
    ],
}
BOTH: Final = {"template": pod(ranks=RANKS), "worker": pod(ranks=RANKS)}
PRESETS: Final = [
    config(f"kserve-config-llm-{name}", spec)
    for name, spec in {
        "template": {
            "template": pod(),
            "annotations": {"serving.kserve.io/model-based-routing-enabled": "true"},
        },
        "worker-data-parallel": BOTH,
        "decode-template": {"template": pod(8001, initContainers=[SIDECAR])},
        "prefill-template": {"prefill": {"template": pod()}},
        "decode-worker-data-parallel": BOTH,
        "prefill-worker-data-parallel": {"prefill": BOTH},
        "scheduler": {
            "router": {
                "scheduler": {
                    "template": {"containers": [{"name": "main", "image": "epp:1", "args": ["--v", "1"]}]},
                    "pool": {"spec": {"targetPorts": [{"number": 8000}]}},
                }
            }
        },
        "scheduler-latency-predictor": {
            "router": {"scheduler": {"template": {"containers": [{"name": "latency"}]}}}
        },
        "router-route": {"router": {"route": {"http": {"spec": ROUTE}}}},
        "tracing": {"tracing": {"exporterEndpoint": "http://otel:4317", "sampler": "always_on"}},
    }.items()
]
