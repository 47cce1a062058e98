"""KV transfer between a prefiller and a decoder: the settings of each side, and whether they are compatible.

The settings are read from an expanded LeaderWorkerSet, so the engine follows the command of a launcher.
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
    """The settings with which the other side must be compatible."""

    connectors: tuple[str, ...]
    tensor: int
    """The tensor parallel size."""
    image: str = ""


def read_kv_transfer(lws: Object) -> KVTransfer | None:
    """Read the settings of vLLM; None if absent, or only known in the cluster."""
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
    """Return why the sizes of prefiller and decoder are incompatible; empty if they are compatible."""
    if sides.keys() != set(DISAGGREGATED):
        return ""
    prefiller, decoder = sides["prefiller"], sides["decoder"]
    shared = {*prefiller.connectors} & {*decoder.connectors}
    shown = f"the prefiller has {prefiller.tensor}, the decoder {decoder.tensor}"
    if "P2pNcclConnector" in shared and prefiller.tensor != decoder.tensor:
        return f"P2pNcclConnector needs equal tensor parallel sizes: {shown}"
    version = read_image(decoder.image, engines).version or LATEST
    if "NixlConnector" not in shared or has(engines, "vllm", NARROWER_DECODERS, version):
        return ""
    if decoder.tensor % prefiller.tensor == 0:
        return ""
    needed = "a tensor parallel size on the decoder that is a multiple of the prefiller's"
    return f"NixlConnector of this version needs {needed}: {shown}"
