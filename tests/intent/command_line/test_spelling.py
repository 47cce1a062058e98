"""Misspelt flags are found, and no flag of a release, present or future, is taken for one."""

import shlex
from functools import cache
from typing import Final

import pytest

from catalog.flags import OTHER_NAMES, FlagTable, flag_tables
from intent.command_line.command import DIALECTS, read_command
from intent.command_line.dialects import VLLM
from intent.command_line.spelling import FLEXIBLE, Spelling, unparsed
from intent.image import read_image

ENGINES: Final = tuple(OTHER_NAMES)
FLAGS: Final = [(engine, flag) for engine in ENGINES for flag in flag_tables()[engine].spans]
LINES: Final = (
    "vllm serve meta-llama/Llama-3.1-8B-Instruct --dtype auto --api-key token-abc123",
    "vllm serve Qwen/Qwen3-32B -tp 4 --enable-reasoning --reasoning-parser deepseek_r1 --no-enable-log-d",
    "python3 -m vllm.entrypoints.openai.api_server --model org/M --disable-custom-all --worker-use-ray",
    "sglang serve --model-path org/M --moe-a2a-backend deepep --deepep-mode auto --grammar-b x",
    *(
        f"vllm serve org/M {rest}"
        for rest in (
            "--tensor_parallel_size=8 --gpu_memory_utilization 0.95 --max_model_len=32768",
            "--tensor-parallel 8 --pipeline 2 --max-num-b 8192 --gpu-memory-util 0.9",
            "--enable-auto-tool-choice --tool-call-parser hermes --chat-template /t.jinja",
            "--no-enable-prefix-caching --no-async-scheduling --disable-log-requests --enforce-eager",
            "--kv-transfer-config.kv_connector NixlConnector --kv-transfer-config.kv_role=kv_both",
            "--compilation-config.cudagraph_mode FULL -O3 -O.mode=3 -cc.mode 3",
            "--hf-overrides.rope_scaling.factor 2 --limit-mm-per-prompt.image 2",
            '--speculative-config \'{"method": "ngram", "num_speculative_tokens": 4}\'',
            "--enable-lora --lora-modules sql=/a --max-loras 4 --max-lora-rank 64 --max-cpu-loras 8",
            "--quantization fp8 --kv-cache-dtype fp8 --calculate-kv-scales --block-size 64",
            "-dp 16 -dpl 8 --enable-expert-parallel --all2all-backend deepep_low_latency --enable-eplb",
            "--trust-remote-code --served-model-name a b --uvicorn-log-level warning --root-path /v",
            "--max-num-seqs 256 --swap-space 8 --cpu-offload-gb 4 --seed 1 --task embed --runner pooling",
            "--num-scheduler-steps 8 --use-v2-block-manager --guided-decoding-backend xgrammar",
            "--load-format runai_streamer --model-loader-extra-config '{\"concurrency\": 16}'",
            '--rope-scaling \'{"rope_type": "yarn"}\' --tokenizer-mode mistral --config-format mistral',
            "--headless --data-parallel-start-rank 8 --data-parallel-address 10.0.0.1",
            "--plugin-of-ours 1 --x --another-new-flag=2 --enable-something-new --kv-tier-config a",
        )
    ),
    *(
        f"python3 -m sglang.launch_server {rest}"
        for rest in (
            "--model-path org/M --tp 16 --trust-remote-code --host 0.0.0.0",
            "--model org/M --tensor-parallel-size 8 --mem-fraction-static 0.85",
            "--model-path org/M --tp-size 8 --dp 8 --enable-dp-attention --port 30000",
            "--model-path org/M --context-length 8192 --chunked-prefill-size 4096",
            "--model-path org/M --disable-radix-cache --disable-cuda-graph --dtype half",
            "--model-path org/M --enable-metrics --log-requests --schedule-policy lpm",
            "--model-path org/M --speculative-algorithm EAGLE --speculative-num-steps 3",
            "--model-path org/M --disaggregation-mode prefill --disaggregation-ib mlx5_0",
            "--model-path org/M --quantization fp8 --kv-cache-dtype fp8_e5m2 --ep 8",
        )
    ),
)
"""Command lines as the guides of both engines write them, with flags of several releases."""


@cache
def spelling(engine: str) -> Spelling:
    return Spelling(engine, flag_tables()[engine])


