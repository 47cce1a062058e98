"""Records: refused ones, and how they are reverted."""

from typing import Any

import orjson
import pytest

from intent.errors import FieldError
from tests.builders.lws import WORKER, changed, lws, put
from webhook.mutate import WRITABLE
from webhook.overlay import record
from webhook.overlay.record import Expansion, Part, Record
from webhook.overlay.revert import layer, revert

ROLE = "llm-d.ai/role"
ODD: list[Any] = ["x", 7, None, ["x"], {"name": {}}, {"name": ["x"]}]
"""No items of a list that merges by keys."""


def written(put_on: Any, was: Any = None, **more: Any) -> str:
    parts = {"launch": {"set": put_on}}
    whole = {"v": 3, "by": 1, "decided": {}, "parts": parts, "was": was or {}, **more}
    return orjson.dumps(whole).decode()


def expansion(put_on: Any) -> Expansion:
    return Expansion({"labels": Part(put_on)}, put_on)


def in_worker(template: Any) -> Any:
    return {"spec": {"leaderWorkerTemplate": {"workerTemplate": template}}}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        "null",
        "7",
        7,
        None,
        {"v": 3},
        "{" * 50_000,
        written([]),
        written({"spec": {"replicas": 5}}),
        written({"metadata": {"labels": {"app": "x"}}}),
        written({"metadata": {"annotations": {"a": "b"}}}),
        written(in_worker({"spec": {"hostNetwork": True}})),
        written(in_worker({"spec": {"containers": {"name": "x"}}})),
        written(in_worker({"spec": {"containers": [{"name": "x", "image": "y"}]}})),
        written(in_worker({"spec": {"containers": ["x"]}})),
        written(in_worker({"spec": {"containers": [{"name": {"a": 1}, "args": []}]}})),
        written(in_worker({"spec": {"containers": [{"name": f"c{at}", "args": []} for at in range(2)]}})),
        written(in_worker({"spec": {"containers": [{"name": "x", "args": []}, {"name": "x", "env": []}]}})),
        written(in_worker({"spec": {"containers": [{"name": "x", "volumeMounts": [{"name": ["x"]}]}]}})),
        written({}, [1]),
        written(in_worker({"spec": {"initContainers": [{"name": "x", "env": [{"name": {}}]}]}})),
        written(in_worker({"metadata": {"annotations": {"volcano.sh/task-spec": {"env": [{"name": []}]}}}})),
        written({}, v=1),
        written({}, decided=None),
        written({}, decided={"launcher": 7}),
        written({}, parts={"labels": {"set": []}}),
        written({}, parts={one: {"set": {"metadata": {"labels": {ROLE: one}}}} for one in "ab"}),
        *(
            written({}, parts={one: {"set": in_worker({"spec": {"containers": [item]}})} for one in "ab"})
            for item in ODD
        ),
        written({}, by="x"),
        written({}, refresh=7),
    ],
)
def test_garbage_and_forgeries_are_errors(text: Any) -> None:
    found = record.read(text, WRITABLE)

    assert isinstance(found, FieldError)
    assert found.code == "FI901"


def test_a_written_record_can_be_read() -> None:
    put_on = {"metadata": {"labels": {"llm-d.ai/role": "both"}}}

    found = record.read(record.write(expansion(put_on), {"metadata": None}, refresh="1"), WRITABLE)

    assert found == Record(put_on, {"metadata": None}, expansion(put_on), refresh="1")


def test_a_record_of_version_2_can_be_read() -> None:
    older = {"v": 2, "in": "d", "from": {"layout": "l"}, "parts": {"labels": {"in": "p"}}}

    found = record.read(written({}, **older), WRITABLE)

    assert found == Record({}, {}, Expansion({"labels": Part()}), refresh=None, rules=1)


def test_a_revert_keeps_later_edits() -> None:
    edited = changed(put(lws()), "metadata.labels.team", "a")

    assert original(edited)["metadata"]["labels"] == {"team": "a"}


def original(live: Any, found: Record | None = None) -> Any:
    known = found or _record(live)
    return revert(live, layer(live, known.put_on, known.was), {}).original


def _record(expanded: Any) -> Record:
    found = record.read(expanded["metadata"]["annotations"]["fusioninfer.io/expansion"], WRITABLE)
    assert isinstance(found, Record)
    return found


@pytest.mark.parametrize("was", [{"spec": 7}, {"spec": {"leaderWorkerTemplate": [1]}}, {"metadata": "x"}])
def test_a_forged_reverse_overlay_raises_nothing(was: Any) -> None:
    once = put(lws())
    record_of_it = _record(once)

    found = original(once, Record(record_of_it.put_on, was))

    assert "labels" not in found["metadata"]


@pytest.mark.parametrize("other", [None, "x", {"name": "y", "volumeMounts": [None, {"name": {}}]}])
def test_any_container_beside_an_edited_volume_raises_nothing(other: Any) -> None:
    stored = put(lws())
    stored["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["containers"].append(other)
    edited = changed(stored, f"{WORKER}.spec.volumes.0.emptyDir", {"sizeLimit": "1Gi"})

    assert put(edited, stored)["spec"]["leaderWorkerTemplate"]["size"] == 2


@pytest.mark.parametrize("items", [["x"], [7], [{"name": {}}], [["x"]]])
def test_a_forged_value_that_was_replaced_raises_nothing(items: Any) -> None:
    once = changed(put(lws()), "spec.leaderWorkerTemplate.workerTemplate.spec.containers", None)
    injected = in_worker({"spec": {"containers": []}})

    for put_on in (injected, _record(put(lws())).put_on):
        original(once, Record(put_on, in_worker({"spec": {"containers": items}})))
        original(put(lws()), Record(put_on, in_worker({"spec": {"volumes": items, "containers": items}})))


@pytest.mark.parametrize("metadata", [[1], "x", 7, True, None, {"annotations": [1]}, {"annotations": "x"}])
def test_metadata_of_another_shape_has_no_record(metadata: Any) -> None:
    assert record.find({"metadata": metadata}) is None
