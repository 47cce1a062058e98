"""AdmissionReview in, AdmissionReview out; and when the specs are decoded."""

from base64 import b64decode
from contextlib import suppress
from hashlib import sha256
from typing import Any, Final

import jsonpatch
import msgspec
import orjson
import pytest

from intent.errors import FieldError
from tests.builders.lws import changed, lws, put
from tests.builders.reviews import review as sent
from webhook import review
from webhook.review import Malformed, opened, read


def body(live: Any, old: Any = None, **more: Any) -> bytes:
    return orjson.dumps(sent(live, old, **{"uid": "u-1"} | more))


def response(answer: review.AdmissionAnswer) -> dict[str, Any]:
    whole = orjson.loads(answer.body)
    assert (whole["apiVersion"], whole["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    found: dict[str, Any] = whole["response"]
    assert found["uid"] == "u-1"
    return found


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_dry_run_that_asks_is_told_from_where_its_review_comes(*, dry_run: bool) -> None:
    asking = put(lws())
    asking["metadata"]["annotations"][review.CALLED_FROM] = ""

    told = response(review.validate(body(asking, dryRun=dry_run)))

    assert (review.PEER in told.get("warnings", ())) == dry_run


def test_a_mutation_is_a_patch() -> None:
    file = changed(lws(), "metadata.managedFields", [{"manager": "kubectl", "operation": "Apply"}])

    answer = review.mutate(body(file))

    told = response(answer)
    operations = orjson.loads(b64decode(told["patch"]))
    assert (answer.outcome, told["allowed"], told["patchType"]) == ("patched", True, "JSONPatch")
    assert jsonpatch.apply_patch(file, operations) == put(file)
    assert "managedFields" not in str(operations)


@pytest.mark.parametrize("more", [{"namespace": None}, {}])
def test_an_object_without_name_and_namespace_is_accepted(more: dict[str, Any]) -> None:
    unnamed = changed(changed(lws(), "metadata.name", None), "metadata.generateName", "llm-")

    assert review.mutate(body(unnamed, **more)).outcome == "patched"
    assert response(review.validate(body(put(unnamed), **more)))["allowed"] is True


WRONG = lws(component_type="x", launcher="torchrun")
LEAVING = changed(WRONG, "metadata.deletionTimestamp", "2026-01-01T00:00:00Z")


@pytest.mark.parametrize(
    "sent",
    [
        *(body(None, WRONG, operation=one) for one in ("DELETE", "CONNECT")),
        *(body(WRONG, subResource=one) for one in ("status", "scale")),
        body(LEAVING, LEAVING),
        body(changed(WRONG, "metadata.annotations.fusioninfer.io/inject", "disabled"), WRONG),
    ],
)
@pytest.mark.parametrize("webhook", [review.mutate, review.validate])
def test_what_we_leave_alone_is_allowed_without_a_word(sent: bytes, webhook: Any) -> None:
    assert response(webhook(sent)) == {"uid": "u-1", "allowed": True}


@pytest.mark.parametrize(
    "sent",
    [
        body(changed(lws(), "metadata.annotations", {})),
        body(put(lws()), put(lws())),
        body(lws(component_type="nope")),
    ],
)
def test_an_unchanged_object_has_no_patch_and_no_patch_type(sent: bytes) -> None:
    answer = review.mutate(sent)

    assert (answer.outcome, response(answer)) == ("unchanged", {"uid": "u-1", "allowed": True})


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"{",
        b"[]",
        b"NaN",
        b'{"apiVersion": "admission.k8s.io/v1"}',
        b'{"apiVersion": "admission.k8s.io/v1", "request": null}',
        body(lws(), operation=None),
        body(lws()).replace(b"admission.k8s.io/v1", b"admission.k8s.io/v1beta1"),
        body(lws(), uid=7),
        body(lws(), uid=""),
        body(None),
        body([lws()]),
        body("x"),
        b'{"apiVersion": "admission.k8s.io/v1", "request": {"uid": "\\ud800"}}',
        b"[" * 100_000,
    ],
)
@pytest.mark.parametrize("webhook", [review.mutate, review.validate])
def test_a_body_that_is_no_admission_review_is_malformed(sent: bytes, webhook: Any) -> None:
    with pytest.raises(Malformed):
        webhook(sent)


