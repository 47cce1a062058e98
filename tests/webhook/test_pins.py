"""Pins by concern: an edit changes the concerns that read it, whatever the rules of the others say now."""

import json
from dataclasses import replace
from typing import Any, Final

import pytest

from catalog.pickers.generations import PICKERS, SPLITTING
from intent import Object
from intent.service.member import member, sidecar_of
from intent.settings import Settings
from intent.tree import Overlay
from tests.builders.lws import WORKER, changed, container, engine_of, lws, pod_spec, put, template
from tests.laws.strategies import TOOLS
from tests.webhook.test_state import record_of
from webhook.check import check
from webhook.mutate import CONCERNS, ORDER
from webhook.mutate.concern import Concern

ENGINE: Final = f"{WORKER}.spec.containers.0"
DECODER: Final[dict[str, Any]] = {"component_type": "decoder", "strategy": "pd-disaggregation"}
PROBE: Final = {"httpGet": {"path": "/health", "port": 8000}}
FILE: Final = lws(4, template(container(image="corp/llm:1", readinessProbe=PROBE)))
NEXT: Final = Settings(scheduler_name="next", launcher="ray-start")
"""Settings under which other rules hold for the scheduler and for the launcher."""


def later(concern: Concern) -> Concern:
    """Return the concern as a later release might have it: with other values."""
    return replace(concern, mutate=lambda given: other(concern.mutate(given)))


def other(value: Any) -> Any:
    """Return an overlay with other values of environment variables, and another volume."""
    if isinstance(value, dict):
        if value.get("name") == "VLLM_HOST_IP":
            return {"name": "VLLM_HOST_IP", "value": "later"}
        return {key: other(item) for key, item in value.items()}
    if isinstance(value, list):
        return [other(item) for item in value]
    return {"dshm": "dshm-later", 360: 720}.get(value, value) if isinstance(value, str | int) else value


LATER: Final = tuple(later(one) if one.name in {"env", "shm", "startup"} else one for one in CONCERNS)


def upgraded(live: Object, old: Object | None = None) -> Object:
    """Expand an object by the rules of the later release."""
    return put(live, old, NEXT, LATER)


def parts(live: Object) -> dict[str, Overlay]:
    """Return what the record says of each concern, and the decisions."""
    record = record_of(live)
    made = {name: part.get("set") for name, part in record["parts"].items()}
    return dict.fromkeys(ORDER) | made | {"decided": record["decided"]}


def test_the_later_rules_differ_in_each_of_these_concerns() -> None:
    now, then = parts(put(FILE)), parts(upgraded(FILE))

    assert {name for name in now if now[name] != then[name]} >= {"gang", "launch", "env", "shm", "decided"}


LAUNCH_UNIT: Final = {one.name for one in CONCERNS if one.unit == "launch"}
EVERY: Final = {"decided", *(one.name for one in CONCERNS)}
EDITS: Final[dict[str, tuple[str, Any, set[str]]]] = {
    "a variable": (f"{ENGINE}.env", [{"name": "A", "value": "1"}], set()),
    "a node selector": (f"{WORKER}.spec.nodeSelector", {"a": "b"}, set()),
    "a startup policy": ("spec.startupPolicy", "LeaderReady", set()),
    "the scheduler": ("metadata.annotations.fusioninfer.io/scheduler-name", "mine", {"gang"}),
    "a mount": (f"{ENGINE}.volumeMounts", [{"name": "m", "mountPath": "/models"}], {"shm"}),
    "a probe": (f"{ENGINE}.livenessProbe", PROBE, LAUNCH_UNIT),
    "skip": ("metadata.annotations.fusioninfer.io/skip", "env", LAUNCH_UNIT),
    "the image": (f"{ENGINE}.image", "corp/llm:2", EVERY),
    "refresh": ("metadata.annotations.fusioninfer.io/refresh", "1", EVERY),
}


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize(("path", "value", "mine"), EDITS.values(), ids=EDITS)
def test_an_edit_changes_only_the_concerns_that_read_it(
    path: str, value: Any, mine: set[str], tool: str
) -> None:
    stored = put(FILE)

    live = upgraded(TOOLS[tool](stored, changed(FILE, path, value)), stored)

    now, then = parts(live), parts(stored)
    assert {name for name in now if now[name] != then[name]} <= mine
    assert "FI902" not in {one.code for one in check(live, stored, NEXT)}


