"""The API server refuses the same fields of random objects as the check of files does.

Each object is a valid one with random mistakes. Writes are dry runs: a strict one, as those of kubectl, names
the unknown fields; one that ignores them names the values that the schema refuses.
"""

import json
import re
from dataclasses import replace
from random import Random
from typing import Final

import pytest
import yaml

from fusioninfer.lint.paths import lines_of
from intent import Object
from intent.disaggregatedset import KIND as DISAGGREGATED_SET
from intent.errors import FieldError
from intent.lws import KIND as LWS
from intent.resource import kind_of, violations_of
from intent.schema import UNKNOWN
from tests.builders.isvc import isvc, router, worker
from tests.builders.mistakes import BASES, TEMPLATE, mistaken
from tests.cluster.testbed.api import ApiError, create, path
from tests.cluster.testbed.cluster import Cluster
from tests.tiers import count

ROUNDS: Final = 40
"""Random objects of each kind and seed."""
RESOURCES: Final = {
    LWS: "leaderworkersets",
    DISAGGREGATED_SET: "disaggregatedsets",
    "InferenceService": "inferenceservices",
}
KEY: Final = re.compile(r"\[([^]]*[^]0-9][^]]*)\]")
"""The key of a map in a path; the API server writes it like a field."""


SERVICE: Final = isvc(
    worker(template=TEMPLATE, replicas=2, multinode={"nodeCount": 2}),
    router(strategy="prefix-cache", httproute={"parentRefs": [{"name": "g"}], "hostnames": ["a.b"]}),
)


def refusal(cluster: Cluster, obj: Object, validation: str) -> Object | None:
    """Return the Status with which the API server refuses an object; None if it accepts it."""
    try:
        create(
            *(cluster.api, path(RESOURCES[obj["kind"]], "default"), obj),
            dryRun="All",
            fieldValidation=validation,
        )
    except ApiError as error:
        return error.body
    return None


def is_undecoded(status: Object | None) -> bool:
    """Return whether the metadata could not be decoded: then nothing else is checked."""
    return status is not None and "cannot be handled as" in status["message"]


def unknown_to_api(status: Object | None) -> set[str]:
    return set(re.findall(r'unknown field "([^"]*)"', status["message"])) if status else set()


def invalid_to_api(status: Object | None, obj: Object) -> set[str]:
    """Return the invalid fields, without those that LWS's webhook added with an empty value."""
    causes = (status or {}).get("details", {}).get("causes", [])
    return {
        one["field"]
        for one in causes
        if one["field"] != "<nil>"
        and one["reason"] != TWICE
        and (one["reason"] == "FieldValueRequired" or exists(obj, one["field"]))
    }


TWICE: Final = "FieldValueDuplicate"


def exists(obj: Object, field: str) -> bool:
    """Return whether an object has a field."""
    lines = lines_of(yaml.compose(yaml.safe_dump(obj)) or yaml.ScalarNode("", ""))
    return lines.below(field) != lines.below(field.rpartition(".")[0])


def is_added_later(one: FieldError, kind: str) -> bool:
    """Return whether LWS's webhook writes an absent field that pods require, with an empty value."""
    return kind == LWS and one.message == "is required" and "Template.spec." in one.path


def by_rules(status: Object | None) -> bool:
    """Return whether rules that our schemas do not have refuse an object.

    They are those of LWS's webhooks, of metadata, of a whole spec (CEL), and of lists with keys, of which one
    has a default.
    """
    causes = (status or {}).get("details", {}).get("causes", [])
    beyond = [
        one["field"].startswith("metadata") or one["field"] == "spec" or one["reason"] == TWICE
        for one in causes
    ]
    return status is not None and ("admission webhook" in status["message"] or (bool(beyond) and all(beyond)))


def related(one: str, others: set[str]) -> bool:
    """Return whether a path is at, above or below one of others."""
    return any(one.startswith(other) or other.startswith(one) for other in others)


KINDS: Final = {**BASES, "InferenceService": SERVICE}
"""A valid object of each kind."""


@pytest.mark.parametrize("seed", range(count("FILE_SCHEMAS")))
@pytest.mark.parametrize("kind", KINDS)
def test_the_api_server_refuses_the_same_fields(admission: Cluster, kind: str, seed: int) -> None:
    """Of an InferenceService our webhook and the rules of our definition refuse more; that has codes."""
    random, is_ours = Random(f"{kind} {seed}"), kind == "InferenceService"  # noqa: S311 - a seeded test
    different = []
    for _ in range(ROUNDS):
        obj = mistaken(KINDS[kind], random)
        known = kind_of(obj)
        assert known is not None
        found = [replace(one, path=KEY.sub(r".\1", one.path)) for one in violations_of(obj, known)]
        unknown = {one.path for one in found if one.code == UNKNOWN}
        invalid = {one.path for one in found if one.code != UNKNOWN}
        certain = {one.path for one in found if not (one.code == UNKNOWN or is_added_later(one, kind))}
        strict, lenient = (refusal(admission, obj, one) for one in ("Strict", "Ignore"))
        theirs = {at for at in unknown_to_api(strict) if not related(at, invalid)}
        unseen = theirs != unknown and not is_undecoded(strict)
        said = of_schema(lenient) if is_ours else invalid_to_api(lenient, obj)
        said = set() if by_rules(lenient) else said
        wrong = {at for at in said if not related(at, invalid)}
        refused = (invalid if is_ours else certain) and not lenient
        if unseen or wrong or refused or (lenient and not (invalid or is_ours or by_rules(lenient))):
            message = lenient["message"] if lenient else "accepted"
            different.append(
                f"unknown: {unknown} / {theirs}\ninvalid: {invalid} / {message}\n{json.dumps(obj)}\n"
            )
    assert "\n".join(different) == ""


def of_schema(status: Object | None) -> set[str]:
    """Return the fields that the schema refuses."""
    causes = (status or {}).get("details", {}).get("causes", [])
    return {one["field"] for one in causes if "(FI" not in one["message"]} - {"<nil>"}


@pytest.mark.parametrize("kind", KINDS)
def test_the_valid_object_is_accepted(admission: Cluster, kind: str) -> None:
    known = kind_of(KINDS[kind])
    assert known is not None
    assert list(violations_of(KINDS[kind], known)) == []
    assert refusal(admission, KINDS[kind], "Strict") is None
