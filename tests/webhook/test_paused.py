"""Pausing affects only the controller: admission accepts it, and expansion and record do not change."""

import pytest

from tests.builders.lws import changed, lws, put
from webhook.check import check
from webhook.expand import expand

PAUSED = "metadata.annotations.fusioninfer.io/paused"


@pytest.mark.parametrize("value", ["true", "false"])
def test_pausing_changes_no_stored_field(value: str) -> None:
    stored = put(lws())
    paused = changed(stored, PAUSED, value)

    assert expand(paused, stored) == []
    assert check(paused, stored) == []
    assert expand(stored, paused) == []