def test_a_denial_has_every_cause_with_its_field() -> None:
    answer = review.validate(body(changed(lws(component_type="x", roles="a,a"), "metadata.name", "y")))

    status = response(answer)["status"]
    assert (answer.outcome, status["code"], status["reason"]) == ("denied", 422, "Invalid")
    assert [cause["field"] for cause in status["details"]["causes"]] == [
        "metadata.annotations[fusioninfer.io/component-type]",
        "metadata.annotations[fusioninfer.io/roles]",
    ]
    assert status["details"]["name"] == "y"


def test_a_denial_is_at_most_4_kib() -> None:
    many = {f"fusioninfer.io/unknown-{at}": "é" * 50 for at in range(500)}

    status = response(review.validate(body(changed(lws(), "metadata.annotations", many))))["status"]

    assert len(status["message"].encode()) <= 4096
    assert len(orjson.dumps(status["details"])) <= 4096 + 100


@pytest.mark.parametrize("name", ["n" * 5000, {"a": "b" * 5000}])
def test_a_name_of_any_size_and_type_gives_a_small_denial(name: Any) -> None:
    live = changed(lws(component_type="x"), "metadata.name", name)

    assert len(response(review.validate(body(live)))["status"]["details"]["name"]) <= 253


def test_warnings_are_plain_and_short_and_few() -> None:
    one = FieldError("a.b\n", None, "né\x1b[31m" + "x" * 200, "FI501")

    told = list(review.warnings([one] * 30))

    assert len(told) == 20
    assert all(text.isascii() and text.isprintable() and len(text) <= review.WARNING_LENGTH for text in told)
    assert told[-1] == "and 11 more; run: fusioninfer validate -f FILE"


def test_a_path_that_does_not_fit_into_a_warning_is_left_out() -> None:
    assert review.warning(FieldError("p" * 100, None, "m" * 120, "FI501")) == f"FI501: {'m' * 120}"


# Audit annotations


SERVED: Final = put(lws())
RECORDED: Final = SERVED["metadata"]["annotations"]["fusioninfer.io/expansion"]
DIGEST: Final = sha256(RECORDED.encode()).hexdigest()[:32]
OUT: Final = changed(SERVED, "metadata.annotations.fusioninfer.io/service", None)
HALF: Final = changed(SERVED, "spec.leaderWorkerTemplate.workerTemplate.spec.schedulerName", None)
AUDITED: Final[dict[str, tuple[review.AdmissionAnswer, Any]]] = {
    "a digest of the record": (review.mutate(body(lws())), {"record": DIGEST}),
    "a reverted record": (review.mutate(body(OUT, SERVED)), {"record": "withdrawn"}),
    "a kept record": (review.mutate(body(HALF, SERVED)), {"record": "kept"}),
    "the codes of a denial": (
        review.validate(body(lws(component_type="x", servic="y"))),
        {"findings": "FI102,FI104"},
    ),
    "the codes of warnings": (review.validate(body(put(lws(size=4)))), {"findings": "FI501"}),
    "no findings": (review.validate(body(changed(lws(), "metadata.annotations", {}))), None),
}


@pytest.mark.parametrize(("answer", "expected"), AUDITED.values(), ids=AUDITED)
def test_the_audit_annotations_of_an_answer(answer: review.AdmissionAnswer, expected: Any) -> None:
    assert response(answer).get("auditAnnotations") == expected


# Objects that are nested too deep

CONTAINER = "spec.leaderWorkerTemplate.workerTemplate.spec.containers.0"
HOLES = {
    "an annotation": lws(component_type="@"),
    "the record": lws(expansion="@"),
    "args": changed(lws(), f"{CONTAINER}.args", "@"),
    "env": changed(lws(), f"{CONTAINER}.env", ["@"]),
    "limits": changed(lws(), f"{CONTAINER}.resources.limits", "@"),
    "nothing we read": changed(lws(), "spec.leaderWorkerTemplate.workerTemplate.metadata", "@"),
}


@pytest.mark.parametrize("depth", [100, 250, 500, 1000])
@pytest.mark.parametrize("webhook", [review.mutate, review.validate])
@pytest.mark.parametrize("place", HOLES)
def test_a_deeply_nested_object_is_answered_or_malformed(place: str, webhook: Any, depth: int) -> None:
    nested = b'{"a":' * depth + b"1" + b"}" * depth
    sent = body(HOLES[place], HOLES[place]).replace(b'"@"', nested)

    with suppress(Malformed):
        response(webhook(sent))


# Decoding


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
