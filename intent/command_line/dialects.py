"""The flags of each engine and their spellings: tables for `intent.command_line.flags`.

vLLM's `FlexibleArgumentParser` (`vllm/utils/argparse_utils.py`): `_` is `-` in a flag's name, an unambiguous
abbreviation is valid, a short flag of one letter may be joined with its value (`-n2`), a longer one never.
SGLang and LMDeploy take Python's own `argparse` (`sglang/srt/server_args.py`,
`lmdeploy/cli/utils.py`), TensorRT-LLM takes click (`tensorrt_llm/commands/serve.py`).
"""

from typing import Final, NamedTuple

from intent.command_line.flags import (
    ASYNC_SCHEDULING,
    BACKEND,
    BACKEND_OF_TRANSFER,
    BOOTSTRAP,
    CONFIG,
    CONTEXT,
    DATA,
    DATA_BACKEND,
    DEVICE,
    EXPERT_PARALLEL,
    EXPERTS,
    EXTERNAL,
    HEADLESS,
    HOST,
    HYBRID,
    LOCAL_DATA,
    MODE,
    MODEL,
    MULTI_PORT,
    PIPELINE,
    PORT,
    RANK,
    RPC,
    SERVERS,
    SHARED_DATA,
    START_RANK,
    SUPERVISOR,
    TENSOR,
    TRANSFER,
    Dialect,
    Flag,
)


class _Row(NamedTuple):
    name: str
    shortest: str = ""
    """The shortest abbreviation that is unambiguous in at least one release."""
    short: str = ""


_VALUED: Final = (
    _Row(MODEL),
    _Row(CONFIG),
    _Row(PORT, "po"),
    _Row(BACKEND, "dist"),
    _Row(TENSOR, "te", "-tp"),
    _Row(PIPELINE, "pi", "-pp"),
    _Row(DATA, "da", "-dp"),
    _Row(CONTEXT, "prefil", "-pcp"),
    _Row("decode-context-parallel-size", "dec", "-dcp"),
    _Row(LOCAL_DATA, "data-parallel-size-", "-dpl"),
    _Row(RANK, "data-parallel-ra", "-dpn"),
    _Row(START_RANK, "data-parallel-st", "-dpr"),
    _Row(SUPERVISOR, "data-parallel-su"),
    _Row("data-parallel-address", "data-parallel-a", "-dpa"),
    _Row(RPC, "data-parallel-r", "-dpp"),
    _Row(DATA_BACKEND, "data-parallel-b", "-dpb"),
    _Row(SERVERS, "api-s", "-asc"),
    _Row("nnodes", "nn", "-n"),
    _Row("node-rank", "nod", "-r"),
    _Row("dist-init-addr"),
    _Row("nccl-init-addr"),
    _Row("master-addr"),
    _Row("master-port"),
    _Row(HOST, "ho"),
    _Row(DEVICE, "de"),
    _Row("dtype"),
    _Row("seed"),
    _Row("quantization", "", "-q"),
    _Row("load-format"),
    _Row("download-dir"),
    _Row("tokenizer"),
    _Row("revision", "rev"),
    _Row("max-model-len"),
    _Row("max-num-seqs"),
    _Row("max-num-batched-tokens"),
    _Row("block-size"),
    _Row("kv-cache-dtype"),
    _Row(TRANSFER, "kv-t"),
    _Row("gpu-memory-utilization"),
    _Row("chat-template"),
    _Row("reasoning-parser"),
    _Row("tool-call-parser"),
)
"""Flags with exactly one value: those that are read here, and the most common others."""
_SWITCHES: Final = (
    _Row(HEADLESS, "hea"),
    _Row(ASYNC_SCHEDULING, "as"),
    _Row(HYBRID, "data-parallel-h", "-dph"),
    _Row(EXTERNAL, "data-parallel-e", "-dpe"),
    _Row(MULTI_PORT, "data-parallel-m", "-dpm"),
    _Row("trust-remote-code"),
    _Row("enforce-eager"),
    _Row(EXPERT_PARALLEL, "enable-e", "-ep"),
)
_ASKED_SWITCHES: Final = (
    _Row("enable-lora", "enable-lor"),
    _Row("no-enable-lora", "no-enable-lor"),
    _Row("no-enable-expert-parallel", "no-enable-e"),
)
_ASKED: Final = (
    *_ASKED_SWITCHES,
    _Row("served-model-name", "ser"),
    _Row("lora-modules", "lora-m"),
    _Row("max-lora-rank", "max-lora-"),
    _Row("max-cpu-loras", "max-c"),
)
"""Flags that blocks write, and that an author may have abbreviated: they keep their dashes."""
_SGLANG: Final[dict[str, tuple[_Row, ...]]] = {
    MODEL: (_Row("model-path", "mo"), _Row("model")),
    CONFIG: (_Row("config", "conf"),),
    HOST: (_Row("host", "ho"),),
    PORT: (_Row("port", "p"),),
    DEVICE: (_Row("device", "dev"),),
    TENSOR: (_Row("tp-size", "tp"), _Row("tensor-parallel-size", "te")),
    PIPELINE: (_Row("pp-size", "pp"), _Row("pipeline-parallel-size", "pi")),
    DATA: (_Row("dp-size", "dp"), _Row("data-parallel-size", "da")),
    "nnodes": (_Row("nnodes", "nn"),),
    "node-rank": (_Row("node-rank", "no"),),
    "dist-init-addr": (_Row("dist-init-addr", "dist"),),
    "nccl-init-addr": (_Row("nccl-init-addr", "nc"),),
    MODE: (_Row(MODE, "disaggregation-m"),),
    BOOTSTRAP: (_Row(BOOTSTRAP, "disaggregation-b"),),
    BACKEND_OF_TRANSFER: (_Row(BACKEND_OF_TRANSFER, "disaggregation-t"),),
    SHARED_DATA: (_Row(SHARED_DATA, "enable-dp"),),
    "trust-remote-code": (_Row("trust-remote-code", "tru"),),
    "--ep-size": (_Row("ep-size", "ep"), _Row("expert-parallel-size", "ex")),
    "--enable-ep-moe": (_Row("enable-ep-moe", "enable-e"),),
    "--enable-lora": (_Row("enable-lora", "enable-l"),),
}
"""SGLang's flags that are read here, by the names that the code uses."""
_SGLANG_ASKED: Final = (
    _Row("served-model-name", "se"),
    _Row("revision", "rev"),
    _Row("lora-paths", "lora-p"),
    _Row("max-lora-rank", "max-lora-"),
    _Row("max-loras-per-batch", "max-l"),
    _Row("max-loaded-loras", "max-loa"),
)
_LMDEPLOY: Final = {
    "tp": TENSOR,
    "dp": DATA,
    "ep": EXPERTS,
    "server-name": HOST,
    "server-port": PORT,
    "nnodes": "nnodes",
    "node-rank": "node-rank",
    "dist-init-addr": "dist-init-addr",
    "backend": "backend",
    "model-name": "model-name",
    "session-len": "session-len",
}
_TENSORRT: Final = {
    "tp_size": TENSOR,
    "tensor_parallel_size": TENSOR,
    "pp_size": PIPELINE,
    "pipeline_parallel_size": PIPELINE,
    "cp_size": CONTEXT,
    "context_parallel_size": CONTEXT,
    "config": CONFIG,
    "extra_llm_api_options": CONFIG,
    "host": HOST,
    "port": PORT,
    "backend": "backend",
    "trust_remote_code": "trust-remote-code",
}
_SWITCH_NAMES: Final = frozenset({SHARED_DATA, "trust-remote-code", "--enable-ep-moe", "--enable-lora"})


