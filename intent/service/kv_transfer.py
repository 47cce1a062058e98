"""KV transfer between a prefiller and a decoder: whether the settings of both sides are compatible."""

from collections.abc import Mapping

from catalog.engines import LATEST, NARROWER_DECODERS, Engines, has
from intent.annotations import ComponentType
from intent.gang import DISAGGREGATED
from intent.image import read_image
from intent.served import KVTransfer


def mismatch(sides: Mapping[ComponentType, KVTransfer], engines: Engines) -> str:
    """Return why prefiller and decoder are incompatible; empty if they are compatible."""
    if sides.keys() != set(DISAGGREGATED):
        return ""
    prefiller, decoder = sides["prefiller"], sides["decoder"]
    if difference := _difference(prefiller, decoder):
        what, one, other = difference
        return f"both need the same {what}: the prefiller has {one}, the decoder {other}"
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


def _difference(prefiller: KVTransfer, decoder: KVTransfer) -> tuple[str, str | int, str | int] | None:
    """Return what both must have alike and do not, with the value of each; None if there is nothing."""
    if prefiller.engine != decoder.engine:
        return "engine", prefiller.engine, decoder.engine
    if set(prefiller.connectors).isdisjoint(decoder.connectors):
        return "connector", prefiller.connectors[0], decoder.connectors[0]
    if prefiller.bootstrap != decoder.bootstrap:
        return "--disaggregation-bootstrap-port", prefiller.bootstrap, decoder.bootstrap
    return None
