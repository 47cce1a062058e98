"""Idempotence, stability and revert: behaviours 19 to 34, over the network."""

import copy
import re
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as bounded

from intent import Object
from intent.model import VOLUME as MODEL_VOLUME
from tests.builders.lws import changed, container, lws, put, template
from tests.builders.reviews import review
from tests.hostile.objects import FILES, reversed_keys
from tests.hostile.server import Server, started
from tests.laws.strategies import TOOLS, client_side, leaderworkersets, server_side
from webhook.overlay import record

EXPANSION = "metadata.annotations.fusioninfer.io/expansion"
WORKER = "spec.leaderWorkerTemplate.workerTemplate"
few = bounded(
    max_examples=60,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def inner(live: Object, *path: str) -> Any:
    below: Any = live
    for key in path:
        below = below[key]
    return below


@few
@given(file=leaderworkersets())
def test_19_an_expanded_object_is_not_expanded_again(server: Server, file: Object) -> None:
    once = server.admit(file)

    again = server.response(review(once))

    assert not {"patch", "patchType"} & set(again)


def test_20_hash_seed_locale_and_time_zone_make_no_difference(tmp_path: Path) -> None:
    odd = {"PYTHONHASHSEED": "7", "LC_ALL": "tr_TR.UTF-8", "TZ": "Pacific/Kiritimati"}
    plain = {"PYTHONHASHSEED": "0", "LC_ALL": "C", "TZ": "UTC"}
    for name in ("odd", "plain"):
        (tmp_path / name).mkdir()
    with ExitStack() as stack:
        one = stack.enter_context(started(tmp_path / "odd", environment=odd))
        other = stack.enter_context(started(tmp_path / "plain", environment=plain))

        for sent in map(orjson.dumps, map(review, FILES)):
            assert one.send(sent).body == other.send(sent).body
            assert one.send(sent, "/validate").body == other.send(sent, "/validate").body


def test_21_a_patch_contains_no_time_and_no_uid(server: Server) -> None:
    for file in FILES:
        text = orjson.dumps(server.operations(file)).decode()

        assert not re.search(r"20\d\d-\d\d-\d\d|\d\d:\d\d:\d\d|[0-9a-f]{8}-[0-9a-f]{4}-", text)


def test_22_the_order_of_keys_makes_no_difference(server: Server) -> None:
    for file in FILES:
        assert server.admit(reversed_keys(file)) == server.admit(file)


def test_22_the_order_of_the_authors_items_is_kept(server: Server) -> None:
    env = [{"name": name, "value": "1"} for name in ("Z", "A", "M")]
    file = lws(worker=template(container("b"), container("a", env=env), container("c")))

    containers = inner(server.admit(file), *WORKER.split("."), "spec", "containers")

    names = [item["name"] for item in containers[1].get("env", [])]
    assert [item["name"] for item in containers] == ["b", "a", "c"]
    assert [name for name in names if name in {"Z", "A", "M"}] == ["Z", "A", "M"]


def test_23_an_authors_different_value_wins_with_a_warning(server: Server) -> None:
    mine = changed(lws(), f"{WORKER}.spec.schedulerName", "mine")

    once = server.admit(mine)

    assert inner(once, *WORKER.split("."), "spec", "schedulerName") == "mine"
    assert any(
        cause["field"].endswith("spec.schedulerName")
        for cause in server.validated(once)["status"]["details"]["causes"]
    )


@few
@given(file=leaderworkersets())
def test_24_unknown_fields_are_kept(server: Server, file: Object) -> None:
    assert unknown(server.admit(file)) >= unknown(file)


def unknown(value: Any, path: str = "") -> set[str]:
    """Return path and value of each unknown field."""
    items: Any = enumerate(value) if isinstance(value, list) else ()
    if isinstance(value, dict):
        items = value.items()
        path += f"{value.get('name', '')}/"
    found = {f"{path}{orjson.dumps(item).decode()}" for key, item in items if key == "x-unknown"}
    return found.union(*(unknown(item, f"{path}{'' if type(key) is int else key}") for key, item in items))


@few
@given(file=leaderworkersets())
def test_25_applying_a_file_again_has_the_same_result(server: Server, file: Object) -> None:
    stored = server.admit(file)

    assert server.admit(client_side(stored, file), stored) == stored


@few
@given(file=leaderworkersets())
def test_26_applying_a_file_again_server_side_has_the_same_result(server: Server, file: Object) -> None:
    stored = server.admit(file)

    assert server.admit(server_side(stored, file), stored) == stored


def test_27_a_patch_never_contains_managed_fields(server: Server) -> None:
    managed = [{"manager": "kubectl", "operation": "Apply", "fieldsV1": {"f:spec": {}}}]
    file = changed(lws(), "metadata.managedFields", managed)

    assert "managedFields" not in str(server.operations(file))
    assert server.admit(file)["metadata"]["managedFields"] == managed


def test_29_an_earlier_webhook_makes_no_difference(server: Server) -> None:
    once = server.admit(with_sidecar(lws()))

    assert (server.admit(once), server.validated(once)["allowed"]) == (once, True)


def test_29_after_a_later_webhook_only_the_record_is_updated(server: Server) -> None:
    live = with_sidecar(server.admit(lws()))

    reinvoked = server.admit(live)

    assert changed(reinvoked, EXPANSION, "") == changed(live, EXPANSION, "")
    assert (server.admit(reinvoked), server.validated(reinvoked)["allowed"]) == (reinvoked, True)


def with_sidecar(live: Object) -> Object:
    """Inject a container, a volume and a label, as other webhooks do."""
    whole = copy.deepcopy(live)
    worker = whole["spec"]["leaderWorkerTemplate"]["workerTemplate"]
    worker["spec"]["containers"].append({"name": "proxy", "image": "envoy"})
    worker["spec"].setdefault("volumes", []).append({"name": "certs", "emptyDir": {}})
    worker.setdefault("metadata", {}).setdefault("labels", {})["injected"] = "true"
    return whole


def test_30_a_kueue_queue_is_denied_with_a_remedy(server: Server) -> None:
    queued = changed(lws(), "metadata.labels", {"kueue.x-k8s.io/queue-name": "q"})

    once = server.admit(queued)
    status = server.validated(once)["status"]

    assert once["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "q"
    assert "kueue.x-k8s.io/queue-name" in status["message"]


def test_31_removing_our_annotations_restores_the_object(server: Server) -> None:
    for file in FILES:
        stored = server.admit(file)

        withdrawn = server.admit(bare(stored), stored)

        assert withdrawn == bare(file) or is_expanded(file) or not is_expanded(stored) or mounts_ours(file)


def mounts_ours(file: Object) -> bool:
    """Return whether an author mounts a volume that only we add: it stays as long as something mounts it."""
    spec = file["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]
    mounts = [
        mount["name"] for one in spec.get("initContainers", ()) for mount in one.get("volumeMounts", ())
    ]
    return MODEL_VOLUME in mounts and not spec.get("volumes")


def is_expanded(live: Object) -> bool:
    return "fusioninfer.io/expansion" in live["metadata"]["annotations"]


def bare(live: Object) -> Object:
    """Remove the author's annotations and keep the record."""
    kept = {
        key: value
        for key, value in live["metadata"]["annotations"].items()
        if not key.startswith("fusioninfer.io/") or key == "fusioninfer.io/expansion"
    }
    return changed(live, "metadata.annotations", kept)


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize(
    "field", ["command", "args", "env", "ports", "volumeMounts"], ids=lambda name: f"without {name}"
)
def test_32_a_half_reverted_object_has_the_same_result(server: Server, field: str, tool: str) -> None:
    file = lws()
    stored = server.admit(file)
    original = inner(file, *WORKER.split("."), "spec", "containers")[0].get(field)

    half = changed(stored, f"{WORKER}.spec.containers.0.{field}", original)

    assert server.admit(TOOLS[tool](half, half), stored) == stored


def older(stored: Object, digest: str | None = None, version: int = record.VERSION) -> Object:
    """Return an expanded object as another release would have stored it, with another scheduler name."""
    written = orjson.loads(stored["metadata"]["annotations"]["fusioninfer.io/expansion"])
    applied = written["parts"]["gang"]["set"]["spec"]["leaderWorkerTemplate"]["workerTemplate"]
    applied["spec"]["schedulerName"] = "volcano-old"
    text = orjson.dumps(written | {"v": version, "in": digest or written["in"]}, option=orjson.OPT_SORT_KEYS)
    renamed = changed(stored, f"{WORKER}.spec.schedulerName", "volcano-old")
    return changed(renamed, EXPANSION, text.decode())


def test_33_a_newer_release_changes_no_stored_object(server: Server) -> None:
    stored = older(put(lws()))

    assert server.operations(changed(stored, "spec.replicas", 5), stored) == []


def test_33_a_newer_release_expands_anew_on_refresh(server: Server) -> None:
    stored = older(put(lws()))
    asked = changed(stored, "metadata.annotations.fusioninfer.io/refresh", "now")

    renewed = server.admit(asked, stored)

    assert inner(renewed, *WORKER.split("."), "spec", "schedulerName") == "volcano"


def test_34_a_record_of_a_newer_release_is_kept_with_a_warning(server: Server) -> None:
    stored = older(put(lws()), version=record.VERSION + 1)

    update = server.validated(changed(stored, "spec.replicas", 5), stored)

    assert server.operations(changed(stored, "spec.replicas", 5), stored) == []
    assert (update["allowed"], [text[:5] for text in update["warnings"]]) == (True, ["FI901"])
