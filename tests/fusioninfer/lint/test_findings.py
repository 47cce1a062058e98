"""Findings about files as their authors write them: each case of findings.yaml has the expected lines and
messages.

The findings of admission are tested by golden cases; here are those about files (`catalog.codes.files`).
"""

from pathlib import Path
from random import Random
from typing import Any, Final

import click
import pytest
import yaml

from catalog.codes import files
from fusioninfer.lint import documents, offline, report
from fusioninfer.lint.offline import Composition
from intent.settings import Settings
from tests.builders.isvc import isvc, worker
from tests.builders.mistakes import BASES as BASES_OF_MISTAKES
from tests.builders.mistakes import mistaken

GOOD: Final = """\
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata:
  name: a
  annotations:
    fusioninfer.io/service: a
spec:
  replicas: 1
  leaderWorkerTemplate:
    size: 2
    restartPolicy: RecreateGroupOnPodRestart
    workerTemplate:
      spec:
        containers:
        - name: vllm
          image: vllm/vllm-openai:v0.17.1
          args: [--model, m, --tensor-parallel-size, "4", --pipeline-parallel-size, "2"]
          resources:
            limits: {nvidia.com/gpu: 4, cpu: 8, memory: 64Gi}
"""
"""A LeaderWorkerSet without findings; its lines are counted below."""
SET: Final = """\
apiVersion: disaggregatedset.x-k8s.io/v1
kind: DisaggregatedSet
metadata:
  name: s
spec:
  roles:
  - name: prefill
    metadata:
      annotations: {fusioninfer.io/service: s, fusioninfer.io/component-type: prefiller}
    spec:
      leaderWorkerTemplate:
        workerTemplate: {spec: {containers: [{name: vllm, image: "vllm/vllm-openai:v0.17.1"}]}}
  - name: decode
    metadata:
      annotations: {fusioninfer.io/service: s, fusioninfer.io/component-type: decoder}
    spec:
      leaderWorkerTemplate:
        workerTemplate: {spec: {containers: [{name: vllm, image: "vllm/vllm-openai:v0.17.1"}]}}
"""
BASES: Final = {"LeaderWorkerSet": GOOD, "DisaggregatedSet": SET}
TABLE: Final = Path(__file__).with_name("findings.yaml")
CASES: Final[list[dict[str, Any]]] = yaml.safe_load(TABLE.read_text(encoding="utf-8"))


def text_of(case: dict[str, Any]) -> str:
    """Return the file of a case: its own, or a good one with changes."""
    text: str = case["file"] if "file" in case else BASES[case["base"]]
    for old, new in case.get("change", ()):
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def composed(path: Path, **texts: str) -> Composition:
    """Compose files, by their names without `.yaml`."""
    for name, text in texts.items():
        (path / f"{name}.yaml").write_text(text)
    read, problems = documents.read_all([str(path)])
    assert problems == []
    return offline.compose(read, Settings())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["case"])
def test_a_file_has_the_expected_findings(tmp_path: Path, case: dict[str, Any]) -> None:
    found = composed(tmp_path, a=text_of(case)).found

    about_files = [one for one in found if one.error.code in files.ROWS]
    lines = map(click.unstyle, report.finding_lines(Composition(found=tuple(about_files))))
    expected = [one.replace("FILE", f"{tmp_path}/a.yaml") for one in case["findings"]]
    assert [one.removeprefix(f"{tmp_path}/a.yaml:").lstrip() for one in lines] == expected


@pytest.mark.parametrize("number", ["2", "2.0", "2e0"])
def test_a_whole_number_may_have_a_fraction_or_an_exponent(tmp_path: Path, number: str) -> None:
    """Tools send it to the API server as `2`."""
    service = yaml.safe_dump(isvc(worker(multinode={"nodeCount": 2})))

    found = composed(tmp_path, a=service.replace("nodeCount: 2", f"nodeCount: {number}"))

    assert not found.count("error")
    assert found.objects[0]["spec"]["leaderWorkerTemplate"]["size"] == 2