LIMITED: Final = lws(2, template(container(resources={"limits": {"nvidia.com/gpu": "8", "memory": "64Gi"}})))
LATER_CONCERN: Final[dict[str, tuple[str, Any, str | None]]] = {
    "nothing": ("metadata.name", "engine", None),
    "an annotation": ("metadata.annotations.fusioninfer.io/skip", "env", None),
    "a node selector": (f"{WORKER}.spec.nodeSelector", {"a": "b"}, None),
    "its own input": (f"{ENGINE}.resources.limits.memory", "1536Mi", "1536Mi"),
    "refresh": ("metadata.annotations.fusioninfer.io/refresh", "1", "64Gi"),
}


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize(("path", "value", "size"), LATER_CONCERN.values(), ids=LATER_CONCERN)
def test_a_concern_that_an_earlier_release_lacked_waits_for_an_edit_of_its_input(
    path: str, value: Any, size: str | None, tool: str
) -> None:
    older = tuple(one for one in CONCERNS if one.name != "shm_limit")
    stored: Object = put(LIMITED, None, Settings(), older)

    live = put(TOOLS[tool](stored, changed(LIMITED, path, value)), stored)

    (volume,) = pod_spec(live)["volumes"]
    assert volume["emptyDir"].get("sizeLimit") == size
    assert "FI902" not in {one.code for one in check(live, stored)}


def test_a_create_has_no_pin() -> None:
    assert parts(upgraded(put(FILE))) == parts(upgraded(FILE))


def test_a_value_of_the_author_that_is_removed_gives_way_to_that_of_the_rules() -> None:
    own = changed(FILE, f"{ENGINE}.env", [{"name": "VLLM_HOST_IP", "value": "10.0.0.1"}])
    stored = put(own)

    live = upgraded(TOOLS["client-side"](stored, FILE), stored)

    env = engine_of(live)["env"]
    assert {"name": "VLLM_HOST_IP", "value": "later"} in env


def test_parts_that_contradict_each_other_are_made_again() -> None:
    """A later release may write a field that another concern wrote before."""
    stored = put(FILE)
    moved = tuple(
        replace(
            one, mutate=lambda its: {"metadata": {"labels": {"llm-d.ai/role": its.intent.scheduler_name}}}
        )
        if one.name == "gang"
        else one
        for one in CONCERNS
    )
    without = tuple(replace(one, mutate=lambda _: {}) if one.name == "labels" else one for one in moved)
    live = changed(stored, "metadata.annotations.fusioninfer.io/scheduler-name", "mine")

    found = put(live, stored, Settings(), without)

    assert found["metadata"]["labels"]["llm-d.ai/role"] == "mine"


UNDUE: Final = replace(NEXT, disaggregated_picker="gie-1.5")
"""Settings under which no decoder gets a sidecar, as in releases before one was due."""


def test_a_layout_that_is_not_possible_any_more_keeps_the_launcher() -> None:
    pod = template(container(image="corp/llm:1", readinessProbe=PROBE))
    stored = put(lws(2, pod, component_type="decoder", strategy="pd-disaggregation"))
    stored = json.loads(json.dumps(stored).replace("disagg-sidecar:v0.10", "disagg-sidecar:v0.5"))
    live = changed(stored, f"{ENGINE}.volumeMounts", [{"name": "m", "mountPath": "/m"}])

    found = put(live, stored, UNDUE)

    assert parts(stored)["decided"]["port"] == 8200
    assert parts(found)["decided"]["launcher"] == "vllm-native"
    assert "port" not in parts(found)["decided"]


COMING: Final[dict[str, tuple[str, Any, bool]]] = {
    "skip": ("metadata.annotations.fusioninfer.io/skip", "probes", False),
    "another skip": ("metadata.annotations.fusioninfer.io/skip", "env,shm", False),
    "the picker": ("metadata.annotations.fusioninfer.io/picker", "llm-d-0.7", False),
    "a probe": (f"{ENGINE}.livenessProbe", PROBE, False),
    "a hook": (f"{ENGINE}.lifecycle", {"preStop": {"httpGet": {"port": 8000}}}, False),
    "a port": (f"{ENGINE}.ports", [{"containerPort": 9090}], False),
    "a variable": (f"{ENGINE}.env", [{"name": "A", "value": "1"}], False),
    "the arguments": (f"{ENGINE}.args", ["org/M", "--tensor-parallel-size", "16"], True),
    "options of the sidecar": ("metadata.annotations.fusioninfer.io/sidecar", "connector=nixlv2", True),
    "refresh": ("metadata.annotations.fusioninfer.io/refresh", "1", True),
}


