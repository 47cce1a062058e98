"""Whether prefillers and decoders are compatible."""

import pytest

from catalog.engines import ENGINES
from intent.served import KVTransfer
from intent.service.kv_transfer import mismatch
from intent.service.rules import contradictions
from tests.sync.samples import SETTINGS, decode, prefill

OLD = "vllm/vllm-openai:v0.11.0"
NEW = "vllm/vllm-openai:v0.20.2"


def side(tensor: int, connector: str = "NixlConnector", image: str = OLD) -> KVTransfer:
    """Build one side."""
    return KVTransfer((connector,), tensor, image)


def sglang(tensor: int, backend: str = "mooncake", bootstrap: int = 8998) -> KVTransfer:
    """Return the settings of one side that SGLang runs."""
    return KVTransfer((backend,), tensor, engine="sglang", bootstrap=bootstrap)


@pytest.mark.parametrize(
    ("prefiller", "decoder", "fits"),
    [
        (side(8), side(8), True),
        (side(4), side(8), True),
        (side(8), side(4), False),
        (side(4), side(6), False),
        (side(8, image=NEW), side(4, image=NEW), True),
        (side(8), side(4, image="corp/llm:1"), True),
        (side(8, "P2pNcclConnector"), side(8, "P2pNcclConnector"), True),
        (side(4, "P2pNcclConnector"), side(8, "P2pNcclConnector"), False),
        (side(8, "LMCacheConnectorV1"), side(4, "LMCacheConnectorV1"), True),
        (side(8), side(4, "P2pNcclConnector"), False),
        (sglang(8), sglang(4), True),
        (sglang(8), sglang(8, bootstrap=9000), False),
        (sglang(8, "nixl"), sglang(8), False),
        (sglang(8), side(8), False),
    ],
)
def test_a_connector_transfers_between_compatible_sizes(
    prefiller: KVTransfer, decoder: KVTransfer, *, fits: bool
) -> None:
    assert (mismatch({"prefiller": prefiller, "decoder": decoder}, ENGINES) == "") is fits


def test_incompatible_sizes_are_reported_on_both_members_only() -> None:
    members = (
        prefill(kv_transfer=side(8)),
        decode(kv_transfer=side(4)),
        decode("more", role_name="more", kv_transfer=side(16)),
    )

    told = {
        (one.subject.name, one.error.severity)
        for one in contradictions(members, SETTINGS)
        if one.error.code == "FI420"
    }

    assert told == {("p", "warning"), ("d", "warning")}
