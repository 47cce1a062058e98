"""KV transfer settings of prefillers and decoders, read from expanded LeaderWorkerSets."""

import pytest

from catalog.engines import ENGINES
from intent.service.kv_transfer import KVTransfer, mismatch, read_kv_transfer
from intent.service.member import member
from intent.service.rules import findings
from tests.lws import container, lws, put, template
from tests.sync.samples import SETTINGS, decode, prefill

OLD = "vllm/vllm-openai:v0.11.0"
NEW = "vllm/vllm-openai:v0.20.2"
CONFIG = ["--kv-transfer-config", '{"kv_connector":"NixlConnector","kv_role":"kv_producer"}']
WORDS = ["vllm", "serve", "org/M", "-tp", "8", *CONFIG]
SCRIPT = "vllm serve $MODEL -tp 8 --kv-transfer-config.kv_connector NixlConnector > log"


def side(tensor: int, connector: str = "NixlConnector", image: str = OLD) -> KVTransfer:
    """Build one side."""
    return KVTransfer((connector,), tensor, image)


@pytest.mark.parametrize("launcher", ["ray-symmetric", "ray-start", "vllm-native", "none"])
@pytest.mark.parametrize(
    ("command", "args"),
    [(WORDS[:2], WORDS[2:]), (["sh", "-c", 'cd /; exec "$@"', "sh"], WORDS), (["sh", "-c", SCRIPT], None)],
    ids=["words", "items of a script", "script"],
)
def test_settings_are_read_after_every_launcher(
    launcher: str, command: list[str], args: list[str] | None
) -> None:
    engine = container(command=command, args=args, image=NEW)

    expanded = put(lws(worker=template(engine), launcher=launcher, component_type="prefiller"))

    assert read_kv_transfer(expanded) == KVTransfer(("NixlConnector",), 8, NEW)


@pytest.mark.parametrize(
    "args",
    [
        ["org/M", "-tp", "8"],
        ["org/M", "-tp", "$(SIZE)", *CONFIG],
        ["org/M", "-tp", "8", "--kv-transfer-config", "{"],
    ],
)
def test_unknown_settings_are_none(args: list[str]) -> None:
    assert read_kv_transfer(lws(worker=template(container(args=args)))) is None


def test_a_worker_has_no_kv_transfer() -> None:
    read = member(put(lws(worker=template(container(args=WORDS[2:])))))

    assert read is not None
    assert read.kv_transfer is None


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
        (side(8), side(4, "P2pNcclConnector"), True),
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
        for one in findings(members, SETTINGS)
        if one.error.code == "FI420"
    }

    assert told == {("p", "warning"), ("d", "warning")}
