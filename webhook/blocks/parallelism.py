"""The block `parallelism`: the flags of the sizes that an author asks for, in the words of the engine.

A flag of the author's stays, and must not contradict the annotation. Nothing that is asked for is dropped: an
engine without a flag for it is an error. Where the engine requests no accelerator, each pod gets its share of
the product of the sizes.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

from intent.annotations import PARALLELISM as KEY
from intent.annotations import path
from intent.command_line.flags import CONTEXT, DATA, EXPERT_PARALLEL, LOCAL_DATA, PIPELINE, RPC, TENSOR
from intent.errors import FieldError
from intent.launch import (
    Launch,
    on_cpu,
    quoted,
    read_size,
    shares_ranks,
    spelled,
    value_of,
)
from intent.lws import LWT, NO_ACCELERATORS, Accelerators, Intent
from intent.parallelism import Parallelism
from intent.settings import Settings
from webhook.blocks.block import Block, BlockArguments, contradiction


class _Wish(NamedTuple):
    """One kind of parallelism, in the words of an engine."""

    name: str
    """The name in the annotation."""
    value: int
    flag: str
    """Empty: the engine has none."""
    names: tuple[str, ...] = ()
    """The author's own flags for it, as the parser names them."""
    switch: bool = False
    """Whether the flag takes no value."""
    against: str = ""
    """The author's own flag that says the opposite."""
    off: str = ""
    """The value of the author's own flag that says the opposite; empty: every other one does."""
    instead: str = "remove it"
    """What its author may do if the engine has no flag for it."""


def parallelism(launch: Launch, intent: Intent, settings: Settings) -> BlockArguments:
    """Return a flag for each kind of parallelism that the author asks for and has no flag for."""
    sizes = intent.parallelism
    if sizes is None:
        return BlockArguments()
    wishes = [wish for wish in _WISHES[launch.command.engine](launch, sizes) if wish.value]
    flags = [word for wish in wishes if wish.flag and not _is_given(launch, wish) for word in _words(wish)]
    needed = _accelerators(launch, sizes, intent.size, settings)
    findings = (
        *(one for wish in wishes for one in _findings(launch, wish)),
        *_many(needed, intent.size),
    )
    return BlockArguments(flags=tuple(flags), findings=findings, accelerators=needed)


def _vllm(_launch: Launch, sizes: Parallelism) -> Iterator[_Wish]:
    """Yield vLLM's flags. Source: `vllm/engine/arg_utils.py`."""
    yield _Wish("tensor", sizes.tensor, "--tensor-parallel-size", (TENSOR,))
    yield _Wish("pipeline", sizes.pipeline, "--pipeline-parallel-size", (PIPELINE,))
    yield _Wish("data", sizes.data, "--data-parallel-size", (DATA,))
    yield _Wish("dataLocal", sizes.data_local, "--data-parallel-size-local", (LOCAL_DATA,))
    yield _Wish("dataRPCPort", sizes.rpc_port, "--data-parallel-rpc-port", (RPC,))
    flag, against = f"--{EXPERT_PARALLEL}", f"--no-{EXPERT_PARALLEL}"
    yield _Wish("expert", int(sizes.expert), flag, (EXPERT_PARALLEL,), switch=True, against=against)


_HAS_EXPERT_SIZE: Final = (0, 4, 10)
"""Before it `--enable-ep-moe` turns expert parallelism on, and sets the size."""


