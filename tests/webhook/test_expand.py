"""The expansion of an object as a whole."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from intent.annotations import UNANSWERED
from intent.settings import Settings
from tests.builders.lws import changed, engine_of, lws, put, template
from tests.golden.test_golden import CASES, leaderworkersets
from tests.tiers import some
from webhook.expand import expand
from webhook.mutate import CONCERNS

ROOT = Path(__file__).parents[2]
RECORD = "metadata.annotations.fusioninfer.io/expansion"
CORPUS = """
import sys, orjson
from fusioninfer.lint import documents, offline
from webhook.check import check
from webhook.expand import expand, expanded
for path in sys.argv[1:]:
    for one in offline.rendered(documents.read_all([path])[0]):
        sys.stdout.write(orjson.dumps(expand(one.object)).decode() + "\\n")
        if offline.is_lws(one.object):
            sys.stdout.write(f"{[*map(str, check(expanded(one.object)))]}\\n")
"""


def test_an_update_with_an_unchanged_input_calls_no_mutator() -> None:
    once = put(lws())
    again = changed(once, "spec.replicas", 3)

    def stricter(*_: object) -> dict[str, object]:
        return {"metadata": {"labels": {"llm-d.ai/role": "new"}}}

    assert expand(again, once, Settings(), (replace(CONCERNS[0], mutate=stricter), *CONCERNS[1:])) == []


LABEL = "metadata.labels.fusioninfer.io/service"


@pytest.mark.parametrize("value", [UNANSWERED, "-r1", "a" * 64])
def test_an_invalid_service_label_becomes_the_name_of_the_service(value: str) -> None:
    """The controller writes such a label, so that nothing is stored unless admission answers."""
    named = lws(size=4)["metadata"]["annotations"]["fusioninfer.io/service"]

    assert put(changed(lws(size=4), LABEL, value)) == put(changed(lws(size=4), LABEL, named))


def test_an_update_with_an_unchanged_input_replaces_only_the_invalid_label() -> None:
    once = put(changed(lws(), LABEL, UNANSWERED))

    operations = expand(changed(once, LABEL, UNANSWERED), once)

    assert [(one["op"], one["path"]) for one in operations] == [
        ("replace", "/metadata/labels/fusioninfer.io~1service")
    ]


@pytest.mark.parametrize("made_plain", [True, False])
def test_the_invalid_label_is_replaced_on_a_reverted_object(made_plain: bool) -> None:  # noqa: FBT001 - a case
    stored = changed(lws(), LABEL, "svc") if made_plain else changed(put(lws()), RECORD, None)
    scaled = changed(changed(stored, "spec.replicas", 3), LABEL, UNANSWERED)

    assert put(scaled, stored) == changed(stored, "spec.replicas", 3)


@pytest.mark.parametrize(
    "given",
    [
        lws(component_type="prefil"),
        lws(inject="disabled"),
        changed(lws(), RECORD, "unreadable"),
        changed(lws(), "metadata.annotations", {"note": "x"}),
    ],
    ids=["wrong", "disabled", "unreadable", "not ours"],
)
def test_the_invalid_label_stays_where_there_is_no_patch(given: dict[str, Any]) -> None:
    assert expand(changed(given, LABEL, UNANSWERED)) == []


def test_refresh_calls_the_mutators_again() -> None:
    once = put(lws())
    asked = changed(once, "metadata.annotations.fusioninfer.io/refresh", "1")

    operations = expand(asked, once, Settings(), CONCERNS[1:])

    assert {"op": "remove", "path": "/metadata/labels"} in operations


def test_a_record_that_does_not_fit_is_not_written() -> None:
    crowded = changed(lws(), "metadata.annotations.big", "x" * (256 * 1024 - 200))

    assert expand(crowded) == []


def test_the_authors_value_wins_over_a_partly_reverted_default() -> None:
    once = put(lws())
    path = "spec.leaderWorkerTemplate.workerTemplate.spec.containers.0.ports"

    again = put(changed(once, path, [{"containerPort": 6379, "name": "redis", "protocol": "TCP"}]), once)

    ports = engine_of(again)["ports"]
    assert ports == [{"containerPort": 6379, "name": "redis", "protocol": "TCP"}]


@pytest.mark.parametrize(
    "broken",
    [
        changed(lws(), "spec", []),
        changed(lws(), "spec", None),
        changed(lws(), "spec.leaderWorkerTemplate", [1]),
        changed(lws(), "spec.leaderWorkerTemplate.workerTemplate", [template()]),
        changed(lws(), "spec.leaderWorkerTemplate.workerTemplate.spec.containers", {"name": "x"}),
        changed(lws(), "metadata.annotations", [RECORD]),
        changed(lws(), "metadata", "x"),
    ],
)
def test_a_malformed_object_is_left_unchanged(broken: dict[str, object]) -> None:
    assert expand(broken) == []


ODD = {"PYTHONHASHSEED": "7", "LC_ALL": "tr_TR.UTF-8", "TZ": "Pacific/Kiritimati"}
PLAIN = {"PYTHONHASHSEED": "0", "LC_ALL": "C", "TZ": "UTC"}


@pytest.mark.slow
def test_hash_seed_locale_and_time_zone_make_no_difference() -> None:
    files = [str(case / "input.yaml") for case in some(CASES, "SEEDED_CASES")]
    command = [sys.executable, "-c", CORPUS, *files]

    odd, plain = (
        subprocess.run(command, cwd=ROOT, env=os.environ | one, capture_output=True, check=True).stdout
        for one in (ODD, PLAIN)
    )

    assert odd == plain
    assert plain.count(b'"/metadata/annotations/fusioninfer.io~1expansion"') > len(files) // 2


def test_the_order_of_keys_makes_no_difference() -> None:
    for case in some(CASES, "SEEDED_CASES"):
        for one in leaderworkersets(case):
            assert put(reversed_keys(one.object)) == put(one.object)


def reversed_keys(value: Any) -> Any:
    """Return a copy with the keys of every map in reverse order."""
    if isinstance(value, dict):
        return {key: reversed_keys(item) for key, item in reversed(value.items())}
    return [reversed_keys(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    ("path", "to", "is_decoded"),
    [
        ("metadata.annotations.fusioninfer.io/role-name", "other", True),
        ("metadata.labels.kueue~x-k8s~io/queue-name", "x", True),
        ("spec.leaderWorkerTemplate.workerTemplate.metadata.labels.note", "x", True),
        ("spec.startupPolicy", "LeaderCreated", True),
        ("spec.replicas", 3, False),
        ("metadata.annotations.note", "x", False),
        ("metadata.labels.note", "x", False),
    ],
)
def test_an_update_of_an_input_is_decoded_and_a_note_of_others_is_not(
    path: str, to: Any, *, is_decoded: bool
) -> None:
    stored = changed(put(lws()), "spec.leaderWorkerTemplate.workerTemplate.spec.schedulerName", None)

    assert (expand(changed(stored, path, to), stored) != []) is is_decoded
