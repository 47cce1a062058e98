"""Findings about a LeaderWorkerSet, and the cases in which an error is only a warning."""

import json
from typing import Any

import pytest

from catalog.engines import Engines
from intent.errors import FieldError
from intent.settings import Settings
from tests.builders.lws import WORKER, changed, container, lws, paused, put, template
from webhook.check import check

RECORD = "metadata.annotations.fusioninfer.io/expansion"
SERVICE = "metadata.annotations.fusioninfer.io/service"


def errors(found: list[FieldError]) -> list[tuple[str, str]]:
    return [(one.path, one.code) for one in found if one.severity == "error"]


def codes(found: list[FieldError]) -> set[str]:
    return {one.code for one in found}


def test_a_good_object_has_no_findings() -> None:
    assert check(put(lws())) == []


HAND = ("--nnodes", "2", "--master-addr", "$(LWS_LEADER_ADDRESS)")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("FI307", ("-tp", "16", "-pp", "2", "--node-rank", "$(LWS_WORKER_INDEX)")),
        (
            "FI313",
            ("-tp", "16", "--distributed-executor-backend", "ray", "--node-rank", "$(LWS_WORKER_INDEX)"),
        ),
        ("FI328", ("-tp", "8", "-dp", "2", "--data-parallel-start-rank", "0")),
        ("FI333", ("-tp", "8", "-pp", "2", "--swap-space", "4")),
        ("FI329", ("-dp", "16", "--data-parallel-hybrid-lb", "--data-parallel-external-lb")),
    ],
)
def test_an_edit_elsewhere_of_a_stored_launch_with_a_fault_of_its_command_only_warns(
    code: str, words: tuple[str, ...]
) -> None:
    own = ("-tp", "16", "--node-rank", "$(LWS_WORKER_INDEX)")
    stored, good = (
        put(lws(worker=template(container(image="vllm/vllm-openai:v0.23.0", args=["M", *one, *HAND]))))
        for one in (words, own)
    )
    elsewhere = put(changed(stored, f"{WORKER}.metadata", {"annotations": {"note": "x"}}), stored)
    env = put(changed(stored, f"{WORKER}.spec.containers.0.env", [{"name": "A", "value": "b"}]), stored)
    worse = put(changed(good, f"{WORKER}.spec.containers.0.args", ["M", *words, *HAND]), good)

    assert code in {one for _, one in errors(check(stored))}
    for edited in (elsewhere, env):
        assert (code in codes(check(edited, stored)), errors(check(edited, stored))) == (True, [])
    assert code in {one for _, one in errors(check(worse, good))}


def test_an_object_that_does_not_opt_in_has_no_findings() -> None:
    assert check(changed(lws(), "metadata.annotations", {"note": "x"})) == []


def test_all_errors_come_at_once() -> None:
    planted = changed(
        lws(size=2, component_type="x", roles="a,a", servic="y"), "spec.startupPolicy", "LeaderReady"
    )

    assert codes(check(planted)) >= {"FI102", "FI104", "FI201"}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("spec.startupPolicy", "LeaderReady"),
        ("metadata.annotations.leaderworkerset~sigs~k8s~io/exclusive-topology", "rack"),
    ],
)
def test_without_a_gang_a_leader_may_be_scheduled_first(field: str, value: str) -> None:
    alone = changed(lws(), "metadata.annotations.fusioninfer~io/scheduler-name", "default-scheduler")

    assert errors(check(changed(alone, field, value), mutated=False)) == []


@pytest.mark.parametrize("launcher", ["rayy", "ray-symetric", "mpi"])
def test_an_unknown_launcher_hides_no_other_finding(launcher: str) -> None:
    wrong = changed(lws(), "metadata.annotations.fusioninfer~io/launcher", launcher)

    on_host = changed(wrong, f"{WORKER}.spec.hostNetwork", to=True)

    assert {"FI104", "FI510"} <= codes(check(on_host, mutated=False))


def test_an_object_that_was_not_mutated_is_refused() -> None:
    assert errors(check(lws())) == [("metadata.annotations[fusioninfer.io/expansion]", "FI902")]


