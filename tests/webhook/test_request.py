"""What is read of a review, and when."""

from typing import Any

import orjson
import pytest

from tests.lws import changed, lws, put
from tests.reviews import review as sent
from webhook import review
from webhook.request import Malformed, opened, read


def body(live: Any, old: Any = None) -> bytes:
    return orjson.dumps(sent(live, old))


def test_an_object_is_given_as_it_is() -> None:
    assert opened(read(body(put(lws()), lws()))) == (put(lws()), lws())


def test_managed_fields_and_status_are_not_read() -> None:
    stored = changed(
        changed(lws(), "metadata.managedFields", [{"manager": "kubectl"}]), "status", {"ready": 1}
    )

    live, _ = opened(read(body(stored)))

    assert live == lws()


@pytest.mark.parametrize("spec", [7, "x", [1], True])
def test_a_spec_of_another_shape_is_given_as_it_is(spec: Any) -> None:
    live, old = opened(read(body(changed(lws(), "spec", spec), lws())))

    assert (live["spec"], old) == (spec, lws())


def test_what_both_objects_have_is_read_once() -> None:
    live, old = opened(read(body(changed(lws(), "spec.replicas", 7), lws())))

    assert old is not None
    assert live["spec"]["leaderWorkerTemplate"] is old["spec"]["leaderWorkerTemplate"]
    assert (live["spec"]["replicas"], old["spec"].get("replicas")) == (7, lws()["spec"].get("replicas"))


@pytest.mark.parametrize("field", ["metadata", "oldObject"])
def test_what_an_api_server_never_sends_is_malformed(field: str) -> None:
    whole = sent(lws(), lws(), operation="UPDATE")
    (whole["request"]["object"] if field == "metadata" else whole["request"])[field] = [1]

    with pytest.raises(Malformed):
        read(orjson.dumps(whole))


def test_the_template_of_a_set_that_is_scaled_is_not_even_read() -> None:
    """It is no UTF-8 here, so that whoever reads it says so."""
    once = put(lws())
    scaled = body(changed(once, "spec.replicas", 7), once).replace(b'"vllm"', b'"vll\xff"')

    assert review.mutate(scaled).outcome == "unchanged"
    with pytest.raises(Malformed):
        review.validate(scaled)