@pytest.mark.parametrize("launcher", ["auto", "none"])
@pytest.mark.parametrize(("path", "value", "comes"), COMING.values(), ids=COMING)
def test_a_sidecar_that_an_earlier_release_left_out_comes_with_the_launch_or_its_options(
    path: str, value: Any, launcher: str, *, comes: bool
) -> None:
    pod = template(container(readinessProbe=PROBE))
    file = lws(2, pod, launcher=launcher, component_type="decoder", strategy="pd-disaggregation")
    stored = put(file, None, UNDUE)

    once = put(changed(stored, path, value), stored)
    again = put(changed(once, "metadata.annotations.fusioninfer.io/skip", "startup-probe"), once)

    assert "port" not in parts(stored)["decided"]
    assert ["port" in parts(one)["decided"] for one in (once, again)] == [comes, comes]


@pytest.mark.parametrize("default", ["llm-d-0.7", "gie-1.5"])
@pytest.mark.parametrize(("edit", "changes"), [(one, one in {"the picker", "refresh"}) for one in COMING])
def test_a_stored_sidecar_keeps_its_generation_until_its_author_asks(
    edit: str, default: str, *, changes: bool
) -> None:
    file = lws(2, template(container(readinessProbe=PROBE)), **DECODER)
    stored = put(file, None, Settings(disaggregated_picker="llm-d-0.4"))
    path, value, _ = COMING[edit]
    live = changed(stored, path, value)

    found = put(live, stored, Settings(disaggregated_picker=default))

    name = "llm-d-0.7" if edit == "the picker" else default if changes else "llm-d-0.4"
    assert sidecar_of(found) == (name if PICKERS[name].sidecar else "")
    codes = {one.code for one in check(found, stored, Settings(disaggregated_picker=default))}
    assert codes & {"FI805", "FI902"} == ({"FI805"} if name == "gie-1.5" else set())


def test_a_sidecar_of_an_author_is_of_no_generation() -> None:
    proxy = {"name": "routing-proxy", "image": "ghcr.io/llm-d/llm-d-routing-sidecar:v0.4.0"}
    pod = template(container(readinessProbe=PROBE), initContainers=[proxy])

    members = [member(put(lws(2, pod, skip=skip, **DECODER))) for skip in ("sidecar", "shm")]

    assert [one and one.sidecar for one in members] == ["", "llm-d-0.4"]


@pytest.mark.parametrize("name", SPLITTING)
def test_the_image_of_a_sidecar_tells_its_generation_also_from_a_mirror(name: str) -> None:
    file = lws(2, template(container()), **DECODER, picker=name)

    found = put(file, None, Settings(picker_registry="corp:5000/mirror"))

    assert sidecar_of(found) == name


def test_a_sidecar_comes_with_a_refresh_where_a_write_without_admission_made_it_due() -> None:
    stored = put(lws(2, template(container(readinessProbe=PROBE)), strategy="pd-disaggregation"))
    bypassed = changed(stored, "metadata.annotations.fusioninfer.io/component-type", "decoder")

    live = put(changed(bypassed, "metadata.annotations.fusioninfer.io/skip", "shm"), bypassed)
    refreshed = put(changed(live, "metadata.annotations.fusioninfer.io/refresh", "1"), live)

    assert "port" not in parts(live)["decided"]
    assert parts(refreshed)["decided"]["port"] == 8200


def test_a_replaced_object_keeps_its_order_when_it_is_expanded_again() -> None:
    stored = put(FILE)
    own = changed(FILE, f"{ENGINE}.env", [{"name": "RAY_py_gcs_connect_timeout_s", "value": "60"}])

    once = put(own, stored)

    assert put(once, stored) == once


def test_a_value_of_refresh_is_taken_once() -> None:
    key = "metadata.annotations.fusioninfer.io/refresh"
    stored = put(FILE)

    refreshed = upgraded(changed(stored, key, "1"), stored)
    removed = put(changed(refreshed, key, None), refreshed)
    again = put(changed(removed, key, "1"), removed)

    assert [one["spec"] for one in (removed, again)] == [refreshed["spec"]] * 2
    assert put(changed(again, key, "2"), again)["spec"] == stored["spec"]
