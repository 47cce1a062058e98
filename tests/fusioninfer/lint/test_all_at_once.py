"""What one mistake in a file must not hide, or be mistaken for."""

from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner

from fusioninfer.cli import main

LWS: Final = """\
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata:
  name: NAME
  annotations:
    fusioninfer.io/service: qwen
    NOTES
spec:
  leaderWorkerTemplate:
    size: 1
    workerTemplate:
      spec:
        containers:
        - name: vllm
          image: IMAGE
          args: [--model, org/M, --kv-transfer-config, '{"kv_connector":"NixlConnector","kv_role":"kv_both"}']
          resources: {requests: {cpu: "8", memory: 64Gi}, limits: {nvidia.com/gpu: 1}}
"""
KSERVE: Final = """\
apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {name: b}
"""
DEPLOYMENT: Final = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: a}
"""


def lws(name: str = "a", image: str = "vllm/vllm-openai:v0.17.1", **notes: str) -> str:
    """Return a LeaderWorkerSet; `component_type=` is fusioninfer.io/component-type."""
    text = LWS.replace("service: qwen", f"service: {notes.pop('service', 'qwen')}")
    text = text.replace("NAME", name).replace("IMAGE", image)
    lines = [f"fusioninfer.io/{key.replace('_', '-')}: {value}" for key, value in notes.items()]
    return text.replace("NOTES", "\n    ".join(lines) or "#")


def validated(tmp_path: Path, *documents: str, fail: bool = False) -> tuple[int, str]:
    """Return exit code and output of `fusioninfer validate`."""
    (tmp_path / "a.yaml").write_text("---\n".join(documents))
    flags = ["--fail-on-warnings"] if fail else []
    result = CliRunner().invoke(main, ["validate", str(tmp_path / "a.yaml"), *flags])
    return result.exit_code, result.output


@pytest.mark.parametrize("documents", [(DEPLOYMENT,), (DEPLOYMENT, KSERVE)])
def test_files_in_which_nothing_is_checked_are_reported(tmp_path: Path, documents: tuple[str, ...]) -> None:
    code, output = validated(tmp_path, *documents, fail=True)

    assert (code, "nothing in the files is checked: they have none of" in output) == (1, True), output


def test_other_objects_beside_a_checked_one_are_skipped(tmp_path: Path) -> None:
    assert validated(tmp_path, DEPLOYMENT, lws(), KSERVE, fail=True)[0] == 0


def test_an_unknown_annotation_is_not_taken_for_a_missing_role(tmp_path: Path) -> None:
    sides = lws("p", component_type="prefiller", colour="red"), lws("d", component_type="decoder")

    assert "FI410" not in validated(tmp_path, *sides)[1]


@pytest.mark.parametrize(
    "wrong", [{"component_type": "prefil"}, {"component_type": "prefiller", "service": "A B"}]
)
def test_a_part_that_is_refused_is_not_taken_for_a_missing_one(tmp_path: Path, wrong: dict[str, str]) -> None:
    output = validated(tmp_path, lws("p", **wrong), lws("d", component_type="decoder"))[1]

    assert ("FI410" in output, "FI402" in output) == ("service" in wrong, False), output
