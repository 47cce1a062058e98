"""The image of the routing sidecar, where an operator has a registry of its own."""

from typing import Final

from intent import Object
from intent.container import ROUTING_PROXY
from intent.settings import Settings
from tests.builders.lws import changed, container, lws, put, template
from webhook.expand import expand, expanded

TRANSFER = ("--kv-transfer-config", '{"kv_connector":"NixlConnector","kv_role":"kv_both"}')
DECODER = lws(
    1, template(container(args=["org/M", *TRANSFER])), component_type="decoder", strategy="pd-disaggregation"
)
PICKER: Final = "metadata.annotations.fusioninfer.io/picker"
MIRRORED = Settings(picker_registry="mirror.example.com")


def image(obj: Object) -> str:
    """Return the image of the sidecar."""
    group = obj["spec"]["leaderWorkerTemplate"]
    containers = group.get("leaderTemplate", group["workerTemplate"])["spec"]["initContainers"]
    (found,) = [one["image"] for one in containers if one["name"] == ROUTING_PROXY]
    return str(found)


def test_the_sidecar_is_pulled_from_the_registry_of_the_operator() -> None:
    assert (
        image(expanded(DECODER, MIRRORED)) == "mirror.example.com/llm-d/llm-d-router-disagg-sidecar:v0.10.0"
    )


def test_an_expanded_decoder_keeps_the_image_that_it_has() -> None:
    before = expanded(DECODER, Settings())

    assert expand(before, before, MIRRORED) == []


def test_a_decoder_that_no_longer_asks_for_a_picker_gets_the_sidecar_of_the_settings() -> None:
    usual, stored = expanded(DECODER), expanded(changed(DECODER, PICKER, "llm-d-0.9"))
    live = changed(stored, PICKER, None)

    assert image(stored) != image(usual) == image(put(live, stored))