def _spellings(row: _Row) -> dict[str, str]:
    shortest = len(row.shortest or row.name)
    long = {f"--{row.name[:end]}": row.name for end in range(shortest, len(row.name) + 1)}
    return long | ({row.short: row.name} if row.short else {})


def _named(rows: tuple[_Row, ...]) -> dict[str, str]:
    return {spelled: name for row in rows for spelled, name in _spellings(row).items()}


def _dashed(rows: tuple[_Row, ...]) -> dict[str, str]:
    return {spelled: f"--{name}" for spelled, name in _named(rows).items()}


def _dialect(names: dict[str, str], asked: dict[str, str]) -> Dialect:
    known = frozenset(names.values())
    return Dialect(names | asked, known - _SWITCH_NAMES, underscored=False, switches=known & _SWITCH_NAMES)


def _spelled(names: dict[str, str]) -> Dialect:
    return _dialect({f"--{name}": known for name, known in names.items()}, {})


VLLM: Final = Dialect(
    _named(_VALUED + _SWITCHES) | _dashed(_ASKED),
    frozenset(row.name for row in _VALUED),
    underscored=True,
    switches=frozenset((*_named(_SWITCHES).values(), *_dashed(_ASKED_SWITCHES).values())),
    letters={row.short: row.name for row in _VALUED if len(row.short) == 2},
)
_OF_SGLANG: Final = {spelled: name for name, rows in _SGLANG.items() for spelled in _named(rows)}
SGLANG: Final = _dialect(_OF_SGLANG, _dashed(_SGLANG_ASKED))
LMDEPLOY: Final = _spelled(_LMDEPLOY)
TENSORRT: Final = _spelled(_TENSORRT)
_SHORTS: Final = frozenset(row.short for row in _VALUED if len(row.short) > 2)
"""Short flags that argparse does not accept joined with a value, unlike one letter (`-n2`)."""


def fused_short(flag: Flag) -> str:
    """Return the short flag of `-tp8`; empty for any other flag."""
    short = flag.name.rstrip("0123456789")
    return short if short != flag.name and short in _SHORTS else ""