def test_an_input_changed_without_the_mutating_webhook_is_refused() -> None:
    once = put(lws())
    path = f"{WORKER}.spec.containers.0.args"

    assert codes(check(changed(once, path, ["other/M", "-tp", "8", "-pp", "2"]), once)) == {"FI902"}


def test_a_file_need_not_be_mutated() -> None:
    assert check(lws(), mutated=False) == []


FORGED = {"x": {"in": "", "set": {"spec": {"replicas": 1}}}}


@pytest.mark.parametrize(
    "text",
    ["garbage", "{}", json.dumps({"v": 2, "in": "", "decided": {}, "from": {}, "parts": FORGED, "was": {}})],
    ids=["garbage", "empty", "forged"],
)
def test_an_invalid_record_is_an_error(text: str) -> None:
    assert errors(check(changed(put(lws()), RECORD, text))) == [
        ("metadata.annotations[fusioninfer.io/expansion]", "FI901")
    ]


def test_an_invalid_record_of_the_old_object_is_a_warning() -> None:
    old = changed(put(lws()), RECORD, "garbage")

    assert errors(check(changed(old, "spec.replicas", 3), old)) == []


@pytest.mark.parametrize("character", ["x", "字"])
def test_a_record_that_does_not_fit_is_reported_with_the_sizes(character: str) -> None:
    note = character * ((256 * 1024 - 300) // len(character.encode()))
    crowded = changed(lws(), "metadata.annotations.big", note)

    (found,) = check(put(crowded))

    assert (found.code, "262144" in found.message) == ("FI903", True)


def test_an_error_is_a_warning_while_the_input_does_not_change() -> None:
    old = changed(lws(), "spec.startupPolicy", "LeaderReady")

    found = check(paused(old), old)

    assert errors(found) == []
    assert "FI201" in codes(found)


def test_an_error_is_a_warning_where_an_edit_reaches_what_was_injected_alone() -> None:
    stored = put(changed(lws(), "spec.startupPolicy", "LeaderReady"))
    notes = stored["spec"]["leaderWorkerTemplate"]["workerTemplate"]["metadata"]["annotations"]
    task, *_ = (key for key in notes if key.startswith("volcano.sh/"))
    misspelt = {f"{task}x" if key == task else key: value for key, value in notes.items()}
    edited = put(changed(stored, f"{WORKER}.metadata.annotations", misspelt), stored)

    assert errors(check(stored)) == [("spec.startupPolicy", "FI201")]
    assert ("FI201" in codes(check(edited, stored)), errors(check(edited, stored))) == (True, [])


@pytest.mark.parametrize(
    ("path", "value"),
    [("spec.leaderWorkerTemplate.size", 4), ("metadata.annotations.fusioninfer.io/strategy", "queue-size")],
    ids=["of the pods", "of the controller"],
)
def test_an_error_denies_when_the_input_changes(path: str, value: Any) -> None:
    plain = changed(lws(), "spec.startupPolicy", "LeaderReady")

    for old in (plain, put(plain)):
        new = put(changed(old, path, value), old)
        assert errors(check(new, old)) == [("spec.startupPolicy", "FI201")]


def test_a_first_annotation_warns_of_the_restart() -> None:
    old = changed(lws(), "metadata.annotations", {"note": "x"})

    assert codes(check(put(lws(), old), old)) == {"FI520"}


@pytest.mark.parametrize("labels", [None, 7, "x", ["x"], {"app": "x"}])
def test_malformed_labels_are_not_reserved_labels(labels: Any) -> None:
    old = changed(changed(lws(), "metadata.annotations", {}), "metadata.labels", labels or {})

    assert "FI520" in codes(check(put(lws(), old), old))


def test_a_withdrawal_warns_of_the_restart() -> None:
    once = put(lws())
    out = changed(once, SERVICE, None)

    assert codes(check(put(out, once), once)) == {"FI521"}


def test_a_withdrawal_that_changes_no_template_warns_of_no_restart() -> None:
    ejected = changed(put(lws()), "metadata.annotations", {})
    again = put(changed(ejected, "metadata.annotations", lws()["metadata"]["annotations"]), ejected)
    out = put(changed(again, SERVICE, None), again)

    assert out["spec"] == again["spec"]
    assert codes(check(out, again)) == set()


def test_removing_the_record_too_warns_that_injected_fields_stay() -> None:
    once = put(lws())
    detached = changed(once, "metadata.annotations", {})

    assert put(detached, once) == detached
    assert codes(check(detached, once)) == {"FI530"}


def test_an_object_annotated_before_the_installation_is_told_how_to_expand() -> None:
    old = lws()

    assert codes(check(changed(old, "spec.replicas", 4), old)) == {"FI522"}


def test_a_misspelt_service_is_one_mistake() -> None:
    notes = {"fusioninfer.io/sevice": "a", "fusioninfer.io/launcher": "auto"}

    found = errors(check(changed(lws(), "metadata.annotations", notes)))

    assert found == [("metadata.annotations[fusioninfer.io/sevice]", "FI102")]


@pytest.mark.parametrize("size", ["two", 0, True])
def test_a_size_that_cannot_be_read_is_one_mistake(size: Any) -> None:
    found = errors(check(changed(lws(), "spec.leaderWorkerTemplate.size", size)))

    assert found == [("spec.leaderWorkerTemplate.size", "FI108")]


def test_each_of_many_containers_has_its_path() -> None:
    many = [container(f"c{at}", resources=None, image="envoy", command=["x"], args=None) for at in range(80)]
    broken = lws(worker=template(*many, {"image": "no name"}, container(args=["org/M", 7])))

    found = check(put(broken), mutated=False)

    assert errors(found) == [
        (f"{WORKER}.spec.containers[80]", "FI108"),
        (f"{WORKER}.spec.containers[81].args[1]", "FI108"),
    ]


@pytest.mark.parametrize(
    ("length", "size", "replicas", "accepted"),
    [
        (52, 1, 1, True),
        (53, 1, 1, False),
        (50, 2, 10, True),
        (51, 2, 10, False),
        (49, 2, 11, True),
        (50, 2, 11, False),
    ],
)
def test_a_name_is_limited_by_labels_of_pods(
    length: int, size: int, replicas: int, *, accepted: bool
) -> None:
    named = changed(
        changed(lws(size=size, launcher="none"), "metadata.name", "n" * length), "spec.replicas", replicas
    )
    if size == 1:
        named = changed(named, "metadata.annotations.fusioninfer.io/launcher", None)

    assert (("metadata.name", "FI109") not in errors(check(put(named)))) is accepted


def newer(live: Any) -> Any:
    """Return an expanded object whose record is of a later release."""
    text = live["metadata"]["annotations"]["fusioninfer.io/expansion"]
    return changed(live, RECORD, text.replace('"v":3', '"v":4'))


def test_removing_an_invalid_record_is_accepted_and_restarts_nothing() -> None:
    stored = newer(put(lws()))
    removed = changed(stored, RECORD, None)

    once = put(removed, stored)

    assert once == removed
    assert (errors(check(once, stored)), "FI535" in codes(check(once, stored))) == ([], True)


def test_after_the_removal_the_file_or_a_refresh_expands_the_object() -> None:
    expanded = put(lws())
    removed = changed(newer(expanded), RECORD, None)
    file = changed(removed, "spec.leaderWorkerTemplate", lws()["spec"]["leaderWorkerTemplate"])

    assert put(file, removed)["spec"] == expanded["spec"]
    refreshed = put(changed(removed, "metadata.annotations.fusioninfer.io/refresh", "1"), removed)
    assert "fusioninfer.io/expansion" in refreshed["metadata"]["annotations"]
    assert refreshed["spec"] == expanded["spec"]


def test_replacing_an_object_with_an_invalid_record_expands_the_file() -> None:
    stored = newer(put(lws()))

    once = put(lws(), stored)

    assert once == put(lws())
    assert check(once, stored) == []


def test_removing_an_invalid_record_softens_earlier_errors() -> None:
    stored = newer(put(changed(lws(), "spec.startupPolicy", "LeaderReady")))
    removed = changed(stored, RECORD, None)

    assert errors(check(put(removed, stored), stored)) == []


def test_an_error_about_a_recorded_launch_does_not_block_other_updates() -> None:
    """An older catalogue did not know the image and chose the launcher; the current one would choose none."""
    command = ["python3", "-m", "sglang.launch_server", "--model-path", "org/M", "--tp", "1"]
    plain = lws(worker=template(container(command=command, args=None)))
    stored = put(plain, None, Settings(engines=Engines()))

    found = check(put(paused(stored), stored), stored)

    assert ("FI316", "warning") in {(one.code, one.severity) for one in found}
    assert errors(found) == []


def bypassed() -> Any:
    return lws(inject="disabled")


def test_removing_inject_disabled_expands_the_object_as_on_a_create() -> None:
    once = put(lws(), bypassed())

    assert once == put(lws())
    (found,) = check(once, bypassed())
    assert (found.code, found.message[:25]) == ("FI520", "removing inject: disabled")


def test_removing_inject_disabled_reports_every_error() -> None:
    wrong = changed(lws(), "spec.startupPolicy", "LeaderReady")
    was = changed(bypassed(), "spec.startupPolicy", "LeaderReady")

    assert errors(check(put(wrong, was), was)) == [("spec.startupPolicy", "FI201")]


def test_an_object_without_a_record_is_reported_for_any_reason() -> None:
    stored = changed(newer(put(lws())), RECORD, None)

    (found,) = [one for one in check(changed(stored, "spec.replicas", 2), stored) if one.code == "FI522"]

    assert found.message.startswith("not expanded: the object is older than the webhook")


def test_replicas_that_only_validators_read_are_checked_when_they_change() -> None:
    named = "metadata.name"
    many = put(changed(changed(lws(), named, "n" * 49), "spec.replicas", 5))

    assert errors(check(put(changed(many, "spec.replicas", 2000), many), many)) == [(named, "FI109")]


def test_an_earlier_error_stays_a_warning_beside_a_new_one() -> None:
    old = changed(lws(), "spec.startupPolicy", "LeaderReady")
    crowded = changed(changed(old, "metadata.name", "n" * 49), "spec.replicas", 5)

    found = check(changed(crowded, "spec.replicas", 2000), crowded)

    assert errors(found) == [("metadata.name", "FI109")]
    assert ("FI201", "warning") in [(one.code, one.severity) for one in found]


def test_a_new_error_in_an_annotation_is_refused_though_nothing_else_changes() -> None:
    stored = put(lws())
    mistaken = changed(stored, "metadata.annotations.fusioninfer.io/launchr", "auto")

    assert [code for _, code in errors(check(put(mistaken, stored), stored))] == ["FI102"]


@pytest.mark.parametrize("kib", [100, 200, 250])
def test_a_record_that_is_too_large_is_reported(kib: int) -> None:
    long = lws(worker=template(container(args=["org/M", "-tp", "16", "--chat-template", "x" * 40 * 1024])))
    full = changed(long, "metadata.annotations.note", "x" * kib * 1024)

    found = check(put(full))

    assert [code for _, code in errors(found)] == (["FI903"] if kib > 127 else [])
    assert [code for _, code in errors(check(full, mutated=False))] == (["FI903"] if kib > 127 else [])


@pytest.mark.parametrize("image", ["vllm/vllm-openai:v0.20.0", "vllm/vllm-openai:v0.20.1"])
def test_a_file_past_the_mutating_webhook_is_refused_whose_workers_alone_lose_their_launch(
    image: str,
) -> None:
    """The made leader's launch stays, so the group would have two kinds of pods."""
    file = lws(worker=template(container(image="vllm/vllm-openai:v0.20.0")))
    stored = put(file)
    sent = changed(stored, WORKER, template(container(image=image)))

    assert errors(check(sent, stored)) == [("metadata.annotations[fusioninfer.io/expansion]", "FI902")]
    assert errors(check(put(sent, stored), stored)) == []
