"""The settings file."""

from pathlib import Path
from typing import Any

import pytest

from fusioninfer.lint.documents import UnreadableFileError
from fusioninfer.settings import read
from webhook.launchers import LAUNCHERS


def written(path: Path, text: str) -> Path:
    """Write a settings file."""
    file = path / "settings.yaml"
    file.write_text(text)
    return file


@pytest.mark.parametrize(
    ("text", "field", "expected"),
    [
        ("routes: off", "routes", False),
        ("gateways: off", "gateways", False),
        ("gateways: on", "gateways", True),
        ("gateways: [istio, nginx]", "gateways", ("istio", "nginx")),
        ("apiServices: off", "api_services", False),
        ("pickerRegistry: mirror.example.com:5000/a", "picker_registry", "mirror.example.com:5000/a"),
        ("pickerImagePullSecrets: [mirror]", "picker_image_pull_secrets", ("mirror",)),
        ("pickerTolerations: [{key: a}]", "picker_tolerations", ({"key": "a"},)),
        ("kubernetesVersion: v1.33.4-eks", "kubernetes_version", "v1.33.4-eks"),
        ("pickerNodeSelector: {pool: system}", "picker_node_selector", {"pool": "system"}),
        ("schedulerName: my-volcano", "scheduler_name", "my-volcano"),
        *((f"launcher: {name}", "launcher", name) for name in (*LAUNCHERS, "auto", "none")),
    ],
)
def test_a_switch_is_read_as_people_write_it(tmp_path: Path, text: str, field: str, expected: Any) -> None:
    assert getattr(read(written(tmp_path, text)), field) == expected


@pytest.mark.parametrize(
    "text",
    [
        "gateways: istio",
        "gateways: [1]",
        'gateways: [""]',
        "routes: 1",
        "pickerRegistry: mirror/",
        "pickerTolerations: [a]",
        "kubernetesVersion: new",
        'storageInitializerImage: ""',
        "schedulrName: x",
        "picker: gie-9",
        "disaggregatedPicker: gie-1.5",
        "launcher: ray",
    ],
)
def test_a_wrong_value_is_an_error(tmp_path: Path, text: str) -> None:
    with pytest.raises(UnreadableFileError, match=text.partition(":")[0]):
        read(written(tmp_path, text))
