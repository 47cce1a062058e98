"""Findings about the routing annotations of one object."""

from typing import Any

import pytest

from intent import Object
from intent.settings import Settings
from tests.builders.lws import changed, lws, paused, put
from webhook.check import check

STRATEGY = "metadata.annotations.fusioninfer.io/strategy"
CONFIG = "apiVersion: inference.networking.x-k8s.io/v1alpha1\nkind: EndpointPickerConfig\nplugins: []\n"
FLOW_CONTROL = CONFIG + "featureGates: [flowControl]\n"
ROUTES = (
    "strategy",
    "gateway",
    "hostnames",
    "endpoint-picker-config",
    "picker",
    "picker-replicas",
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
        ({"priority": "-1", "picker": "llm-d-0.4", "endpoint_picker_config": FLOW_CONTROL}, "FI119"),
        ({"picker": "llm-d-0.7", "endpoint_picker_config": CONFIG + "parser: {}\n"}, "FI812"),
    ],
)
def test_an_invalid_routing_annotation_is_denied(annotations: dict[str, Any], code: str) -> None:
    assert codes(lws(**annotations)) == [(code, "error")]


def test_a_wrong_strategy_is_denied_on_an_update_that_changes_nothing_else() -> None:
    stored = put(lws(strategy="queue-size"))

    assert codes(changed(stored, STRATEGY, "pd-disaggregation"), stored) == [("FI801", "error")]


def test_a_wrong_strategy_of_the_old_object_is_a_warning() -> None:
    stored = put(lws(strategy="pd-disaggregation"))

    assert codes(paused(stored), stored) == [("FI801", "warning")]
