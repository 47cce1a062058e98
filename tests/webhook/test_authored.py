"""Fields of the author that FusionInfer has no block for: they stay, on the leader and on the workers."""

from typing import Any, Final

import pytest

from intent import Object
from tests.builders.lws import changed, container, lws, put, template

TOPOLOGY: Final = "leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology"
OFFLOADING: Final = '{"kv_connector": "OffloadingConnector", "kv_role": "kv_both"}'
TRACED: Final = ["--otlp-traces-endpoint", "http://otel:4317", "--collect-detailed-traces", "all"]
ENGINE: Final = "spec.containers.0"
FIELDS: Final[dict[str, dict[str, Any]]] = {
    "service account": {"spec.serviceAccountName": "mine", "spec.imagePullSecrets": [{"name": "registry"}]},
    "networks": {"metadata.annotations": {"k8s.v1.cni.cncf.io/networks": "roce"}},
    "capabilities": {f"{ENGINE}.securityContext": {"capabilities": {"add": ["IPC_LOCK", "SYS_RAWIO"]}}},
    "tracing": {
        f"{ENGINE}.args": ["org/M", "-tp", "16", *TRACED],
        f"{ENGINE}.env": [{"name": "OTEL_SERVICE_NAME", "value": "engine"}],
    },
    "offloading": {f"{ENGINE}.args": ["org/M", "-tp", "16", "--kv-transfer-config", OFFLOADING]},
    "second tier": {
        f"{ENGINE}.volumeMounts": [{"name": "tier", "mountPath": "/mnt/kv-cache"}],
        "spec.volumes": [{"name": "tier", "emptyDir": {"sizeLimit": "50Gi"}}],
    },
}


def templates(live: Object) -> tuple[Object, Object]:
    """Return the templates of leader and workers of a launch that splits them."""
    group = live["spec"]["leaderWorkerTemplate"]
    return group["leaderTemplate"], group["workerTemplate"]


def value(whole: Any, path: str) -> Any:
    """Return the field of a template."""
    for key in path.split("."):
        whole = whole[int(key)] if isinstance(whole, list) else whole[key]
    return whole


def contains(found: Any, wanted: Any) -> bool:
    """Return whether a list has the author's items in their order, or a map the author's entries."""
    if isinstance(wanted, dict):
        return all(found.get(key) == each for key, each in wanted.items())
    if isinstance(wanted, list):
        rest = iter(found)
        return all(item in rest for item in wanted)
    return bool(found == wanted)


@pytest.mark.parametrize("name", FIELDS)
def test_a_field_of_the_template_stays_on_leader_and_workers(name: str) -> None:
    one = template(container(image="vllm/vllm-openai:v0.20.2"))
    for path, wanted in FIELDS[name].items():
        one = changed(one, path, wanted)

    expanded = put(lws(worker=one, launcher="vllm-native"))

    for each in templates(expanded):
        lost = [path for path, wanted in FIELDS[name].items() if not contains(value(each, path), wanted)]
        assert lost == []


def test_no_service_account_is_added() -> None:
    live = lws(component_type="decoder", strategy="pd-disaggregation", launcher="vllm-native")

    for each in templates(put(live)):
        assert each["spec"].keys().isdisjoint({"serviceAccountName", "imagePullSecrets"})


def test_metadata_of_the_leaderworkerset_stays() -> None:
    live = changed(lws(), f"metadata.annotations.{TOPOLOGY.replace('.', '~')}", "rack")

    metadata = put(live)["metadata"]

    assert metadata["annotations"].items() >= live["metadata"]["annotations"].items()
