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
    shared = {*prefiller.connectors} & {*decoder.connectors}
    alike = (
        ("engine", prefiller.engine, decoder.engine),
        *(() if shared else (("connector", prefiller.connectors[0], decoder.connectors[0]),)),
        ("--disaggregation-bootstrap-port", prefiller.bootstrap, decoder.bootstrap),
    )
    for what, value, other in alike:
        if value != other:
            return f"both need the same {what}: the prefiller has {value}, the decoder {other}"
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
