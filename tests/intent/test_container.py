"""The container ports of a pod that gets a sidecar."""

from typing import Any

import pytest

from intent.container import read_ports
from intent.lws import Engine, Ports


def test_ports_are_those_of_all_containers_and_names_those_of_the_engine() -> None:
    spec = {
        "initContainers": [{"name": "a", "ports": [{"containerPort": 9}]}],
        "containers": [
            {"name": "vllm", "ports": [{"containerPort": 8, "name": "http"}, {"containerPort": 7}]},
            {"name": "b", "ports": [{"containerPort": 8, "name": "other"}]},
        ],
    }

    assert read_ports(spec, "spec", Engine("vllm")) == Ports((7, 8, 9), (("http", 8),))


@pytest.mark.parametrize("field", ["initContainers", "containers"])
def test_a_sidecar_of_the_author_is_found(field: str) -> None:
    spec = {field: [{"name": "vllm"}, {"name": "routing-proxy"}]}

    assert read_ports(spec, "spec", Engine("vllm")).proxy == f"spec.{field}[1]"


@pytest.mark.parametrize(
    "containers", [None, 7, [7], [{}], [{"ports": 7}], [{"ports": [7, {"containerPort": "8"}]}]]
)
def test_values_of_another_type_have_no_ports(containers: Any) -> None:
    assert read_ports({"containers": containers}, "spec", None) == Ports()
