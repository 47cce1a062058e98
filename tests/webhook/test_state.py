"""The states of a write; and the pin: an expansion stays while the input of an object does not change."""

from typing import Any, get_args

import orjson
import pytest

from intent import Object
from intent.settings import Settings
from tests.builders.lws import WORKER, changed, lws, paused, put
from tests.laws.strategies import TOOLS
from webhook.check import check
from webhook.expand import expand
from webhook.overlay.record import RULES, find
from webhook.state import Fresh, Invalid, NotOurs, Pinned, Settled, State, Unreadable, Withdrawn, state

REFRESH = "metadata.annotations.fusioninfer.io/refresh"
PAUSED = "metadata.annotations.fusioninfer.io/paused"
RECORD = "metadata.annotations.fusioninfer.io/expansion"
SCHEDULER = f"{WORKER}.spec.schedulerName"
ARGS = f"{WORKER}.spec.containers.0.args"
FILE = lws()
OTHER = changed(FILE, ARGS, ["other/M", "-tp", "8", "-pp", "2"])
BY_EVERY_TOOL = pytest.mark.parametrize("tool", TOOLS)


def foreign(live: Object) -> Object:
    """Return an expanded object as another release expands it: with another scheduler."""
    written = record_of(live)
    template = written["parts"]["gang"]["set"]["spec"]["leaderWorkerTemplate"]["workerTemplate"]
    template["spec"]["schedulerName"] = "other"
    text = orjson.dumps(written | {"by": RULES + 1}, option=orjson.OPT_SORT_KEYS)
    return changed(changed(live, SCHEDULER, "other"), RECORD, text.decode())


def record_of(live: Object) -> Any:
    return orjson.loads(live["metadata"]["annotations"]["fusioninfer.io/expansion"])


