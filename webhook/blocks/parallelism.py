"""The block `parallelism`: the flags of the sizes that an author asks for, in the words of the engine.

A flag of the author's stays, and must not contradict the annotation. Nothing that is asked for is dropped: an
engine without a flag for it is an error. Where the engine requests no accelerator, each pod gets its share of
the product of the sizes.
"""

from collections.abc import Iterator
from typing import Final

from intent.annotations import PARALLELISM as KEY
from intent.annotations import path
from intent.command_line.flags import CONTEXT, DATA, EXPERT_PARALLEL, LOCAL_DATA, PIPELINE, RPC, TENSOR
from intent.errors import FieldError
from intent.launch import Launch, on_cpu, read_size, shares_ranks
from intent.lws import NO_ACCELERATORS, Accelerators, Intent
from intent.parallelism import Parallelism
from intent.settings import Settings
from webhook.blocks.block import Block, Wish


def parallelism(launch: Launch, intent: Intent) -> Iterator[Wish | FieldError]:
    """Yield a flag for each kind of parallelism, or that the engine has none for it.

    Source: vLLM `vllm/engine/arg_utils.py`, SGLang `sglang/srt/server_args.py` and
    `sglang/srt/arg_groups/fields/parallel.py`. SGLang spreads ranks over the nodes evenly and joins them on
    the port of `--dist-init-addr`, so it has no flag for the ranks of one pod, which validators check, and
    none for a port.
    """
    sizes, is_vllm = intent.parallelism, launch.command.engine == "vllm"
    if sizes is None:
        return
    for name, value, known, flag in (
        ("tensor", sizes.tensor, TENSOR, "--tp-size"),
        ("pipeline", sizes.pipeline, PIPELINE, "--pp-size"),
        ("data", sizes.data, DATA, "--dp-size"),
        ("dataLocal", sizes.data_local if is_vllm else 0, LOCAL_DATA, ""),
        ("dataRPCPort", sizes.rpc_port, RPC, ""),
    ):
        if value and not (is_vllm or flag):
            yield _unsupported(launch, name)
        elif value:
            words = (f"--{known}" if is_vllm else flag, str(value))
            yield Wish(words, (known,), words[1:], asked=f"{name}={value}")
    if sizes.expert and is_vllm:
        yield Wish(
            (f"--{EXPERT_PARALLEL}",), (EXPERT_PARALLEL,), against=f"--no-{EXPERT_PARALLEL}", asked="expert"
        )
    elif sizes.expert:
        yield from _experts_of_sglang(launch, sizes)


_HAS_EXPERT_SIZE: Final = (0, 4, 10)
"""Before it `--enable-ep-moe` turns expert parallelism on, and sets the size."""


def _experts_of_sglang(launch: Launch, sizes: Parallelism) -> Iterator[Wish | FieldError]:
    """Yield SGLang's flag of expert parallelism: the experts are spread over the tensor-parallel group."""
    version, switch = launch.image.version, "--enable-ep-moe"
    names = ("--ep-size", switch)
    if version and version < _HAS_EXPERT_SIZE:
        yield Wish((switch,), (switch,))
    elif group := sizes.tensor or read_size(launch, TENSOR):
        words, off = ("--ep-size", str(group)), "1" if group > 1 else ""
        yield Wish(words, names, words[1:], off=off, asked="expert")
    elif not any(map(launch.command.flags.last, names)):
        instead = "write the tensor parallel size as a number, or --ep-size yourself"
        yield _unsupported(launch, "expert", instead)


def _unsupported(launch: Launch, name: str, instead: str = "remove it") -> FieldError:
    message = f"{launch.command.engine} has no setting for {name}: {instead}"
    return FieldError(path(KEY), None, message, "FI116", part=name)


# --- accelerators -------------------------------------------------------------------------------------


def accelerators(launch: Launch, intent: Intent, settings: Settings) -> Accelerators:
    """Return what each pod requests for its share of the sizes, where it requests none itself."""
    engine, template, sizes = launch.engine, launch.template, intent.parallelism or Parallelism()
    is_asked = bool(sizes.tensor or sizes.pipeline or sizes.data) and bool(settings.accelerator)
    if not is_asked or engine.accelerators != NO_ACCELERATORS or on_cpu(launch):
        return NO_ACCELERATORS
    if engine.extended.value or template.pod.value.accelerated.value:
        return NO_ACCELERATORS
    data = 1 if shares_ranks(launch) else sizes.data or read_size(launch, DATA)
    factors = (sizes.tensor or read_size(launch, TENSOR), sizes.pipeline or read_size(launch, PIPELINE), data)
    needed = 1
    for factor in (*factors, read_size(launch, CONTEXT)):
        needed *= factor or 0
    share = -(-needed // intent.size)
    return Accelerators(settings.accelerator, share) if share else NO_ACCELERATORS


PARALLELISM: Final = Block("parallelism", KEY, parallelism, "FI117")
