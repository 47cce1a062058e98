"""The port of leaders, whatever precedes the engine, and the settings of a KV transfer."""

from typing import Any, Final

import pytest

from intent import Object
from intent.read import read
from intent.served import KVTransfer, Served, recorded
from intent.settings import Settings
from tests.builders.lws import container, lws, put, template
from webhook.layout import served
from webhook.mutate import input_of

GPU = {"limits": {"nvidia.com/gpu": "8"}}
NEW = "vllm/vllm-openai:v0.20.2"
CONFIG = ["--kv-transfer-config", '{"kv_connector":"NixlConnector","kv_role":"kv_producer"}']
WORDS = ["vllm", "serve", "org/M", "-tp", "8", *CONFIG]
SCRIPT = "vllm serve $MODEL -tp 8 --kv-transfer-config.kv_connector NixlConnector > log"
RAY_SCRIPT = 'ray start --head --port=6379\nexec "$@"\n'


def serving_port(pod_template: Object) -> int:
    """Return the port of an object with this template."""
    return of(lws(1, pod_template)).port


def of(live: Object) -> Served:
    """Return what the author's object serves."""
    intent = read(live).intent
    assert intent is not None
    return served(input_of(intent, Settings()))


def pod(*command: str, **container: Any) -> Object:
    """Build a pod template with an engine."""
    return {
        "spec": {"containers": [{"name": "engine", "command": list(command), "resources": GPU, **container}]}
    }


@pytest.mark.parametrize(
    ("command", "port"),
    [
        (("vllm", "serve", "M"), 8000),
        (("vllm", "serve", "M", "--port", "9000"), 9000),
        (("vllm", "serve", "M", "--port=9000", "--port=9001"), 9001),
        (("ray", "symmetric-run", "--address", "a:6379", "--", "vllm", "serve", "M", "--port", "9000"), 9000),
        (("/bin/sh", "-c", RAY_SCRIPT, "sh", "vllm", "serve", "M"), 8000),
        (("/bin/sh", "-c", RAY_SCRIPT, "sh", "vllm", "serve", "M", "--port", "9000"), 9000),
        (("sh", "-c", "source x; ray symmetric-run --address a:1 -- vllm serve M --port '9000'; echo"), 9000),
        (("python3", "-m", "vllm.entrypoints.openai.api_server", "--model", "M", "--port=81"), 81),
        (("python3", "-m", "sglang.launch_server", "--model", "M", "--nnodes", "2"), 30000),
        (("sglang", "serve", "--master-port", "5"), 30000),
        (("lmdeploy", "serve", "api_server", "M"), 23333),
        (("lmdeploy", "serve", "api_server", "M", "--server-port", "81"), 81),
        (("ray", "symmetric-run", "--address", "a:1", "--", "serve-it", "--port", "81"), 81),
        (("sh", "-c", "ray start --port=6379; ray symmetric-run --address a:1 -- serve-it"), 8000),
        (("sh", "-c", "set -e\nray start --head --port=6379 \\\n --num-gpus=8\nexec serve-it"), 8000),
        (("sh", "-c", "/opt/ray start --head --port '6379' && python3 -m corp.server --port 9000"), 9000),
        (
            ("sh", "-c", "python3 -m corp.server --port 9000 & exec ray start --head --port 6379 --block"),
            9000,
        ),
        (("ray", "start", "--head", "--port", "6379", "--block"), 8000),
        (("sh", "-c", "ray start --head --port=6379; python3 -m dynamo.vllm --model M -tp 8"), 8000),
        (("sh", "-c", "(array start --port 81)"), 81),
    ],
)
def test_the_port_is_that_of_the_flag_or_of_the_engine(command: tuple[str, ...], port: int) -> None:
    assert serving_port(pod(*command)) == port


VARIABLE: Final = ("vllm", "serve", "M", "--port", "$(PORT)")
SGLANG: Final = "python3 -m sglang.launch_server --model-path M --nnodes 2 --node-rank"
BRANCHES: Final = f"if [ $LWS_WORKER_INDEX = 0 ]; then {SGLANG} 0; else {SGLANG} $LWS_WORKER_INDEX; fi"
PORTS: Final = [{"containerPort": 81}, {"containerPort": 82}]
PODS: Final[dict[str, tuple[Object, int]]] = {
    "args alone": (pod(image="vllm/vllm-openai:v1", args=["--model", "M", "--port", "81"]), 81),
    "a script with branches has the port of its image's engine": (
        pod("sh", "-c", BRANCHES, image="lmsysorg/sglang:v0.5.9"),
        30000,
    ),
    "a literal variable": (pod(*VARIABLE, env=[{"name": "PORT", "value": "81"}]), 81),
    "an unknown port is that of the name http": (
        pod(*VARIABLE, ports=[{"containerPort": 6379}, {"name": "http", "containerPort": 81}]),
        81,
    ),
    "an unknown port is that of a probe": (pod(*VARIABLE, livenessProbe={"httpGet": {"port": 81}}), 81),
    "a configuration file, and a probe": (
        pod("vllm", "serve", "--config", "f", readinessProbe={"httpGet": {"port": 81}}),
        81,
    ),
    "an unknown engine has its first port": (pod("serve-it", ports=PORTS), 81),
    "nothing": ({}, 8000),
    "no spec": ({"spec": None}, 8000),
    "no containers": ({"spec": {"containers": [None, 3]}}, 8000),
}