def scheduler(live: Object) -> Any:
    return live["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["schedulerName"]


def codes(live: Object, old: Object | None = None) -> list[tuple[str, str]]:
    return [(one.code, one.severity) for one in check(live, old)]


STORED = foreign(put(FILE))

EXPANDED = put(FILE)
NAMED = changed(FILE, "metadata.annotations.fusioninfer.io/base-refs", "absent")
TEAM = "metadata.labels.team"


def without_keys(live: Object) -> Object:
    """Return the object without our annotations, but with its record."""
    return changed(live, "metadata.annotations.fusioninfer.io/service", None)


def with_record(live: Object, text: str) -> Object:
    return changed(live, RECORD, text)


WRITES: list[tuple[Object, Object | None, type[State]]] = [
    (changed(FILE, "metadata.annotations", {}), None, NotOurs),
    (changed(FILE, "metadata.annotations.fusioninfer.io/inject", "disabled"), FILE, NotOurs),
    (changed(EXPANDED, "metadata.deletionTimestamp", "2026-01-01T00:00:00Z"), EXPANDED, NotOurs),
    (changed(EXPANDED, "spec.replicas", 5), EXPANDED, Settled),
    (with_record(EXPANDED, "{}"), EXPANDED, Unreadable),
    (with_record(FILE, "{}"), None, Unreadable),
    (lws(component_type="x"), None, Invalid),
    (lws(size=3, component_type="x"), EXPANDED, Invalid),
    (NAMED, None, Invalid),
    (NAMED, EXPANDED, Invalid),
    (without_keys(EXPANDED), EXPANDED, Withdrawn),
    (without_keys(FILE), EXPANDED, Withdrawn),
    (without_keys(FILE), FILE, Withdrawn),
    (without_keys(changed(EXPANDED, RECORD, None)), EXPANDED, NotOurs),
    (FILE, EXPANDED, Pinned),
    (changed(EXPANDED, TEAM, "a"), EXPANDED, Settled),
    (changed(EXPANDED, PAUSED, "true"), EXPANDED, Pinned),
    (changed(FILE, TEAM, "a"), FILE, Pinned),
    (FILE, with_record(FILE, "{}"), Pinned),
    (FILE, None, Fresh),
    (EXPANDED, None, Fresh),
    (OTHER, EXPANDED, Fresh),
    (OTHER, FILE, Fresh),
]


@pytest.mark.parametrize(("live", "old", "expected"), WRITES)
def test_every_write_has_one_state(live: Object, old: Object | None, expected: type[State]) -> None:
    assert type(state(live, old)) is expected


def test_each_state_has_a_write_in_the_table() -> None:
    assert {expected for *_, expected in WRITES} == set(get_args(State))


def is_left(live: Object, old: Object | None, kind: type[State]) -> bool:
    """Return whether the table says that `/mutate` leaves the object: without a record and templates."""
    return kind in {NotOurs, Settled, Unreadable} or (live is not NAMED and kind is Invalid) or old is FILE


LEFT = [(live, old) for live, old, kind in WRITES if is_left(live, old, kind) and live is not OTHER]


@pytest.mark.parametrize(("live", "old"), LEFT)
def test_mutate_leaves_the_object_as_the_table_says(live: Object, old: Object | None) -> None:
    assert expand(live, old) == []


@pytest.mark.parametrize(
    "wrong",
    [without_keys(EXPANDED), changed(EXPANDED, f"{WORKER}.spec.containers", 7), with_record(EXPANDED, "?")],
)
def test_a_settled_update_is_checked_for_its_replicas_alone(wrong: Object) -> None:
    assert codes(changed(wrong, "spec.replicas", 3), wrong) == []


@pytest.mark.parametrize(
    ("path", "severity"),
    [("metadata.annotations.fusioninfer.io/priority", "warning"), (SCHEDULER, "error")],
)
def test_a_record_of_a_later_version_denies_other_templates_alone(path: str, severity: str) -> None:
    """After a rollback, all else of the object can be edited."""
    stored = with_record(EXPANDED, orjson.dumps(record_of(EXPANDED) | {"v": 99}).decode())

    assert codes(changed(stored, path, "Critical"), stored) == [("FI901", severity)]


@BY_EVERY_TOOL
def test_applying_the_file_again_keeps_the_expansion_of_another_release(tool: str) -> None:
    live = put(TOOLS[tool](STORED, FILE), STORED)

    assert live == STORED
    assert codes(live, STORED) == []


@BY_EVERY_TOOL
def test_an_edit_keeps_what_another_release_made_of_the_rest(tool: str) -> None:
    live = put(TOOLS[tool](STORED, OTHER), STORED)

    assert scheduler(live) == "other"
    assert "other/M" in str(live["spec"])
    assert record_of(live)["by"] == RULES
    assert codes(live, STORED) == []


def engine(live: Object) -> Any:
    return live["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["containers"][0]


@BY_EVERY_TOOL
def test_words_that_the_rules_write_now_are_the_author_s_where_a_launch_lacks_them(tool: str) -> None:
    words, launch = ["--distributed-executor-backend", "ray"], engine(EXPANDED)["args"]
    bare = launch[: launch.index(words[0])]
    texts = [orjson.dumps(args).decode() for args in (launch, bare)]
    stored = changed(changed(EXPANDED, ARGS, bare), RECORD, find(EXPANDED).replace(*texts))
    live = put(TOOLS[tool](stored, changed(FILE, ARGS, [*engine(FILE)["args"], *words])), stored)

    assert put(FILE, stored) == stored
    assert engine(live)["args"] == launch


@BY_EVERY_TOOL
def test_a_part_of_a_concern_that_only_another_release_knows_stays(tool: str) -> None:
    item = {"name": "FUTURE", "value": "1"}
    spec = {"containers": [{"name": engine(FILE)["name"], "env": [item]}]}
    written = record_of(EXPANDED)
    written["parts"]["future"] = {
        "set": {"spec": {"leaderWorkerTemplate": {"workerTemplate": {"spec": spec}}}}
    }
    stored = changed(EXPANDED, f"{WORKER}.spec.containers.0.env", [*engine(EXPANDED)["env"], item])
    stored = changed(stored, RECORD, orjson.dumps(written, option=orjson.OPT_SORT_KEYS).decode())
    live = put(TOOLS[tool](stored, OTHER), stored)

    assert put(FILE, stored) == stored
    assert item in engine(live)["env"]
    assert "other/M" in engine(live)["args"]


HALF = changed(STORED, ARGS, ["org/M", "-tp", "8", "-pp", "2"])


@pytest.mark.parametrize(
    ("live", "old"),
    [
        (changed(HALF, ARGS, ["other/M", "-tp", "8", "-pp", "2"]), HALF),
        (changed(HALF, REFRESH, "1"), HALF),
        (STORED, changed(STORED, "metadata.annotations.fusioninfer.io/inject", "disabled")),
    ],
    ids=["an edit of what does not match its record", "a refresh of that", "a write bypassed the webhooks"],
)
def test_an_object_that_nothing_pins_is_expanded_by_this_release(live: Object, old: Object) -> None:
    assert scheduler(put(live, old)) == "volcano"


@BY_EVERY_TOOL
@pytest.mark.parametrize("path", ["spec.startupPolicy", f"{WORKER}.metadata.annotations.note"])
def test_what_was_stored_past_the_webhooks_stays_while_the_rules_make_the_same(tool: str, path: str) -> None:
    bypassed = changed(STORED, SCHEDULER, None)
    live = put(TOOLS[tool](bypassed, changed(FILE, path, "LeaderCreated")), bypassed)

    assert live["spec"] == changed(bypassed, path, "LeaderCreated")["spec"]
    assert put(live, bypassed) == live
    assert codes(live, bypassed) == [("FI522", "warning")]


def test_arguments_that_were_edited_past_the_webhooks_get_their_launch_with_the_next_edit() -> None:
    launch = engine(EXPANDED)["args"]
    bypassed = changed(EXPANDED, ARGS, [*launch, "--seed=1"])
    live = put(changed(bypassed, f"{WORKER}.metadata.annotations.note", "a"), bypassed)

    assert engine(live)["command"] == engine(EXPANDED)["command"]
    assert [word for word in engine(live)["args"] if word != "--seed=1"] == launch
    assert codes(live, bypassed) == []


def test_a_tool_that_prunes_the_record_writes_the_stored_object() -> None:
    edited = changed(EXPANDED, f"{WORKER}.metadata.annotations.note", "a")
    own = put(changed(changed(edited, RECORD, None), f"{WORKER}.metadata.labels", None), EXPANDED)

    assert put(changed(edited, RECORD, None), EXPANDED) == put(edited, EXPANDED)
    assert ("launch" in record_of(EXPANDED)["parts"], "launch" in record_of(own)["parts"]) == (True, False)


def test_an_edited_launch_that_stays_denies_no_later_write() -> None:
    stored = put(FILE)
    edited = put(changed(stored, f"{WORKER}.spec.containers.0.command", ["/bin/mine"]), stored)
    live = put(changed(edited, "metadata.annotations.fusioninfer.io/strategy", "queue-size"), edited)

    assert live["spec"] == edited["spec"]
    assert ("FI523", "warning") in codes(live, edited)
    assert "error" not in dict(codes(live, edited)).values()


def test_another_annotation_changes_no_pods_that_were_stored_past_the_webhooks() -> None:
    stored = put(changed(FILE, "metadata.annotations.fusioninfer.io/launcher", "ray-start"))
    bypassed = changed(stored, f"{WORKER}.metadata.annotations.note", "a")
    routed = changed(bypassed, "metadata.annotations.fusioninfer.io/strategy", "queue-size")

    assert "leaderTemplate" in bypassed["spec"]["leaderWorkerTemplate"]
    assert put(routed, bypassed) == routed


@pytest.mark.parametrize("old", [None, FILE, put(FILE), foreign(put(OTHER))], ids=str)
def test_an_expansion_of_another_release_in_this_write_is_accepted(old: Object | None) -> None:
    assert ("FI902", "error") not in codes(STORED, old)


def test_a_record_of_another_release_that_does_not_match_the_object_is_refused() -> None:
    assert codes(HALF) == [("FI902", "error")]


def test_an_earlier_record_of_another_release_does_not_excuse_a_change() -> None:
    assert codes(changed(STORED, ARGS, ["other/M", "-tp", "8", "-pp", "2"]), STORED) == [("FI902", "error")]


def strict(live: Object) -> Object:
    """Return an object that only an earlier, less strict release accepts."""
    found: Object = orjson.loads(orjson.dumps(live).replace(b"svc", b"Svc"))
    return found


@BY_EVERY_TOOL
def test_a_stricter_release_keeps_the_expansion_and_warns(tool: str) -> None:
    stored = strict(put(FILE))

    live = put(TOOLS[tool](stored, strict(FILE)), stored)

    assert live == stored
    assert codes(paused(live), stored) == [("FI104", "warning")]


def test_a_stricter_release_denies_a_changed_input() -> None:
    stored = strict(put(FILE))

    live = put(TOOLS["client-side"](stored, strict(OTHER)), stored)

    assert codes(live, stored) == [("FI104", "error")]


def test_other_settings_change_no_stored_object() -> None:
    other = Settings(launcher="vllm-native", scheduler_name="another")

    assert expand(FILE, None, other) != expand(FILE)
    for tool in TOOLS.values():
        again = tool(EXPANDED, FILE)
        assert put(again, EXPANDED, other) == EXPANDED


def rules_changed(live: Object, old: Object | None = None) -> Object:
    """Expand as a release would whose mutators write another scheduler for a new input."""
    return put(live, old, Settings(scheduler_name="next"))


ROLE = "metadata.annotations.fusioninfer.io/role-name"
EDITED = f"{WORKER}.spec.containers.0.image"


@BY_EVERY_TOOL
def test_a_saved_file_with_an_older_record_is_still_pinned(tool: str) -> None:
    file = changed(put(FILE), EDITED, "vllm/vllm-openai:v0.17.0")
    stored = put(file)
    assert record_of(stored) != record_of(file)

    live = rules_changed(TOOLS[tool](stored, file), stored)

    assert live["spec"] == stored["spec"]
    assert record_of(live) == record_of(stored)
    assert codes(live, stored) == []


@BY_EVERY_TOOL
def test_an_image_that_another_webhook_resolves_to_its_digest_is_still_pinned(tool: str) -> None:
    resolved = "vllm/vllm-openai:v0.17.1@sha256:" + "a" * 64
    stored = put(changed(put(FILE), EDITED, resolved))

    first = rules_changed(TOOLS[tool](stored, FILE), stored)
    again = rules_changed(changed(first, EDITED, resolved), stored)

    assert again["spec"] == stored["spec"]
    assert codes(again, stored) == []


def test_an_older_record_does_not_pin_a_changed_input() -> None:
    file = changed(put(FILE), ROLE, "one")
    stored = put(file)

    live = rules_changed(changed(file, ROLE, "two"), stored)

    assert scheduler(live) == "next"
