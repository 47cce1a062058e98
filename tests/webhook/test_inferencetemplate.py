"""/validate of an InferenceTemplate."""

from typing import Any

import orjson

from intent import Object
from tests.builders.lws import changed
from tests.builders.reviews import UID, review
from tests.builders.templates import template
from webhook.inferencetemplate import check
from webhook.review import validate

WRONG = template({"remove": ["a.b"]}, {"remove": ["c"]})


def answered(live: Object, old: Object | None = None) -> Any:
    return orjson.loads(validate(orjson.dumps(review(live, old))).body)["response"]


def test_a_good_template_is_allowed() -> None:
    assert answered(template({"for": "common"})) == {"uid": UID, "allowed": True}


def test_all_errors_are_reported_at_once_under_the_name_of_the_kind() -> None:
    found = answered(WRONG)

    assert not found["allowed"]
    assert found["status"]["details"]["kind"] == "InferenceTemplate"
    assert [one["field"] for one in found["status"]["details"]["causes"]] == [
        "spec.pods[0].remove[0]",
        "spec.pods[1].remove[0]",
    ]


def test_an_error_that_the_old_object_had_too_is_a_warning() -> None:
    found = answered(changed(WRONG, "spec.priority", "Critical"), WRONG)

    assert found["allowed"]
    assert len(found["warnings"]) == 2


def test_a_bypassed_or_deleted_template_is_not_checked() -> None:
    assert not check(changed(WRONG, "metadata.annotations", {"fusioninfer.io/inject": "disabled"}))
    assert not check(changed(WRONG, "metadata.deletionTimestamp", "2026-01-01T00:00:00Z"))
