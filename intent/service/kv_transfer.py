"""One side of a hand-over of the KV cache, as an expanded LeaderWorkerSet starts it, and which sides fit.

The command is that of a launcher already, so the engine is looked for behind it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from catalog.engines import ENGINES, LATEST, NARROWER_DECODERS, Engines, has
from intent import Object
from intent.annotations import ComponentType
from intent.command_line.flags import TENSOR
from intent.gang import DISAGGREGATED
from intent.image import read_image
from intent.launch import Launch, read_launch, read_size
from intent.read import read
from intent.transfer import read_transfer


@dataclass(frozen=True, slots=True)
class KVTransfer:
    """What the other side must fit."""

    connectors: tuple[str, ...]
    tensor: int
    """The size of tensor parallelism."""
    image: str = ""


def read_kv_transfer(lws: Object) -> KVTransfer | None:
    """Read the side of vLLM; None if there is none, or if its size is only known in the cluster."""
    intent = read(lws).intent
    templates = intent.templates if intent else ()
    launches = (read_launch(one, one.engine, ENGINES) for one in templates if one.engine)
    return next((side for launch in launches if (side := _side(launch))), None)


def _side(launch: Launch) -> KVTransfer | None:
    command = launch.command
    transfer = read_transfer(launch) if "vllm" in (command.engine, command.within) else None
    tensor = read_size(launch, TENSOR)
    if transfer is None or not transfer.connectors or tensor is None:
        return None
    return KVTransfer(transfer.connectors, tensor, launch.engine.image)


def mismatch(sides: Mapping[ComponentType, KVTransfer], engines: Engines) -> str:
    """Say which sizes the connector of prefiller and decoder needs; empty if it can hand over."""
    if sides.keys() != set(DISAGGREGATED):
        return ""
    prefiller, decoder = sides["prefiller"], sides["decoder"]
    shared = {*prefiller.connectors} & {*decoder.connectors}
    shown = f"the prefiller's tensor parallel size is {prefiller.tensor}, the decoder's {decoder.tensor}"
    if "P2pNcclConnector" in shared and prefiller.tensor != decoder.tensor:
        return f"P2pNcclConnector needs equal sizes: {shown}"
    version = read_image(decoder.image, engines).version or LATEST
    if "NixlConnector" not in shared or has(engines, "vllm", NARROWER_DECODERS, version):
        return ""
    fits = decoder.tensor % prefiller.tensor == 0
    return "" if fits else f"this NixlConnector needs a multiple on the decoder: {shown}"
