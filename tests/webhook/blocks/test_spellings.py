"""Flags of an author in each spelling that the engine accepts, beside the annotation that asks for them.

The engines' own parsers accept these (`tests/engine_parser`): an unambiguous abbreviation, `=`, `_` for vLLM.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

from catalog.flags import FlagTable, flag_tables
from intent import Object
from intent.command_line.dialects import SGLANG, VLLM
from tests.builders.lws import container, engine_of, lws, template
from webhook.check import check
from webhook.expand import expanded

IMAGE = "vllm/vllm-openai:v0.20.2"
SIZES = ("-tp", "8", "-pp", "2")
LORA = "a=hf://o/m,maxRank=64,maxCpuAdapters=2"
BLOCKS = {"model": "hf://org/M:v1", "model_name": "chat", "lora": LORA, "parallelism": "expert"}


def asked(*words: str, **annotations: str) -> Object:
    return lws(2, template(container(image=IMAGE, args=[*SIZES, *words])), None, **(BLOCKS | annotations))


SHARED: Final = {"model": "hf://org/M", "parallelism": "tensor=16,expert"}


def of_sglang(*words: str, version: str = "0.5.9", **annotations: str) -> Object:
    start: dict[str, Any] = {
        "command": ["python3", "-m", "sglang.launch_server"],
        "args": ["--host", "::", *words],
    }
    engine = container(image=f"lmsysorg/sglang:v{version}", resources=None, **start)
    return lws(2, template(engine), None, **(SHARED | annotations))


def written(live: Object) -> list[str]:
    args: list[str] = engine_of(expanded(live))["args"]
    return args


def errors(live: Object) -> list[str]:
    return [one.code for one in check(expanded(live)) if one.severity == "error"]


@pytest.mark.parametrize(
    ("build", "words", "flag"),
    [
        (asked, "--revis v1", "--revision"),
        (asked, "--rev=v1", "--revision"),
        (asked, "--served chat", "--served-model-name"),
        (asked, "--served_model chat", "--served-model-name"),
        (asked, "--lora-mod a=o/m", "--lora-modules"),
        (asked, "--enable-lor", "--enable-lora"),
        (asked, "--max-lora-r 64", "--max-lora-rank"),
        (asked, "--max_cpu=2", "--max-cpu-loras"),
        (asked, "--enable-exp", "--enable-expert-parallel"),
        (of_sglang, "--tp-s 16", "--tp-size"),
        (of_sglang, "--model-p=org/M", "--model-path"),
        (of_sglang, "--ep 16", "--ep-size"),
        (of_sglang, "--expert-para 4", "--ep-size"),
        (of_sglang, "--ep=2", "--ep-size"),
    ],
)
def test_an_abbreviated_flag_is_not_added_again(build: Callable[..., Object], words: str, flag: str) -> None:
    assert flag in written(build())
    assert flag not in written(build(*words.split()))
    assert errors(build(*words.split())) == []


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
    [({"lora": "chat=hf://o/m"}, "FI125"), ({"parallelism": "tensor=4,pipeline=2"}, "FI117")],
)
def test_an_error_of_one_block_is_not_followed_by_what_the_others_did_not_write(
    wrong: dict[str, Any], code: str
) -> None:
    sizes = SIZES if "parallelism" in wrong else ()
    engine = container(image=IMAGE, args=list(sizes), resources=None)
    live = lws(2, template(engine), None, **(BLOCKS | {"parallelism": "tensor=8,pipeline=2"} | wrong))

    assert errors(live) == [code]


# --- SGLang ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--tp-s", "8"], "FI117"),
        (["--dp-s", "2", "--enable-dp-attention"], "FI117"),
        (["--model-p", "org/N"], "FI324"),
        (["--ep", "1"], "FI117"),
        (["--expert-parallel-size=1"], "FI117"),
        (["--tp", "$(SIZE)"], "FI116"),
    ],
    ids=lambda one: one[0] if isinstance(one, list) else one,
)
def test_another_value_of_a_flag_of_sglang_is_an_error(words: list[str], code: str) -> None:
    sizes = "data=4,expert" if code == "FI116" else "tensor=16,data=4,expert"

    assert code in errors(of_sglang(*words, parallelism=sizes))


@pytest.mark.parametrize("words", [["--nn", "2"], ["--nod=1"], ["--dist-i", "a:1"]], ids=lambda one: one[0])
def test_an_abbreviated_launch_of_the_authors_own_is_left_alone(words: list[str]) -> None:
    live = of_sglang("--model-path", "org/M", "--tp", "16", *words, model="", parallelism="")

    assert written(live) == ["--host", "::", "--model-path", "org/M", "--tp", "16", *words]


def test_an_old_sglang_turns_expert_parallelism_on_beside_its_size() -> None:
    assert "--enable-ep-moe" in written(of_sglang("--ep-size", "16", version="0.4.6"))


# --- abbreviations -------------------------------------------------------------------------------------

DIALECTS: Final = {"vllm": VLLM, "sglang": SGLANG}
OTHERS: Final = {"--help", "--no-"}
"""Flags, and beginnings of flags, that Python's parser adds."""


def abbreviations(table: FlagTable, flag: str) -> Iterator[str]:
    """Yield the beginnings of a flag that a release reads as that flag alone; those of one letter aside."""
    for release in table.releases:
        flags = {one for one, (first, last) in table.spans.items() if first <= release <= last} | OTHERS
        for end in range(len("--xx"), len(flag)) if flag in flags else ():
            found = [one for one in flags if one.startswith(flag[:end])]
            if found == [flag]:
                yield flag[:end]


@pytest.mark.parametrize("engine", DIALECTS)
def test_a_flag_that_is_read_is_read_in_each_abbreviation(engine: str) -> None:
    table, names = flag_tables()[engine], DIALECTS[engine].names
    read = [flag for flag in names if flag in table.spans]
    unread = {
        short: flag
        for flag in read
        for short in abbreviations(table, flag)
        if names.get(short) != names[flag] and short not in table.spans
    }

    assert unread == {}
    assert len(read) > 15