@pytest.mark.parametrize(
    ("service", "pod", "found"),
    [
        ("metadata: {name: vllm}\nspec: {ports: [{port: 80}]}", "", True),
        ("metadata: {name: vllm, namespace: other}", "", False),
        ("metadata: {name: vllm}\nspec: {clusterIP: None}", "", False),
        ("metadata: {name: vllm}\nspec: {type: ExternalName}", "", False),
        ("metadata: {name: vllm-api}", "", False),
        ("metadata: {name: vllm}", "        enableServiceLinks: false\n", False),
        ("metadata: {name: vllm}", "        enableServiceLinks: true\n", True),
        ("metadata: [vllm]\nspec: 7", "", False),
    ],
)
def test_a_service_whose_name_sets_a_variable_of_the_engine_is_found(
    tmp_path: Path,
    service: str,
    pod: str,
    found: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    engine = GOOD.replace("        containers:\n", f"{pod}        containers:\n")
    own = "          env: [{name: VLLM_PORT, value: '8000'}]\n"

    for whole, is_found in (
        (engine, found),
        (engine + own, False),
        (engine.replace("vllm", "sglang"), False),
    ):
        made = composed(tmp_path, a=f"{whole}---\napiVersion: v1\nkind: Service\n{service}\n")
        assert ("FI924" in [one.error.code for one in made.found]) is is_found


def test_checked_and_skipped_objects_are_counted(tmp_path: Path) -> None:
    others = "kind: Service\n---\nkind: Service\n---\na: b\n---\nkind: LeaderWorkerset\n"
    instruction = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"

    made = composed(tmp_path, a=f"{GOOD}---\n{SET}", b=others, c="# nothing\n", d=instruction)

    skipped = (("Kustomization", 1), ("LeaderWorkerset", 1), ("Service", 2), ("no kind", 1))
    assert (made.checked, made.skipped) == (2, skipped)


def test_a_repeated_object_is_no_contradiction_in_its_service(tmp_path: Path) -> None:
    made = composed(tmp_path, a=GOOD, b=GOOD)

    assert [one.error.code for one in made.found] == ["FI923"]
    assert (made.found[0].place, made.checked) == (f"{tmp_path}/b.yaml:4", 2)


def test_the_same_name_in_two_namespaces_is_not_repeated(tmp_path: Path) -> None:
    other = GOOD.replace("  name: a\n", "  name: a\n  namespace: b\n")

    assert composed(tmp_path, a=GOOD, b=other).found == ()


def test_a_kustomization_is_no_object(tmp_path: Path) -> None:
    made = composed(tmp_path, a=GOOD, kustomization="resources: [a.yaml]\n")

    assert [one.error.code for one in made.found] == ["FI933"]
    assert [one for one in made.objects if "resources" in one] == []


def test_an_unknown_field_hides_no_finding_of_admission(tmp_path: Path) -> None:
    text = GOOD.replace("restartPolicy", "restartPolcy").replace('"4"', '"16"')

    found = [(one.place[-2:], one.error.code) for one in composed(tmp_path, a=text).found]

    assert found == [("11", "FI920"), ("17", "FI307")]


def test_of_a_value_that_is_refused_nothing_else_is_concluded(tmp_path: Path) -> None:
    text = GOOD.replace("[--model, m,", "[--model, 1,").replace('"4"', '"16"')

    assert [one.error.code for one in composed(tmp_path, a=text).found] == ["FI921"]


def test_an_object_without_a_spec_lacks_what_is_required_in_it(tmp_path: Path) -> None:
    text = GOOD[: GOOD.index("spec:")]

    assert [one.error.path for one in composed(tmp_path, a=text).found] == ["spec.leaderWorkerTemplate"]


SERVICE: Final = """\
apiVersion: fusioninfer.io/v1alpha1
kind: InferenceService
metadata: {name: s}
spec:
  roles:
  - name: worker
    componentType: wroker
    replicas: "2"
    multinode: {nodes: 2}
    tempalte:
      spec:
        containers:
        - name: vllm
          image: vllm/vllm-openai:v0.17.1
          args: [--model, m, --tensor-parallel-size, "16"]
          resources: {limits: {nvidia.com/gpu: 4}}
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*BASES_OF_MISTAKES, "InferenceService"])
def test_any_mistake_is_reported_with_a_line_and_nothing_raises(tmp_path: Path, kind: str) -> None:
    good = yaml.safe_load(SERVICE) if kind == "InferenceService" else BASES_OF_MISTAKES[kind]
    random = Random(kind)  # noqa: S311 - a seeded test

    for _ in range(25):
        made = mistaken(annotated(good), random)
        for one in composed(tmp_path, a=yaml.safe_dump(made)).found:
            assert (one.place != one.document.file, str(one.error).isprintable()) == (True, True), (one, made)


def annotated(obj: Any) -> Any:
    """Return a copy of an object that opts in."""
    written = {**obj["metadata"], "annotations": {"fusioninfer.io/service": "s"}}
    return {**obj, "metadata": written}
