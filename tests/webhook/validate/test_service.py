"""Findings about the service of one object: its routing annotations."""

from typing import Any

import pytest

from intent import Object
from intent.settings import Settings
from tests.builders.lws import changed, lws, paused, put
from webhook.check import check
from webhook.expand import expand

STRATEGY = "metadata.annotations.fusioninfer.io/strategy"
CONFIG = "apiVersion: inference.networking.x-k8s.io/v1alpha1\nkind: EndpointPickerConfig\nplugins: []\n"
OF_ROUTER = CONFIG.replace("inference.networking.x-k8s.io", "llm-d.ai")
ROUTES = (
    *("strategy", "gateway", "hostnames", "endpoint-picker-config", "picker", "picker-replicas"),
    "priority",
)


def codes(live: Object, old: Object | None = None, **settings: Any) -> list[tuple[str, str]]:
    """Return code and severity of the findings about routes."""
    found = check(put(live, old), old, Settings(**settings))
    return [(one.code, one.severity) for one in found if any(f"io/{key}]" in one.path for key in ROUTES)]


@pytest.mark.parametrize(
    ("annotations", "code"),
    [
        ({"strategy": "fastest"}, "FI104"),
        ({"strategy": "queue-size", "hostnames": "a.b"}, "FI803"),
        ({"priority": "2147483648", "strategy": "queue-size"}, "FI104"),
        ({"picker": "llm-d-0.7", "endpoint_picker_config": OF_ROUTER}, "FI812"),
    ],
)
def test_an_invalid_routing_annotation_is_denied(annotations: dict[str, Any], code: str) -> None:
    assert codes(lws(**annotations)) == [(code, "error")]


@pytest.mark.parametrize("component_type", ["prefiller", "decoder"])
def test_a_strategy_that_ignores_prefill_and_decode_is_a_warning(component_type: str) -> None:
    assert codes(lws(strategy="queue-size", component_type=component_type)) == [("FI802", "warning")]


@pytest.mark.parametrize(
    "annotations",
    [
        {"strategy": "queue-size"},
        {"strategy": "prefix-cache", "gateway": "infra/gate", "hostnames": "a.b,c.d"},
        {"strategy": "pd-disaggregation", "component_type": "decoder"},
        {"strategy": "pd-disaggregation", "component_type": "prefiller"},
        {"gateway": "gate", "component_type": "prefiller"},
        {"endpoint_picker_config": CONFIG},
        {"priority": "Standard", "strategy": "queue-size"},
        {"priority": "100", "picker": "gie-1.2", "endpoint_picker_config": CONFIG},
        {"endpoint_picker_config": CONFIG, "component_type": "decoder"},
        {"strategy": "queue-size", "picker": "gie-1.2", "picker_replicas": "2"},
        {"picker": "llm-d-0.7", "component_type": "prefiller"},
    ],
)
def test_a_valid_routing_annotation_has_no_findings(annotations: dict[str, Any]) -> None:
    assert codes(lws(**annotations)) == []


@pytest.mark.parametrize(
    ("own", "operators", "found"),
    [
        ({}, "gie-1.4", ("FI805", "error")),
        ({"picker": "gie-1.4"}, "llm-d-0.7", ("FI805", "error")),
    ],
)
def test_an_endpoint_picker_that_cannot_disaggregate_is_reported(
    own: dict[str, Any], operators: str, found: tuple[str, str]
) -> None:
    asked = lws(strategy="pd-disaggregation", component_type="decoder", **own)

    assert codes(asked, disaggregated_picker=operators) == [found]


def test_a_configuration_is_checked_against_its_endpoint_picker() -> None:
    assert codes(lws(endpoint_picker_config=OF_ROUTER)) == [("FI812", "error")]
    assert codes(lws(endpoint_picker_config=OF_ROUTER, component_type="decoder")) == []


def test_other_routes_change_no_pod_template() -> None:
    stored = put(lws(strategy="queue-size"))

    assert expand(changed(stored, STRATEGY, "prefix-cache"), stored) == []


def test_a_wrong_strategy_is_denied_on_an_update_that_changes_nothing_else() -> None:
    stored = put(lws(strategy="queue-size"))

    assert codes(changed(stored, STRATEGY, "pd-disaggregation"), stored) == [("FI801", "error")]


def test_a_wrong_strategy_of_the_old_object_is_a_warning() -> None:
    stored = put(lws(strategy="pd-disaggregation"))

    assert codes(paused(stored), stored) == [("FI801", "warning")]
