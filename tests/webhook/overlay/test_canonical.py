"""The canonical form: defaults of the API server and LWS change nothing in it."""

from typing import Any

import pytest

from webhook.overlay.canonical import equivalent


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ({"resources": {"limits": {"cpu": "1000m"}}}, {"resources": {"limits": {"cpu": "1"}}}),
        ({"resources": {"requests": {"memory": "1024Mi"}}}, {"resources": {"requests": {"memory": "1Gi"}}}),
        (
            {"resources": {"limits": {"nvidia.com/gpu": 8}}},
            {"resources": {"limits": {"nvidia.com/gpu": "8"}}},
        ),
        ({"resources": {"requests": {"cpu": 0.5}}}, {"resources": {"requests": {"cpu": "500m"}}}),
        ({"emptyDir": {"sizeLimit": "2048Mi"}}, {"emptyDir": {"sizeLimit": "2Gi"}}),
        ({"name": "c"}, {"name": "c", "resources": {}}),
        ({}, {"metadata": {"labels": {}}}),
        ({"secretKeyRef": {"key": "k"}}, {"secretKeyRef": {"key": "k", "name": ""}}),
        ({"resourceFieldRef": {"resource": "r"}}, {"resourceFieldRef": {"resource": "r", "divisor": "0"}}),
        ({"ports": [{"containerPort": 1}]}, {"ports": [{"containerPort": 1, "protocol": "TCP"}]}),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ],
)
def test_a_stored_template_is_equivalent_to_the_sent_one(sent: Any, stored: Any) -> None:
    assert equivalent(sent, stored)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"cpu": "1000m"}, {"cpu": "1"}),
        ({"limits": {"cpu": "1"}}, {"limits": {"cpu": "2"}}),
        ({"args": ["a", "b"]}, {"args": ["b", "a"]}),
        ({"protocol": "UDP"}, {}),
        ({"hostNetwork": False}, {}),
        ({"hostNetwork": True}, {"hostNetwork": 1}),
    ],
)
def test_a_semantic_difference_is_one(one: Any, other: Any) -> None:
    assert not equivalent(one, other)