def found(line: str) -> list[tuple[str, str]]:
    """Return the misspelt flags of a command line, each with the one that was meant."""
    words = tuple(shlex.split(line))
    command = read_command(words, (), read_image("corp/llm:1"))
    flags = unparsed(command.engine, (), command.flags.given, command.argv)
    return [(command.argv[one.flag.at], one.meant) for one in flags if one.meant]


@pytest.mark.parametrize("line", LINES)
def test_a_usual_command_line_has_no_misspelt_flag(line: str) -> None:
    assert found(line) == []


def test_every_flag_of_a_release_is_accepted_in_every_form() -> None:
    refused = [
        (engine, form)
        for engine, flag in FLAGS
        for form in (flag, f"{flag}.key", f"--no-{flag.removeprefix('--')}", flag[: max(len(flag) - 2, 4)])
        if flag.startswith("--") and form not in OTHER_NAMES[engine]
        if engine == FLEXIBLE or not form.endswith(".key")
        if not spelling(engine).accepts(form)
    ]

    assert refused == []


def test_an_underscore_is_a_hyphen_for_vllm_alone() -> None:
    assert {engine for engine in ENGINES if DIALECTS.get(engine, VLLM).underscored} == {FLEXIBLE}  # type: ignore[call-overload] # some engines have no dialect


def test_every_flag_that_is_read_is_one_of_a_release() -> None:
    unknown = {
        engine: {word for word in DIALECTS.get(engine, VLLM).names if not spelling(engine).accepts(word)}  # type: ignore[call-overload] # some engines have no dialect
        for engine in ENGINES
    }

    assert unknown == {"vllm": {"--dist-init-addr", "--nccl-init-addr"}, "sglang": set()}


def test_a_flag_of_the_next_release_is_never_taken_for_a_misspelt_one() -> None:
    """Compare the flags that each release added with those of the releases before it."""
    taken = {
        (engine, flag, meant)
        for engine in ENGINES
        for at, release in enumerate(flag_tables()[engine].releases[1:], 1)
        for flag in added(engine, release)
        if not (earlier := before(engine, at)).accepts(flag) and (meant := earlier.meant(flag, ()))
    }

    assert taken == set()


def added(engine: str, release: tuple[int, ...]) -> list[str]:
    return [flag for flag, span in flag_tables()[engine].spans.items() if span[0] == release]


@cache
def before(engine: str, at: int) -> Spelling:
    """Return the spelling as it was before a release."""
    table = flag_tables()[engine]
    known = {flag: span for flag, span in table.spans.items() if span[0] < table.releases[at]}
    return Spelling(engine, FlagTable(table.source, table.releases[:at], known, flags=tuple(sorted(known))))


@pytest.mark.parametrize(
    ("word", "version", "meant"),
    [
        ("--dataparallel-backend", (), "--data-parallel-backend"),
        ("--dataparallel-backend", (0, 33, 0), "--data-parallel-backend"),
        ("--dataparallel-backend", (0, 99, 0), "--data-parallel-backend"),
        ("--dataparallel-backend", (0, 8, 5), ""),
        ("--disable-logrequests", (0, 33, 0), ""),
        ("--data-paralel-backend", (), ""),
    ],
)
def test_a_suggestion_is_a_flag_of_the_version(word: str, version: tuple[int, ...], meant: str) -> None:
    assert spelling("vllm").meant(word, version) == meant


@pytest.mark.parametrize(
    "word", ["--$FLAG", "--x y", "--a--b", "--" + "x" * 99, "-", "--", "--9", "--lora-path.", "--modèle"]
)
def test_any_other_word_is_no_misspelt_flag(word: str) -> None:
    assert spelling("vllm").meant(word, ()) == ""


@pytest.mark.parametrize(("version", "gone"), [((0, 33, 0), 1), ((0, 99, 0), 0), ((), 0)])
def test_a_flag_that_is_gone_may_be_back_in_a_later_release(version: tuple[int, ...], gone: int) -> None:
    words = ("vllm", "serve", "M", "--swap-space", "4")
    command = read_command(words, (), read_image("corp/llm:1"))

    assert len([*unparsed("vllm", version, command.flags.given, words)]) == gone


def test_the_number_of_comparisons_is_bounded() -> None:
    words = ("vllm", "serve", "org/M", *(f"--Tensor-Parallel-Size{at}" for at in range(50)), "--prot=1")

    command = read_command(words, (), read_image("corp/llm:1"))

    assert len(list(unparsed("vllm", (), command.flags.given, words))) <= 10
