"""Flags of engines, in every spelling that the engine accepts."""

import pytest

from intent.command_line.dialects import LMDEPLOY, SGLANG, TENSORRT, VLLM
from intent.command_line.flags import (
    BACKEND,
    DATA,
    EXPERTS,
    MODEL,
    PIPELINE,
    PORT,
    TENSOR,
    Dialect,
    Flag,
    may_be_model,
    read_flags,
    resolve,
)


@pytest.mark.parametrize(
    "spelled",
    [
        "--tensor-parallel-size 16",
        "--tensor-parallel-size=16",
        "--tensor_parallel_size 16",
        "--tensor_parallel-size=16",
        "--tensor-parallel 16",
        "--tensor=16",
        "-tp 16",
        "-tp=16",
        "-tp 8 --tensor-parallel-size 16",
        "--enforce-eager -tp 16",
        "--served-model-name a b -tp 16",
        "--rope-scaling.factor 2 -tp 16",
    ],
)
def test_every_spelling_of_a_size_is_read_and_the_last_applies(spelled: str) -> None:
    flag = read_flags(spelled.split(), 0, VLLM).last(TENSOR)

    assert flag is not None
    assert flag.value == "16"


@pytest.mark.parametrize("spelled", ["--t 16", "-tp16", "--tensor-parallel-sizes 16", "tp 16"])
def test_an_invalid_spelling_is_not_a_flag(spelled: str) -> None:
    assert read_flags(spelled.split(), 0, VLLM).last(TENSOR) is None


@pytest.mark.parametrize(
    "spelled", ["--dist=ray", "--distributed_executor_backend ray", "--distributed-exec ray"]
)
def test_the_executor_is_found_in_every_spelling(spelled: str) -> None:
    assert read_flags(spelled.split(), 0, VLLM).last(BACKEND) is not None


def test_a_flag_that_takes_a_value_does_not_take_a_flag() -> None:
    flags = read_flags(["--model", "--port", "80"], 0, VLLM)

    assert flags.given == (Flag(MODEL, None, 0, 1), Flag("port", "80", 1, 2))


def test_there_are_no_flags_after_two_dashes() -> None:
    flags = read_flags(["-tp", "8", "--", "M", "-tp", "16", "--"], 0, VLLM)

    assert (flags.given, flags.bare, flags.stray) == ((Flag(TENSOR, "8", 0, 2),), (), (3, 4, 5, 6))


def test_a_negative_number_is_a_value() -> None:
    assert read_flags(["-tp", "-1"], 0, VLLM).given == (Flag(TENSOR, "-1", 0, 2),)


def test_an_argument_after_a_switch_is_the_model() -> None:
    assert read_flags(["--enable-prefix-caching", "M"], 0, VLLM).bare == (1,)


@pytest.mark.parametrize(
    ("words", "may_be"), [(["--new", "M"], True), (["--new", "8192"], False), (["--new", "{}"], False)]
)
def test_an_argument_after_an_unknown_flag_may_be_the_model(words: list[str], *, may_be: bool) -> None:
    assert may_be_model(read_flags(words, 0, VLLM), words) is may_be


@pytest.mark.parametrize(
    ("value", "resolved"),
    [
        ("16", "16"),
        ("$(TP)", "8"),
        ("a-$(TP)", "a-8"),
        ("$(MAP)", None),
        ("$(NONE)", None),
        ("$TP", None),
        ("$$(TP)", None),
    ],
)
def test_a_variable_is_resolved_where_its_value_is_literal(value: str, resolved: str | None) -> None:
    assert resolve(value, (("TP", "8"), ("MAP", None))) == resolved


def test_the_value_of_a_variable_is_not_expanded_again() -> None:
    assert resolve("$(A)", (("A", "$(B)"), ("B", "8"))) is None
    assert resolve("$(A)(B)", (("A", "$"), ("B", "8"))) is None


def test_a_value_longer_than_an_argument_is_not_expanded() -> None:
    long = "x" * 1_000

    assert resolve("$(A)" * 130, (("A", long),)) == long * 130
    assert resolve("$(A)" * 200, (("A", long),)) is None


@pytest.mark.parametrize(
    ("dialect", "spelled", "name", "value"),
    [
        *((VLLM, spelled, "nnodes", "2") for spelled in ("-n2", "-n 2", "-n=2", "--nnodes=2")),
        (SGLANG, "-n2", "nnodes", None),
        *((SGLANG, spelled, TENSOR, "8") for spelled in ("--tp 8", "--tp-size=8")),
        *((SGLANG, spelled, TENSOR, None) for spelled in ("--tp_size 8", "-tp 8")),
        (LMDEPLOY, "--tp 16", TENSOR, "16"),
        (LMDEPLOY, "--dp=2", DATA, "2"),
        (LMDEPLOY, "--ep 16", EXPERTS, "16"),
        (LMDEPLOY, "--server-port 8000", PORT, "8000"),
        *((TENSORRT, spelled, PIPELINE, "2") for spelled in ("--pp_size 2", "--pipeline_parallel_size=2")),
        *((TENSORRT, spelled, PIPELINE, None) for spelled in ("--pp-size 2", "-pp 2")),
    ],
)
def test_each_engine_has_spellings_of_its_own(
    dialect: Dialect, spelled: str, name: str, value: str | None
) -> None:
    flag = read_flags(spelled.split(), 0, dialect).last(name)

    assert (flag.value if flag else None) == value
