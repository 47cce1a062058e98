"""The number of tensor-parallel parts against what is known of the model: its heads, its FP8 blocks."""

from collections.abc import Callable, Iterator

from catalog.engines import Engines, Model, known_model
from intent.command_line.flags import DATA, SHARED_DATA, TENSOR
from intent.errors import FieldError
from intent.launch import Launch, model_of, read_size, word_path


def model(launch: Launch, engines: Engines) -> Iterator[FieldError]:
    """Find sizes with which the engine refuses to load the model."""
    flag, tensor = launch.command.flags.last(TENSOR), read_size(launch, TENSOR)
    if flag is None or tensor is None:
        return
    known = known_model(engines, model_of(launch) or "")
    message = _heads(launch, tensor, known) or _blocks(tensor, known) or _power(launch, tensor)
    if message:
        yield FieldError(word_path(launch, flag.value_at), None, message, "FI503")


def _heads(launch: Launch, tensor: int, known: Model | None) -> str:
    """All engines share the heads evenly (vLLM `vllm/config/model.py`, `verify_with_parallel_config`)."""
    parts = max(tensor // _shared(launch), 1)
    if known is None or not known.heads % parts:
        return ""
    best = _most(parts, lambda fewer: not known.heads % fewer)
    return f"the model has {known.heads} attention heads, which {parts} parts do not share evenly: use {best}"


def _shared(launch: Launch) -> int:
    """Say how many data-parallel ranks share the tensor parts, each with whole attention of its own."""
    is_shared = launch.command.engine == "lmdeploy" or launch.command.flags.last(SHARED_DATA)
    return (read_size(launch, DATA) or 1) if is_shared else 1


def _blocks(tensor: int, known: Model | None) -> str:
    def splits(parts: int) -> bool:
        return known is None or not any(width % (parts * known.block) for width in known.widths)

    if known is None or not known.block or splits(tensor):
        return ""
    best = _most(tensor, splits)
    return f"this FP8 model does not split into {tensor} parts of whole blocks of {known.block}: use {best}"


def _power(launch: Launch, tensor: int) -> str:
    """LMDeploy `lmdeploy/cli/utils.py`: a size of tensor parallelism should be 2^n."""
    if launch.command.engine != "lmdeploy" or not tensor & (tensor - 1):
        return ""
    return f"LMDeploy takes a power of two here, not {tensor}: use {_most(tensor, bool)}"


def _most(parts: int, fits: Callable[[int], bool]) -> int:
    """Give the largest power of two that fits, and is no more."""
    powers = (1 << at for at in reversed(range(parts.bit_length())))
    return next((power for power in powers if fits(power)), 1)
