"""What admission writes, parsed by SGLang's own argument parser: `make soak SOAK=sglang`.

The parsers are those of two releases, from their wheels, and run without PyTorch (`inert.py`).
"""

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, Final

import pytest

from intent import Object
from intent.command_line.dialects import SGLANG as DIALECT
from tests.builders.lws import container, lws, template
from tests.engine_parser.answers import flags, parsed, started, unlike
from tests.engine_parser.install import SGLANG, SGLANG_NOW, Release
from tests.engine_parser.started import write_programs
from webhook.check import check
from webhook.expand import expanded

EACH: Final = pytest.mark.parametrize("release", [SGLANG, SGLANG_NOW], ids=lambda one: one.version)
LAUNCHERS: Final = ("sglang", "none")
SHAPES: Final[dict[str, dict[str, Any]]] = {
    "module": {"command": ["python3", "-m", "sglang.launch_server"], "args": ["--random-seed", "7"]},
    "program": {"command": ["sglang", "serve"], "args": ["--random-seed=7"]},
    "script": {"command": ["/bin/sh", "-c"], "args": ["cd / && exec sglang serve --random-seed 7"]},
}
SIZES: Final[dict[str, Object]] = {
    "tensor=8,pipeline=2": {"tp_size": 8, "pp_size": 2, "dp_size": 1, "ep_size": 1},
    "tensor=16,expert": {"tp_size": 16, "ep_size": 16},
}
ADAPTERS: Final = "sql=hf://acme/sql,Law.v2/x=pvc://adapters/law,maxRank=64,maxAdapters=2,maxCpuAdapters=4"
MODEL: Final = {"model": "hf://org/M:v1", "model_name": "chat"}
BLOCKS: Final = {"lora": ADAPTERS, **MODEL}
FILLED: Final[Object] = {
    "model_path": "org/M",
    "revision": "v1",
    "served_model_name": "chat",
    "random_seed": 7,
    "lora_paths": ["sql=acme/sql", "Law.v2/x=/mnt/lora/law-v2-x"],
    "max_lora_rank": 64,
    "max_loras_per_batch": 2,
    "max_loaded_loras": 4,
}
JOINED: Final[Object] = {"dist_init_addr": "x-0.x.default:20000", "nnodes": 2, "node_rank": 1}
OWN: Final[tuple[tuple[str, str], ...]] = (
    ("--tp-size", "8"),
    ("--tensor-parallel-size", "8"),
    ("--pipeline-parallel-size", "2"),
    ("--ep", "8"),
    ("--expert-parallel-size", "8"),
    ("--model-path", "org/M"),
    ("--served-model-name", "chat"),
    ("--revision", "v1"),
    ("--max-lora-rank", "64"),
    ("--max-loras-per-batch", "2"),
    ("--max-loaded-loras", "4"),
)
"""Flags of an author with the values that the annotations ask for."""


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("programs")
    write_programs(folder, "sglang")
    return folder


def image(release: Release) -> str:
    return f"lmsysorg/sglang:v{release.version}"


def errors(file: Object) -> list[str]:
    return [one.code for one in check(expanded(file)) if one.severity == "error"]


# --- what the blocks write ----------------------------------------------------------------------------


def asked(release: Release) -> Iterator[tuple[str, Object, Object]]:
    """Yield objects with all blocks, each with its name and the fields that are meant."""
    for launcher, sizes, shape in product(LAUNCHERS, SIZES, SHAPES):
        engine = container(image=image(release), resources=None, **SHAPES[shape])
        size = 1 if launcher == "none" else 2
        file = lws(size, template(engine), None, launcher=launcher, parallelism=sizes, **BLOCKS)
        if not errors(file):
            meant = SIZES[sizes] | FILLED | (JOINED if size > 1 else {})
            yield f"{launcher}, {sizes}, {shape}", expanded(file), meant


@EACH
def test_every_block_has_the_values_that_are_meant(release: Release, programs: Path) -> None:
    cases = list(asked(release))
    assert unlike(release, cases, programs) == []
    assert len(cases) == len(LAUNCHERS) * len(SIZES) * len(SHAPES)


# --- flags of the author's own ------------------------------------------------------------------------


def spellings(names: set[str]) -> Iterator[list[str]]:
    """Yield the words of each flag in each abbreviation that the release accepts, in both forms."""
    for flag, value in OWN:
        for end in range(len("--xx"), len(flag) + 1):
            short = flag[:end]
            if short == flag or [one for one in names if one.startswith(short)] == [flag]:
                yield from ([short, value], [f"{short}={value}"])


@EACH
@pytest.mark.parametrize("again", [[], ["--random-seed", "7"]], ids=["last", "before others"])
def test_the_author_s_flag_is_there_once_and_stays(
    release: Release, again: list[str], programs: Path
) -> None:
    cases = []
    for words in spellings(flags(release)):
        shape: dict[str, Any] = {"command": ["sglang", "serve"], "args": [*words, *again]}
        engine = container(image=image(release), resources=None, **shape)
        cases.append(lws(2, template(engine), None, parallelism="tensor=8,pipeline=2,expert", **BLOCKS))
    found = [started(expanded(file), programs)["workerTemplate/vllm"] for file in cases]
    plain = lws(
        2,
        template(container(image=image(release), resources=None, command=["sglang", "serve"], args=again)),
        None,
        parallelism="tensor=8,pipeline=2,expert",
        **BLOCKS,
    )
    expected, *answers = parsed(release, started(expanded(plain), programs)["workerTemplate/vllm"], *found)

    assert [errors(file) for file in cases if errors(file)] == []
    assert [one for one in answers if one != expected] == []
    assert [words for words in found if repeated(words)] == []
    assert len(cases) > 2 * len(OWN)


def repeated(words: list[str]) -> set[str]:
    """Return the settings that a list of words has twice, by the names that admission reads."""
    names = [DIALECT.names.get(word.partition("=")[0], word) for word in words if word.startswith("--")]
    return {name for name in names if names.count(name) > 1}


@EACH
def test_the_authors_own_flag_with_another_value_is_an_error(release: Release) -> None:
    accepted = []
    for words in spellings(flags(release)):
        value = words[-1].rpartition("=")[2]
        other = "1" if value.isdecimal() else "other"
        wrong = [*words[:-1], words[-1].removesuffix(value) + other]
        engine = container(image=image(release), resources=None, command=["sglang", "serve"], args=wrong)
        file = lws(2, template(engine), None, parallelism="tensor=8,pipeline=2,expert", **BLOCKS)
        if not set(errors(file)) & {"FI117", "FI124", "FI324"}:
            accepted.append(wrong)

    assert accepted == []