def _sglang(launch: Launch, sizes: Parallelism) -> Iterator[_Wish]:
    """Yield SGLang's flags. Source: `sglang/srt/server_args.py`, `sglang/srt/arg_groups/fields/parallel.py`.

    Ranks are spread over the nodes evenly and join on the port of `--dist-init-addr`, so it has no flag for
    the ranks of one pod, which validators check, and none for a port. The experts are spread over the
    tensor-parallel group.
    """
    yield _Wish("tensor", sizes.tensor, "--tp-size", (TENSOR,))
    yield _Wish("pipeline", sizes.pipeline, "--pp-size", (PIPELINE,))
    yield _Wish("data", sizes.data, "--dp-size", (DATA,))
    yield _Wish("dataRPCPort", sizes.rpc_port, "")
    version, switch, names = launch.image.version, "--enable-ep-moe", ("--ep-size", "--enable-ep-moe")
    if version and version < _HAS_EXPERT_SIZE:
        yield _Wish("expert", int(sizes.expert), switch, (switch,), switch=True)
    elif group := sizes.tensor or read_size(launch, TENSOR):
        off = "1" if group > 1 else ""
        yield _Wish("expert", group if sizes.expert else 0, "--ep-size", names, off=off)
    elif not any(map(launch.command.flags.last, names)):
        instead = "write the tensor parallel size as a number, or --ep-size yourself"
        yield _Wish("expert", int(sizes.expert), "", instead=instead)


_WISHES: Final[Mapping[str, Callable[[Launch, Parallelism], Iterator[_Wish]]]] = {
    "vllm": _vllm,
    "sglang": _sglang,
}


def _is_given(launch: Launch, wish: _Wish) -> bool:
    """Return whether the author has a flag of their own for it."""
    return any(launch.command.flags.last(name) for name in wish.names)


def _words(wish: _Wish) -> tuple[str, ...]:
    return (wish.flag,) if wish.switch else (wish.flag, str(wish.value))


# --- findings -----------------------------------------------------------------------------------------


def _findings(launch: Launch, wish: _Wish) -> Iterator[FieldError]:
    """Report what the engine has no flag for, and flags of the author's with another value."""
    if not wish.flag:
        message = f"{launch.command.engine} has no setting for {wish.name}: {wish.instead}"
        yield FieldError(path(KEY), None, message, "FI116", part=wish.name)
        return
    for flag in filter(None, map(launch.command.flags.last, (*wish.names, wish.against))):
        value = value_of(launch, flag)
        differs = value == wish.off if wish.off else value not in {None, str(wish.value)}
        if flag.name == wish.against or (not wish.switch and differs):
            asked = wish.name if wish.switch or wish.off else f"{wish.name}={wish.value}"
            shown = spelled(launch, flag) if wish.switch else quoted(launch, flag)
            yield contradiction(launch, flag.value_at, f"{shown} contradicts {asked} in {KEY}", "FI117")


# --- accelerators -------------------------------------------------------------------------------------


def _accelerators(launch: Launch, sizes: Parallelism, pods: int, settings: Settings) -> Accelerators:
    """Return what each pod requests for its share of the sizes, where it requests none itself."""
    engine, template = launch.engine, launch.template
    is_asked = bool(sizes.tensor or sizes.pipeline or sizes.data) and bool(settings.accelerator)
    if not is_asked or engine.accelerators != NO_ACCELERATORS or on_cpu(launch):
        return NO_ACCELERATORS
    if engine.extended.value or template.pod.value.accelerated:
        return NO_ACCELERATORS
    data = 1 if shares_ranks(launch) else sizes.data or read_size(launch, DATA)
    factors = (sizes.tensor or read_size(launch, TENSOR), sizes.pipeline or read_size(launch, PIPELINE), data)
    needed = 1
    for factor in (*factors, read_size(launch, CONTEXT)):
        needed *= factor or 0
    share = -(-needed // pods)
    return Accelerators(settings.accelerator, share) if share else NO_ACCELERATORS


_OF_A_NODE: Final = 8
"""Accelerators of the largest common nodes."""


def _many(asked: Accelerators, pods: int) -> Iterator[FieldError]:
    """Report a share that few nodes can hold: the size of the group was probably forgotten."""
    if asked.count > _OF_A_NODE:
        message = (
            f"each pod requests {asked.count} {asked.resource}, and few nodes have more than {_OF_A_NODE}: "
            f"set {LWT}.size to {-(-asked.count * pods // _OF_A_NODE)}, or request them yourself"
        )
        yield FieldError(path(KEY), None, message, "FI550")


PARALLELISM: Final = Block("parallelism", KEY, parallelism)
