"""Variables of templates are replaced in the parsed tree, with the type of their field."""

from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.schemas import POD_TEMPLATE, schemas
from intent import Object
from intent.parallelism import SIZES
from intent.variables import LONGEST, NAMES, substituted, variables

VALUES: Final = {
    "model.name": "llama",
    "model.path": "/mnt/models",
    "role.port": "8000",
    "group.size": "2",
    "parallelism.tensor": "8",
}
SCHEMA: Final = schemas()[POD_TEMPLATE].root


def in_args(*args: str) -> Object:
    return {"spec": {"containers": [{"name": "vllm", "args": list(args)}]}}


def replaced(text: str) -> str:
    found, errors = substituted(in_args(text), VALUES, SCHEMA)
    assert errors == []
    (arg,) = found["spec"]["containers"][0]["args"]
    assert isinstance(arg, str)
    return arg


def test_a_template_may_use_each_parallel_size() -> None:
    assert {f"parallelism.{name}" for name in SIZES} == {
        name for name in NAMES if name.startswith("parallelism.")
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$(model.name)", "llama"),
        ("--served-model-name=$(model.name)", "--served-model-name=llama"),
        ("$(group.size)", "2"),
        ("$(model.name)-$(parallelism.tensor)", "llama-8"),
        ("$(service.name|x)", "x"),
        ("$(service.name|)", ""),
        ("$(model.name|x)", "llama"),
        ("$$(model.name)", "$(model.name)"),
        ("$$$(model.name)", "$$(model.name)"),
        ("$(NAME)", "$(NAME)"),
        ("$$(NAME)", "$$(NAME)"),
        ("$(VAR_NAME) and $(model.name)", "$(VAR_NAME) and llama"),
        ("$(lscpu -p)", "$(lscpu -p)"),
        ("${model.name}", "${model.name}"),
        ("{{ .Spec.Model.Name }}", "{{ .Spec.Model.Name }}"),
        ("$()", "$()"),
        ("$(.a)", "$(.a)"),
        ("", ""),
    ],
)
def test_a_name_with_a_dot_is_a_variable(text: str, expected: str) -> None:
    assert replaced(text) == expected


@pytest.mark.parametrize(
    ("field", "text", "expected"),
    [
        ({"terminationGracePeriodSeconds": "$(role.port)"}, "terminationGracePeriodSeconds", 8000),
        ({"hostIPC": "$(x.y|true)"}, "hostIPC", True),
        ({"hostIPC": "$(x.y|yes)"}, "hostIPC", "yes"),
        ({"nodeName": "$(role.port)"}, "nodeName", "8000"),
        ({"terminationGracePeriodSeconds": "1$(group.size)"}, "terminationGracePeriodSeconds", "12"),
        ({"terminationGracePeriodSeconds": "$(x.y|$)"}, "terminationGracePeriodSeconds", "$"),
    ],
)
def test_a_text_that_is_one_variable_has_its_field_s_type(field: Object, text: str, expected: Any) -> None:
    found, _ = substituted({"spec": field}, VALUES, SCHEMA)

    assert found["spec"][text] == expected
    assert type(found["spec"][text]) is type(expected)


def test_ports_of_probes_are_numbers_and_quantities_too() -> None:
    container = {
        "name": "vllm",
        "ports": [{"containerPort": "$(role.port)"}],
        "readinessProbe": {"httpGet": {"port": "$(role.port)", "path": "/$(model.name)"}},
        "resources": {"limits": {"nvidia.com/gpu": "$(parallelism.tensor)"}},
        "env": [{"name": "PORT", "value": "$(role.port)"}],
    }

    found, errors = substituted({"spec": {"containers": [container]}}, VALUES, SCHEMA)

    assert (found["spec"]["containers"][0], errors) == (
        {
            "name": "vllm",
            "ports": [{"containerPort": 8000}],
            "readinessProbe": {"httpGet": {"port": 8000, "path": "/llama"}},
            "resources": {"limits": {"nvidia.com/gpu": 8}},
            "env": [{"name": "PORT", "value": "8000"}],
        },
        [],
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("$(model.nam)", "$(model.nam) is no variable; did you mean model.name?"),
        ("$(q.zzzzzzzzzzzz)", "known are model.name"),
        ("$(service.name)", "$(service.name) is the name of the service, which is not set: set it, or write"),
    ],
)
def test_a_variable_without_a_value_is_reported_at_its_field(text: str, message: str) -> None:
    _, errors = substituted(in_args("a", text), VALUES, SCHEMA, "spec.pods[0].template")

    ((_, error),) = errors
    assert error.path == "spec.pods[0].template.spec.containers[0].args[1]"
    assert message in error.message


def test_all_errors_are_reported() -> None:
    _, errors = substituted(in_args("$(a.b)", "$(c.d) $(e.f)"), VALUES, SCHEMA)

    assert len(errors) == 3


def test_many_long_values_are_an_error() -> None:
    found, errors = substituted(in_args(*["$(model.name)"] * 20), {"model.name": "x" * 4096}, SCHEMA)

    assert "shorten the values" in errors[-1].error.message
    assert sum(map(len, found["spec"]["containers"][0]["args"])) <= LONGEST


def test_a_value_is_not_searched_for_variables() -> None:
    values = {"model.name": "$(model.path)", "model.path": "x"}

    found, _ = substituted(in_args("$(model.name)"), values, SCHEMA)

    assert found == in_args("$(model.path)")


@given(text=st.text(alphabet="$()|.ab", max_size=30))
def test_any_text_is_replaced_without_an_exception(text: str) -> None:
    found, _ = substituted(in_args(text), {"a.b": "x"}, SCHEMA)

    assert all(isinstance(arg, str) for arg in found["spec"]["containers"][0]["args"])


def test_the_variables_of_a_template_are_listed() -> None:
    template = in_args("$(model.name) $$(role.name)", "$(group.size|2)", "$(A)")

    assert list(variables(template)) == ["model.name", "group.size"]
