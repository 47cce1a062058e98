"""The flags of LoRA adapters: those of each engine, beside those of the author, and contradictions."""

from typing import Any

import pytest

from catalog.flags import flag_tables
from intent import Object
from tests.builders.lws import container, engine_of, lws, put, template
from webhook.blocks.lora import FLAGS
from webhook.check import check

VLLM = {"command": ["vllm", "serve", "org/M"]}
SGLANG = {
    "command": ["python3", "-m", "sglang.launch_server", "--model-path", "org/M"],
    "image": "corp/sglang:1",
}
SQL = "sql=pvc://claim/sql"
TWO = f"{SQL},law=pvc://claim/law"


def file(lora: str, *args: str, engine: dict[str, Any] | None = None, **notes: Any) -> Object:
    """Return an object of one pod with adapters, whose engine has these arguments."""
    shape = {"args": list(args) or None, **(engine or VLLM)}
    return lws(1, template(container(**shape)), lora=lora, **notes)


def args(lora: str, *given: str, engine: dict[str, Any] | None = None, **notes: Any) -> list[str]:
    """Return the arguments that the engine gets."""
    found: list[str] = engine_of(put(file(lora, *given, engine=engine, **notes)))["args"]
    return found


def errors(
    lora: str, *given: str, engine: dict[str, Any] | None = None, **notes: str
) -> list[tuple[str, str]]:
    """Return code and last part of the path of each error."""
    found = check(file(lora, *given, engine=engine, **notes), mutated=False)
    return [(one.code, one.path.rpartition(".")[2]) for one in found if one.severity == "error"]


ADDED = ["--enable-lora", "--lora-modules", "sql=/mnt/lora/sql"]
NOTE = "io/lora]"


def test_no_batch_of_vllm_uses_more_adapters_than_memory_holds() -> None:
    assert args(TWO, "--max-cpu-loras", "1")[-2:] == ["--max-loras", "1"]
    assert args(f"{TWO},maxCpuAdapters=1")[-4:] == ["--max-loras", "1", "--max-cpu-loras", "1"]


def test_limits_have_the_names_of_the_engine() -> None:
    limits = f"{SQL},maxRank=64,maxAdapters=2,maxCpuAdapters=4"

    assert args(limits) == [*ADDED, *("--max-lora-rank", "64", "--max-loras", "2", "--max-cpu-loras", "4")]
    assert args(limits, engine=SGLANG) == [
        *("--lora-paths", "sql=/mnt/lora/sql"),
        *("--max-lora-rank", "64", "--max-loras-per-batch", "2", "--max-loaded-loras", "4"),
    ]


def test_flags_of_the_author_stay_and_are_not_repeated() -> None:
    given = ["--enable-lora", "--max-loras=2", "--max-lora-rank", "64"]

    assert args(f"{TWO},maxRank=64", *given) == [
        *given,
        *("--lora-modules", "sql=/mnt/lora/sql", "law=/mnt/lora/law"),
    ]


@pytest.mark.parametrize("item", ["sql=/mnt/lora/sql", '{"name": "sql", "path": "/mnt/lora/sql"}'])
def test_an_authors_own_list_with_the_adapter_is_used(item: str) -> None:
    given = ["--lora-modules", item, "other=/x"]

    assert args(SQL, *given) == [*given, "--enable-lora"]
    assert errors(SQL, *given) == []


@pytest.mark.parametrize(
    "given",
    [
        ["--lora-modules", "sql=/other"],
        ["--lora-modules=law=/x"],
        ["--lora_modules", "law=/x"],
        ["--lora-modules", "{not json"],
        ["--max-lora-rank", "8"],
        ["--max-lora-rank=8"],
        ["--no-enable-lora"],
    ],
)
def test_an_argument_that_contradicts_is_an_error(given: list[str]) -> None:
    at = len(given) - 1

    assert errors(f"{SQL},maxRank=64", *given) == [("FI124", f"args[{at}]")]


def test_a_batch_of_sglang_is_no_larger_than_what_is_loaded() -> None:
    """Its own default of 8 would be refused: `check_lora_server_args` of `sglang/srt/server_args.py`."""
    made = args(f"{TWO},maxCpuAdapters=4", engine=SGLANG)

    assert made[-4:] == ["--max-loras-per-batch", "4", "--max-loaded-loras", "4"]
    assert "--max-loras-per-batch" not in args(f"{TWO},maxCpuAdapters=8", engine=SGLANG)


def test_a_limit_that_is_only_known_in_the_cluster_is_left_alone() -> None:
    assert errors(f"{SQL},maxRank=64", "--max-lora-rank", "$(RANK)") == []


@pytest.mark.parametrize(
    ("given", "notes"),
    [
        (["--served-model-name", "other", "sql"], {}),
        (["--served-model-name=sql"], {}),
        ([], {"model_name": "sql", "model": "hf://org/M"}),
        ([], {"model": "pvc://models", "service": "sql"}),
    ],
)
def test_an_adapter_has_another_name_than_the_model(given: list[str], notes: dict[str, str]) -> None:
    engine = {"command": ["vllm", "serve"]} if notes else VLLM

    assert ("FI125", NOTE) in errors(SQL, *given, engine=engine, **notes)


def test_an_adapter_may_have_the_name_of_the_model_that_is_served_under_another() -> None:
    assert errors("org/M=pvc://claim/a") == [("FI125", NOTE)]
    assert errors("org/M=pvc://claim/a", "--served-model-name", "base") == []


def test_a_limit_that_the_image_is_too_old_for_is_an_error() -> None:
    old = SGLANG | {"image": "lmsysorg/sglang:v0.4.6"}

    assert errors(f"{SQL},maxRank=64", engine=old) == [("FI333", NOTE)]
    assert errors(f"{SQL},maxAdapters=4", engine=old) == []


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
def test_every_flag_is_one_of_the_engine(engine: str) -> None:
    row = FLAGS[engine]

    assert {row.modules, *row.limits.values(), *filter(None, [row.switch])} <= flag_tables()[
        engine
    ].spans.keys()


def test_other_engines_and_commands_that_are_not_understood_are_errors() -> None:
    assert errors(SQL, engine={"command": ["lmdeploy", "serve", "api_server", "M"]}) == [("FI116", NOTE)]
    assert errors(SQL, engine={"command": ["/start.sh"]}) == [("FI116", NOTE)]
