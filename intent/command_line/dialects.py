"""The flags of each engine and their spellings: tables for `intent.command_line.flags`.

vLLM's `FlexibleArgumentParser` (`vllm/utils/argparse_utils.py`): `_` is `-` in a flag's name, an unambiguous
abbreviation is valid, a short flag of one letter may be joined with its value (`-n2`), a longer one never.
SGLang and LMDeploy take Python's own `argparse` (`sglang/srt/server_args.py`,
`lmdeploy/cli/utils.py`), TensorRT-LLM takes click (`tensorrt_llm/commands/serve.py`).
"""

from collections.abc import Iterable
from typing import Final

from catalog.flags import flag_tables
from intent.command_line.flags import (
    CONFIG,
    CONTEXT,
    DATA,
    EXPERTS,
    HOST,
    LOCAL_DATA,
    MODEL,
    PIPELINE,
    PORT,
    RANK,
    RPC,
    SHARED_DATA,
    TENSOR,
    Dialect,
)

_VALUED: Final = frozenset({
    *("model", "config", "host", "port", "device", "distributed-executor-backend", "kv-transfer-config"),
    *("tensor-parallel-size", "pipeline-parallel-size", "prefill-context-parallel-size"),
    *("decode-context-parallel-size", "data-parallel-size", "data-parallel-size-local", "data-parallel-rank"),
    *("data-parallel-start-rank", "data-parallel-supervisor-port", "data-parallel-address"),
    *("data-parallel-rpc-port", "data-parallel-backend", "api-server-count", "nnodes", "node-rank"),
    *("master-addr", "master-port", "dist-init-addr", "nccl-init-addr", "dtype", "seed", "quantization"),
    *("load-format", "download-dir", "tokenizer", "revision", "max-model-len", "max-num-seqs"),
    *("max-num-batched-tokens", "block-size", "kv-cache-dtype", "gpu-memory-utilization", "chat-template"),
    *("reasoning-parser", "tool-call-parser"),
})  # fmt: skip
"""Flags with exactly one value: those that are read here, and the most common others."""
_SWITCHES: Final = frozenset({
    *("headless", "async-scheduling", "data-parallel-hybrid-lb", "data-parallel-external-lb"),
    *("data-parallel-multi-port-external-lb", "trust-remote-code", "enforce-eager", "enable-expert-parallel"),
})  # fmt: skip
_SHORT: Final = {
    "-tp": TENSOR,
    "-pp": PIPELINE,
    "-dp": DATA,
    "-pcp": CONTEXT,
    "-dcp": "decode-context-parallel-size",
    "-dpl": LOCAL_DATA,
    "-dpn": RANK,
    "-dpr": "data-parallel-start-rank",
    "-dpa": "data-parallel-address",
    "-dpp": RPC,
    "-dpb": "data-parallel-backend",
    "-asc": "api-server-count",
    "-n": "nnodes",
    "-r": "node-rank",
    "-q": "quantization",
}
_SHORT_SWITCHES: Final = {
    "-dph": "data-parallel-hybrid-lb",
    "-dpe": "data-parallel-external-lb",
    "-dpm": "data-parallel-multi-port-external-lb",
    "-ep": "enable-expert-parallel",
}
_ASKED: Final = (
    *("--enable-lora", "--no-enable-lora", "--no-enable-expert-parallel"),
    *("--served-model-name", "--lora-modules", "--max-lora-rank", "--max-cpu-loras"),
)
"""Flags that blocks write, and that an author may have abbreviated: they keep their dashes."""
_SGLANG: Final = {
    **dict.fromkeys(("model-path", "model"), MODEL),
    **dict.fromkeys(("tp-size", "tensor-parallel-size"), TENSOR),
    **dict.fromkeys(("pp-size", "pipeline-parallel-size"), PIPELINE),
    **dict.fromkeys(("dp-size", "data-parallel-size"), DATA),
    **dict.fromkeys(("ep-size", "expert-parallel-size"), "--ep-size"),
    **{
        name: name
        for name in (
            *("config", "host", "port", "device", "nnodes", "node-rank", "dist-init-addr", "nccl-init-addr"),
            *("disaggregation-mode", "disaggregation-bootstrap-port", "disaggregation-transfer-backend"),
            *(SHARED_DATA, "trust-remote-code"),
        )
    },
    **{name: f"--{name}" for name in ("enable-ep-moe", "enable-lora")},
}
"""SGLang's flags that are read here, and the names that the code uses."""
_SGLANG_ASKED: Final = (
    *("--served-model-name", "--revision", "--lora-paths", "--max-lora-rank"),
    *("--max-loras-per-batch", "--max-loaded-loras"),
)
_LMDEPLOY: Final = {
    "--tp": TENSOR,
    "--dp": DATA,
    "--ep": EXPERTS,
    "--server-name": HOST,
    "--server-port": PORT,
    **{f"--{name}": name for name in ("nnodes", "node-rank", "dist-init-addr", "backend")},
}
_TENSORRT: Final = {
    **dict.fromkeys(("--tp_size", "--tensor_parallel_size"), TENSOR),
    **dict.fromkeys(("--pp_size", "--pipeline_parallel_size"), PIPELINE),
    **dict.fromkeys(("--cp_size", "--context_parallel_size"), CONTEXT),
    **dict.fromkeys(("--config", "--extra_llm_api_options"), CONFIG),
    **{f"--{name}": name for name in (HOST, PORT, "backend")},
}
_SWITCH_NAMES: Final = frozenset({SHARED_DATA, "trust-remote-code", "--enable-ep-moe", "--enable-lora"})


def _spelled(engine: str, flags: Iterable[str]) -> dict[str, str]:
    """Return the flag of each beginning by which some release of an engine reads it."""
    shortest = flag_tables()[engine].shortest
    return {flag[:end]: flag for flag in flags for end in range(shortest(flag), len(flag) + 1)}


def _dialect(names: dict[str, str], asked: dict[str, str]) -> Dialect:
    return Dialect(names | asked, frozenset(names.values()) - _SWITCH_NAMES, underscored=False)


_NAMED: Final = {
    spelled: flag.removeprefix("--")
    for spelled, flag in _spelled("vllm", (f"--{name}" for name in _VALUED | _SWITCHES)).items()
}
VLLM: Final = Dialect(
    {**_NAMED, **_SHORT, **_SHORT_SWITCHES, **_spelled("vllm", _ASKED)},
    _VALUED,
    underscored=True,
    letters={short: name for short, name in _SHORT.items() if len(short) == 2},
)
_OF_SGLANG: Final = {
    spelled: _SGLANG[flag.removeprefix("--")]
    for spelled, flag in _spelled("sglang", (f"--{name}" for name in _SGLANG)).items()
}
SGLANG: Final = _dialect(_OF_SGLANG, _spelled("sglang", _SGLANG_ASKED))
LMDEPLOY: Final = _dialect(_LMDEPLOY, {})
TENSORRT: Final = _dialect(_TENSORRT, {})
