"""Flags of an author in each spelling that the engine accepts, beside the annotation that asks for them.

vLLM's own parser accepts these (`tests/engine_parser`): an unambiguous abbreviation, `_`, `=`.
"""

from typing import Any

import pytest

from intent import Object
from tests.lws import container, lws, template
from webhook.check import check
from webhook.expand import expanded

IMAGE = "vllm/vllm-openai:v0.20.2"
SIZES = ("-tp", "8", "-pp", "2")
LORA = "a=hf://o/m,maxRank=64,maxCpuAdapters=2"
BLOCKS = {"model": "hf://org/M:v1", "model_name": "chat", "lora": LORA, "parallelism": "expert"}


def asked(*words: str, **annotations: str) -> Object:
    return lws(2, template(container(image=IMAGE, args=[*SIZES, *words])), None, **(BLOCKS | annotations))


def written(live: Object) -> list[str]:
    made = expanded(live)["spec"]["leaderWorkerTemplate"]["workerTemplate"]
    args: list[str] = made["spec"]["containers"][0]["args"]
    return args


def errors(live: Object) -> list[str]:
    return [one.code for one in check(expanded(live)) if one.severity == "error"]


@pytest.mark.parametrize(
    ("words", "flag"),
    [
        (["--revis", "v1"], "--revision"),
        (["--rev=v1"], "--revision"),
        (["--served", "chat"], "--served-model-name"),
        (["--served_model", "chat"], "--served-model-name"),
        (["--lora-mod", "a=o/m"], "--lora-modules"),
        (["--enable-lor"], "--enable-lora"),
        (["--max-lora-r", "64"], "--max-lora-rank"),
        (["--max_cpu=2"], "--max-cpu-loras"),
        (["--enable-exp"], "--enable-expert-parallel"),
    ],
    ids=lambda one: one[0] if isinstance(one, list) else "",
)
def test_a_flag_that_is_there_abbreviated_is_not_added_again(words: list[str], flag: str) -> None:
    assert flag in written(asked())
    assert flag not in written(asked(*words))
    assert errors(asked(*words)) == []


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--revis", "v2"], "FI324"),
        (["--rev=v2"], "FI324"),
        (["--served", "other"], "FI324"),
        (["--lora-mod", "b=x"], "FI124"),
        (["--no-enable-lor"], "FI124"),
        (["--max-lora-r", "32"], "FI124"),
        (["--max-cpu", "9"], "FI124"),
        (["--no-enable-exp"], "FI117"),
    ],
    ids=lambda one: one[0] if isinstance(one, list) else one,
)
def test_an_abbreviated_flag_with_another_value_is_the_only_error(words: list[str], code: str) -> None:
    assert errors(asked(*words)) == [code]


@pytest.mark.parametrize(
    ("wrong", "code"),
    [({"lora": "a=hf://o/m,maxRank=17"}, "FI118"), ({"parallelism": "tensor=4,pipeline=2"}, "FI117")],
)
def test_an_error_of_one_block_is_not_followed_by_what_the_others_did_not_write(
    wrong: dict[str, Any], code: str
) -> None:
    sizes = SIZES if "parallelism" in wrong else ()
    engine = container(image=IMAGE, args=list(sizes), resources=None)
    live = lws(2, template(engine), None, **(BLOCKS | {"parallelism": "tensor=8,pipeline=2"} | wrong))

    assert errors(live) == [code]


@pytest.mark.parametrize("launcher", ["auto", "none"])
@pytest.mark.parametrize(
    "word",
    [
        "--enable-expert-parallel=false",
        "--enable-exp=",
        "-ep=true",
        "--enable_lora=true",
        "--no-enable-lora=x",
    ],
)
def test_a_switch_with_a_value_is_reported_once(word: str, launcher: str) -> None:
    found = errors(asked(word, launcher=launcher))

    assert found.count("FI326") == 1
