"""The decoded part of an AdmissionReview, and the time at which specs are decoded."""

from typing import Any

import msgspec
import orjson
import pytest

from tests.builders.lws import changed, lws, put
from tests.builders.reviews import review as sent
from webhook import review
from webhook.review import Malformed, opened, read


def body(live: Any, old: Any = None) -> bytes:
    return orjson.dumps(sent(live, old))


def test_an_object_is_decoded_as_it_is() -> None:
    assert opened(read(body(put(lws()), lws()))) == (put(lws()), lws())


def test_managed_fields_stay_raw_and_the_status_is_skipped() -> None:
    managers = [{"manager": "kubectl"}]
    stored = changed(changed(lws(), "metadata.managedFields", managers), "status", {"ready": 1})

    live, _ = opened(read(body(stored)))

    assert msgspec.json.decode(live["metadata"].pop("managedFields")) == managers
    assert live == lws()


@pytest.mark.parametrize("spec", [7, "x", [1], True])
def test_a_malformed_spec_is_decoded_as_it_is(spec: Any) -> None:
    live, old = opened(read(body(changed(lws(), "spec", spec), lws())))

    assert (live["spec"], old) == (spec, lws())


def test_fields_of_both_objects_are_decoded_once() -> None:
    live, old = opened(read(body(changed(lws(), "spec.replicas", 7), lws())))

    assert old is not None
    assert live["spec"]["leaderWorkerTemplate"] is old["spec"]["leaderWorkerTemplate"]
    assert (live["spec"]["replicas"], old["spec"].get("replicas")) == (7, lws()["spec"].get("replicas"))


@pytest.mark.parametrize("field", ["metadata", "oldObject"])
def test_a_body_that_an_api_server_never_sends_is_malformed(field: str) -> None:
    whole = sent(lws(), lws(), operation="UPDATE")
    (whole["request"]["object"] if field == "metadata" else whole["request"])[field] = [1]

    with pytest.raises(Malformed):
        read(orjson.dumps(whole))


@pytest.mark.parametrize("namespace", ["other", "", 7, ["llm"]])
def test_an_object_of_another_namespace_than_its_request_is_malformed(namespace: Any) -> None:
    whole = sent(changed(lws(), "metadata.namespace", namespace), None, namespace="llm")

    with pytest.raises(Malformed, match="another namespace"):
        read(orjson.dumps(whole))


def test_scaling_does_not_decode_the_template() -> None:
    """The template is no UTF-8, so that decoding it would raise."""
    once = put(lws())
    scaled = body(changed(once, "spec.replicas", 7), once).replace(b'"vllm"', b'"vll\xff"')

    assert review.mutate(scaled).outcome == "unchanged"
    with pytest.raises(Malformed):
        review.validate(scaled)