@pytest.mark.parametrize(("template", "port"), PODS.values(), ids=PODS)
def test_the_port_is_found_in_the_other_fields_of_the_pod(template: Object, port: int) -> None:
    assert serving_port(template) == port


@pytest.mark.parametrize("field", ["initContainers", "containers"])
@pytest.mark.parametrize(
    ("proxy", "port"),
    [
        ({"name": "routing-proxy", "args": ["--port=8001", "--vllm-port=8200"]}, 8001),
        ({"name": "routing-proxy", "image": "corp/own:1"}, 8000),
        ({"image": "ghcr.io/llm-d/llm-d-router-disagg-sidecar:v0.10.0", "args": ["--port", "8001"]}, 8001),
        ({"image": "corp:5000/llm-d-routing-sidecar@sha256:1", "args": []}, 8000),
        ({"image": "corp/own:1", "command": ["/proxy", "--model-server-port", "8200", "--port=8001"]}, 8001),
        ({"image": "corp/own:1", "args": ["-vllm-port=8200", "-connector=nixlv2", "-port", "8001"]}, 8001),
        ({"image": "corp/logs-sidecar:1", "args": ["--port=8001"]}, 8200),
        ({"image": "corp/metrics:1", "args": ["--vllm-port=8200"]}, 8200),
    ],
)
def test_the_port_of_a_sidecar_replaces_that_of_the_engine(field: str, proxy: Object, port: int) -> None:
    template = pod("vllm", "serve", "M", "--port", "8200")
    template["spec"].setdefault(field, []).append({"name": "p", **proxy})

    assert serving_port(template) == port


# --- KV transfer ------------------------------------------------------------------------------------


@pytest.mark.parametrize("launcher", ["ray-symmetric", "ray-start", "vllm-native", "none"])
@pytest.mark.parametrize(
    ("command", "args"),
    [(WORDS[:2], WORDS[2:]), (["sh", "-c", 'cd /; exec "$@"', "sh"], WORDS), (["sh", "-c", SCRIPT], None)],
    ids=["words", "items of a script", "script"],
)
def test_the_record_has_the_settings_with_every_launcher(
    launcher: str, command: list[str], args: list[str] | None
) -> None:
    engine = container(command=command, args=args, image=NEW)

    expanded = put(lws(worker=template(engine), launcher=launcher, component_type="prefiller"))

    assert in_record(expanded).kv_transfer == KVTransfer(("NixlConnector",), 8, NEW)


@pytest.mark.parametrize(
    "args",
    [
        ["org/M", "-tp", "8"],
        ["org/M", "-tp", "$(SIZE)", *CONFIG],
        ["org/M", "-tp", "8", "--kv-transfer-config", "{"],
    ],
)
def test_unknown_settings_are_none(args: list[str]) -> None:
    live = lws(worker=template(container(args=args)), component_type="decoder")

    assert of(live).kv_transfer is None


def test_a_worker_has_no_kv_transfer() -> None:
    assert of(lws(worker=template(container(args=WORDS[2:])))).kv_transfer is None


# --- the record -------------------------------------------------------------------------------------


def in_record(expanded: Object) -> Served:
    """Return what the record of an object says."""
    return recorded(expanded["metadata"]["annotations"]["fusioninfer.io/expansion"])


@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("kind", ["worker", "prefiller", "decoder"])
def test_the_record_says_the_same_as_the_input(kind: str, size: int) -> None:
    engine = container(args=[*WORDS[2:], "--port", "9000"])
    live = lws(size, template(engine), component_type=kind, strategy="pd-disaggregation")

    assert in_record(put(live)) == of(live)
    assert of(live).port == 9000


@pytest.mark.parametrize(
    "text",
    [
        None,
        7,
        "{",
        "[1]",
        '{"serves": 7}',
        '{"serves": {"port": 70000}}',
        '{"serves": {"port": "9000", "kv": {"connectors": [1], "tensor": 1}}}',
        '{"serves": {"kv": {"connectors": ["x"], "tensor": 0}}}',
    ],
)
def test_an_invalid_record_has_the_defaults(text: Any) -> None:
    assert recorded(text) == Served()
