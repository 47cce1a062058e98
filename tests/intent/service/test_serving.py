"""The port of leaders, whatever precedes the engine."""

from typing import Any

import pytest

from intent import Object
from intent.service.serving import serving_port

GPU = {"limits": {"nvidia.com/gpu": "8"}}
RAY_SCRIPT = 'ray start --head --port=6379\nexec "$@"\n'


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
        (("python3", "-m", "sglang.another_server", "--model", "M"), 30000),
        (("ray", "symmetric-run", "--address", "a:1", "--", "serve-it", "--port", "81"), 81),
        (("sh", "-c", "ray start --port=6379; ray symmetric-run --address a:1 -- serve-it"), 8000),
    ],
)
def test_the_port_is_that_of_the_flag_or_of_the_engine(command: tuple[str, ...], port: int) -> None:
    assert serving_port(pod(*command), {}) == port


def test_the_port_is_read_from_args_alone() -> None:
    assert serving_port(pod(image="vllm/vllm-openai:v1", args=["--model", "M", "--port", "81"]), {}) == 81


def test_a_literal_variable_is_read() -> None:
    template = pod("vllm", "serve", "M", "--port", "$(PORT)", env=[{"name": "PORT", "value": "81"}])

    assert serving_port(template, {}) == 81


def test_an_unknown_port_is_that_of_the_name_http() -> None:
    ports = [{"containerPort": 6379}, {"name": "http", "containerPort": 81}]

    assert serving_port(pod("vllm", "serve", "M", "--port", "$(PORT)", ports=ports), {}) == 81


def test_with_a_configuration_file_the_port_is_that_of_the_probe() -> None:
    template = pod("vllm", "serve", "--config", "f", readinessProbe={"httpGet": {"port": 81}})

    assert serving_port(template, {}) == 81


def test_an_unknown_engine_has_its_first_port() -> None:
    assert serving_port(pod("serve-it", ports=[{"containerPort": 81}, {"containerPort": 82}]), {}) == 81


def test_the_port_of_a_sidecar_replaces_that_of_the_engine() -> None:
    template = pod("vllm", "serve", "M", "--port", "8200")
    template["spec"]["initContainers"] = [
        {"name": "routing-proxy", "args": ["--port=8000", "--vllm-port=8200"]}
    ]

    assert serving_port(template, {}) == 8000


@pytest.mark.parametrize("template", [{}, {"spec": None}, {"spec": {"containers": [None, 3]}}])
def test_the_default_port_is_that_of_vllm(template: Object) -> None:
    assert serving_port(template, {}) == 8000
