"""A prompt is prefilled and then decoded: an InferenceService with each picker that can, and TLS to it."""

from collections.abc import Iterator
from typing import Final

import pytest

from catalog.pickers.generations import PICKERS
from intent import Object
from tests.builders.isvc import decoder, isvc, prefiller, router
from tests.builders.lws import container, template
from tests.cluster.testbed import flows
from tests.cluster.testbed.answers import add_gateway
from tests.cluster.testbed.controllers import apply
from tests.cluster.testbed.engines import received
from tests.cluster.testbed.flows import ROUTE, Service, answered, namespace_on, serve, set_engines
from tests.cluster.testbed.network import Network
from tests.cluster.testbed.nodes import add_gpu_nodes, remove_nodes

NAME: Final = "demo"
TRANSFER: Final = ("--kv-transfer-config", '{"kv_connector":"NixlConnector","kv_role":"kv_both"}')
ENGINE: Final = template(container(args=["org/M", *TRANSFER]))
ROLES: Final = (
    router(strategy="pd-disaggregation", httproute=ROUTE),
    prefiller(multinode=None, replicas=2, template=ENGINE),
    decoder(multinode=None, replicas=2, template=ENGINE),
)
CHOSEN: Final = ("llm-d-0.7", "llm-d-0.4")
FAILED: Final = {"llm-d-0.7": (200, False), "llm-d-0.4": (500, None)}
"""What comes back where a prefiller fails, and whether a cache is handed over: since 0.7 the decoder does the
work itself (`pkg/sidecar/proxy/connector_nixlv2.go`)."""
PREFILLERS: Final = ("demo-prefill-0", "demo-prefill-1")
DECODERS: Final = ("demo-decode-0", "demo-decode-1")
IDLE: Final[Object] = {"waiting": 0, "cache": 0.1, "status": 200}


@pytest.fixture(scope="module", params=CHOSEN)
def split(served_network: Network, request: pytest.FixtureRequest) -> Iterator[Service]:
    add_gpu_nodes(served_network.cluster, 4)
    with namespace_on(served_network) as namespace:
        annotations = {"fusioninfer.io/picker": request.param}
        add_gateway(served_network.cluster, namespace)
        apply(served_network.cluster, namespace, isvc(*ROLES, name=NAME, annotations=annotations))
        yield serve(served_network, namespace, NAME, 4)
    remove_nodes(served_network.cluster)


@pytest.mark.parametrize(("prefiller", "decoder"), [*zip(PREFILLERS, DECODERS, strict=True)])
def test_the_idle_prefiller_makes_one_token_and_the_idle_decoder_the_others(
    split: Service, prefiller: str, decoder: str
) -> None:
    set_engines(split, IDLE | {"waiting": 4}, **{prefiller: {"waiting": 0}, decoder: {"waiting": 0}})

    answer = answered(split, max_tokens=5)

    asked = received(split.engines[prefiller])[-1]["body"]
    handed_over = answer["seen_body"]["kv_transfer_params"]
    assert (asked["max_tokens"], asked["kv_transfer_params"]["do_remote_decode"]) == (1, True)
    assert (answer["engine"], answer["seen_body"]["max_tokens"]) == (decoder, 5)
    assert handed_over["remote_host"] == split.engines[prefiller].address
    assert handed_over["remote_engine_id"] == prefiller


def test_every_prompt_is_prefilled_elsewhere_and_one_prompt_at_one_place(split: Service) -> None:
    """Unless the generation forgets prefillers, as docs/routing.md says of the oldest."""
    set_engines(split, IDLE)
    prompts = [f"{letter} long prompt. " * 100 for letter in "ABCDE"]

    hosts = [{prefilled_at(split, prompt + tail) for tail in ("x", "y", "z")} for prompt in prompts]

    assert all(len(each) == 1 for each in hosts) == (generation(split) != "llm-d-0.4")
    assert set().union(*hosts) <= {split.engines[name].address for name in PREFILLERS}


def prefilled_at(service: Service, prompt: str) -> str:
    """Return the address at which a prompt was prefilled."""
    return str(answered(service, prompt)["seen_body"]["kv_transfer_params"]["remote_host"])


def test_no_request_is_about_ranks(split: Service) -> None:
    assert "x-data-parallel-host-port" not in answered(split)["seen_headers"]


def test_a_prefiller_that_fails_is_answered_as_the_generation_does(split: Service) -> None:
    set_engines(split, IDLE, **{name: {"status": 500} for name in PREFILLERS})

    answer = flows.request(split)

    set_engines(split, IDLE)
    handed_over = "kv_transfer_params" in answer.body["seen_body"] if answer.status == 200 else None
    assert (answer.status, handed_over) == FAILED[generation(split)]


def generation(service: Service) -> str:
    """Name the generation of the picker that runs."""
    image = service.picker.container["image"]
    return next(row for row in CHOSEN if PICKERS[row].image == image)
