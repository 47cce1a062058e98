"""The image of the routing sidecar stays where an operator takes a registry of its own."""

from intent.settings import Settings
from tests.builders.lws import container, lws, template
from webhook.expand import expand, expanded

TRANSFER = ("--kv-transfer-config", '{"kv_connector":"NixlConnector","kv_role":"kv_both"}')
DECODER = lws(
    1, template(container(args=["org/M", *TRANSFER])), component_type="decoder", strategy="pd-disaggregation"
)
MIRRORED = Settings(picker_registry="mirror.example.com")


def test_an_expanded_decoder_keeps_the_image_that_it_has() -> None:
    before = expanded(DECODER, Settings())

    assert expand(before, before, MIRRORED) == []
