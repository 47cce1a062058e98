"""What authors of templates write by mistake, and what they read."""

from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as some

from intent import Object
from intent.inferencetemplate.rules import findings, removal_fault
from intent.merge import removed
from intent.template import LARGEST
from tests.builders.templates import template

ENGINE: Final = {"name": "vllm", "args": ["--served-model-name", "$(model.name)"]}
POD: Final = "spec.pods[0].template.spec"


def pod(**fields: Any) -> Object:
    return template({"template": {"spec": {"containers": [ENGINE], **fields}}})


def test_a_good_template_has_no_findings() -> None:
    made = template(
        {"for": "common", "template": {"spec": {"containers": [ENGINE]}}},
        {"for": "decoder", "part": "leader", "remove": ["containers/vllm/env/DEBUG"], "args": "append"},
        priority="Critical",
        model={"cache": "pvc://models"},
    )

    assert not list(findings(made))


def noted(text: str) -> Object:
    return template({"template": {"metadata": {"annotations": {"a": text}}}})


def removing(path: str) -> Object:
    return template({"remove": [path]})


def engine(**fields: Any) -> Object:
    return pod(containers=[{"name": "v", **fields}])


REMOVED: Final = "spec.pods[0].remove[0]"
MISTAKES: Final[dict[str, tuple[Object, str, str]]] = {
    "too large": (noted("b" * LARGEST), "FI952 spec", "split"),
    "too large, in bytes": (noted("ü" * (LARGEST // 2)), "FI952 spec", "bytes"),
    "too many arguments": (engine(args=["a"] * 5000), "FI904 spec.pods", "arguments"),
    "a misspelt field to remove": (
        removing("containers/vllm/evn/DEBUG"),
        f"FI954 {REMOVED}",
        "did you mean env?",
    ),
    "a path with dots": (removing("spec.containers"), f"FI954 {REMOVED}", "spec.containers"),
    "a JSON pointer": (removing("/spec/containers/0"), f"FI954 {REMOVED}", "is no path"),
    "an item without a name": (
        removing("tolerations/gpu"),
        f"FI954 {REMOVED}",
        "remove tolerations as a whole",
    ),
    "a container twice": (pod(containers=[ENGINE, ENGINE]), f"FI954 {POD}.containers[1]", "the same name"),
    "a port twice": (
        engine(ports=[{"containerPort": 1}, {"containerPort": 1, "protocol": "TCP"}]),
        f"FI954 {POD}.containers[0].ports[1]",
        "the same containerPort and protocol",
    ),
    "a misspelt variable": (
        engine(args=["$(modl.name)"]),
        f"FI950 {POD}.containers[0].args[0]",
        "did you mean model.name?",
    ),
    "a priority": (template(priority="Highest"), "FI954 spec.priority", "Critical"),
    "a limit without adapters": (template(lora={"maxRank": 64}), "FI330 spec.lora.maxRank", "add adapters"),
    "the priority of an adapter": (
        template(lora={"adapters": [{"name": "a", "uri": "hf://o/a", "priority": "Critical"}]}),
        "FI330 spec.lora.adapters[0].priority",
        "of the InferenceService",
    ),
}


def test_a_priority_that_is_null_is_absent() -> None:
    assert list(findings(template(priority=None))) == []


@pytest.mark.parametrize(("written", "where", "says"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_found(written: Object, where: str, says: str) -> None:
    (found,) = findings(written)

    assert f"{found.code} {found.path}" == where
    assert says in str(found)


def test_a_name_of_the_kubelet_and_an_escaped_one_are_no_variables() -> None:
    assert not list(findings(pod(containers=[{"name": "v", "args": ["$(HOME)", "$$(my.name)"]}])))


@pytest.mark.parametrize(
    "path",
    [
        "containers/vllm/env/DEBUG", "containers/vllm/volumeMounts[/models]", "containers/vllm/args/--debug",
        "metadata/labels/a", "metadata/annotations[example.com/a]", "nodeSelector/a", "spec/affinity",
        "containers/vllm/ports[8000/UDP]", "containers/vllm/resources/limits[nvidia.com/gpu]",
    ],
)  # fmt: skip
def test_a_path_of_something_that_pods_may_have_is_accepted(path: str) -> None:
    assert not removal_fault(path)
    removed({}, [path])


KEYS: Final = (
    *("pods", "template", "spec", "containers", "remove", "router", "priority", "env", "name", "args"),
)
SCALARS = (
    some.none()
    | some.booleans()
    | some.integers()
    | some.floats()
    | some.sampled_from(["", "a", "$(", "$(a.b)"])
)
VALUES = some.recursive(
    SCALARS,
    lambda below: some.lists(below) | some.dictionaries(some.sampled_from(KEYS), below),
    max_leaves=20,
)


@given(VALUES)
def test_no_value_raises(spec: Any) -> None:
    """The API server checks types before, and the command checks files of any content."""
    list(findings({"metadata": {}, "spec": spec}))
