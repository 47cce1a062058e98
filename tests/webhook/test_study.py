"""When what another release decided stays: while an object's author changes nothing."""

from typing import Any

import jsonpatch
import orjson
import pytest

from intent import Object
from intent.settings import Settings
from tests.laws.strategies import TOOLS
from tests.lws import WORKER, changed, lws, put
from webhook.check import check
from webhook.expand import expand
from webhook.overlay.record import READING

RECORD = "metadata.annotations.fusioninfer.io/expansion"
SCHEDULER = f"{WORKER}.spec.schedulerName"
ARGS = f"{WORKER}.spec.containers.0.args"
FILE = lws()
OTHER = changed(FILE, ARGS, ["other/M", "-tp", "8", "-pp", "2"])
BY_EVERY_TOOL = pytest.mark.parametrize("tool", TOOLS)


def foreign(live: Object, reading: int = READING + 1) -> Object:
    """Make of an expanded object one that another release expanded: other digests, another scheduler."""
    written = record_of(live)
    written["set"]["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["schedulerName"] = "other"
    text = orjson.dumps(written | {"in": "another", "read": reading}, option=orjson.OPT_SORT_KEYS)
    return changed(changed(live, SCHEDULER, "other"), RECORD, text.decode())


def record_of(live: Object) -> Any:
    return orjson.loads(live["metadata"]["annotations"]["fusioninfer.io/expansion"])


def scheduler(live: Object) -> Any:
    return live["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["schedulerName"]


def codes(live: Object, old: Object | None = None) -> list[tuple[str, str]]:
    return [(one.code, one.severity) for one in check(live, old)]


STORED = foreign(put(FILE))


@BY_EVERY_TOOL
def test_the_same_file_again_leaves_what_another_release_put_on(tool: str) -> None:
    live = put(TOOLS[tool](STORED, FILE), STORED)

    assert live == STORED
    assert codes(live, STORED) == []


@BY_EVERY_TOOL
def test_an_author_s_change_has_our_rules_run(tool: str) -> None:
    live = put(TOOLS[tool](STORED, OTHER), STORED)

    assert scheduler(live) == "volcano"
    assert "read" not in record_of(live)
    assert codes(live, STORED) == []


def test_what_was_not_as_its_record_says_has_our_rules_run() -> None:
    half = changed(STORED, ARGS, ["org/M", "-tp", "8", "-pp", "2"])

    assert scheduler(put(changed(half, "spec.startupPolicy", "LeaderCreated"), half)) == "volcano"


def test_what_was_written_while_the_glass_was_broken_has_our_rules_run() -> None:
    broken = changed(STORED, "metadata.annotations.fusioninfer.io/inject", "disabled")

    assert scheduler(put(STORED, broken)) == "volcano"


def test_a_record_of_our_own_reading_with_another_digest_has_our_rules_run() -> None:
    ours = foreign(put(FILE), READING)

    assert scheduler(put(changed(ours, "metadata.labels.team", "a"), ours)) == "volcano"


@pytest.mark.parametrize("old", [None, FILE, put(FILE), foreign(put(OTHER))], ids=str)
def test_what_another_release_expands_now_is_taken(old: Object | None) -> None:
    assert ("FI902", "error") not in codes(STORED, old)


def test_another_release_s_record_that_the_object_does_not_bear_out_is_refused() -> None:
    assert codes(changed(STORED, ARGS, ["org/M", "-tp", "8", "-pp", "2"])) == [("FI902", "error")]


def test_another_release_s_record_that_was_there_before_does_not_excuse_a_change() -> None:
    assert codes(changed(STORED, f"{WORKER}.spec.containers.0.image", "x"), STORED) == [
        ("FI902", "error"),
        ("FI527", "warning"),
    ]


def strict(live: Object) -> Object:
    """Make of an object one that only an earlier, less strict release could read and expand."""
    found: Object = orjson.loads(orjson.dumps(live).replace(b"svc", b"Svc"))
    return found


@BY_EVERY_TOOL
def test_a_stricter_reading_leaves_what_was_put_on_and_warns(tool: str) -> None:
    stored = strict(put(FILE))

    live = put(TOOLS[tool](stored, strict(FILE)), stored)

    assert live == stored
    assert codes(changed(live, "spec.replicas", 3), stored) == [("FI101", "warning")]


def test_a_stricter_reading_denies_an_author_s_change() -> None:
    stored = strict(put(FILE))

    live = put(TOOLS["client-side"](stored, strict(OTHER)), stored)

    assert codes(live, stored) == [("FI101", "error")]


def rules_changed(live: Object, old: Object | None = None) -> Object:
    """Expand as the next release would, whose rules name another scheduler for what is new."""
    other = Settings(scheduler_name="next")
    applied: Object = jsonpatch.apply_patch(live, expand(live, old, other))
    return applied


EDITED = f"{WORKER}.spec.containers.0.image"


@BY_EVERY_TOOL
def test_a_file_that_was_saved_with_an_older_record_and_edited_is_still_pinned(tool: str) -> None:
    file = changed(put(FILE), EDITED, "vllm/vllm-openai:v0.17.0")
    stored = put(file)
    assert record_of(stored)["in"] != record_of(file)["in"]

    live = rules_changed(TOOLS[tool](stored, file), stored)

    assert live["spec"] == stored["spec"]
    assert record_of(live)["in"] == record_of(stored)["in"]
    assert codes(live, stored) == []


@BY_EVERY_TOOL
def test_an_image_that_another_webhook_resolves_to_its_digest_is_still_pinned(tool: str) -> None:
    resolved = "vllm/vllm-openai:v0.17.1@sha256:" + "a" * 64
    stored = put(changed(put(FILE), EDITED, resolved))

    first = rules_changed(TOOLS[tool](stored, FILE), stored)
    again = rules_changed(changed(first, EDITED, resolved), stored)

    assert again["spec"] == stored["spec"]
    assert codes(again, stored) == []


def test_an_older_record_pins_nothing_that_its_author_changes_now() -> None:
    file = changed(put(FILE), EDITED, "vllm/vllm-openai:v0.17.0")
    stored = put(file)

    live = rules_changed(changed(file, EDITED, "vllm/vllm-openai:v0.17.2"), stored)

    assert scheduler(live) == "next"
