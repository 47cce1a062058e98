"""What an earlier release stored, and admission of this one: no write that changes no pods restarts them."""

from collections.abc import Callable, Collection, Iterator
from typing import Final

import orjson
import pytest

from intent import Object
from tests.laws.convergence import clients
from tests.laws.convergence.schema import copied, templates
from tests.upgrades.forgeries import EVIL, FORGERIES, ITEMS, forged
from tests.upgrades.stored import (
    APPLIED,
    EDITED,
    EJECTED,
    FORGED,
    OVERSIZED,
    SCALED,
    SERVER_SIDE,
    STATES,
    WITHDRAWN,
    Stored,
    stored,
)
from tests.upgrades.writes import (
    WRITTEN,
    Admitted,
    admitted,
    answer,
    file_of,
    labelled,
    pods,
    sent,
    with_variable,
)
from webhook import review

LWS: Final = "LeaderWorkerSet"
Wrong = list[tuple[str, str, str]]
"""Case, object, and what is wrong with it."""


def those(state: str) -> list[tuple[Stored, Object]]:
    """Return the LeaderWorkerSets in a state."""
    return [(one, lws) for one in stored() if one.state == state for lws in one.of_kind(LWS)]


def restarts(before: Object, after: Admitted) -> str:
    """Return what a write does to the pods of an object; empty if nothing."""
    if after.denied:
        return f"denied: {after.denied}"
    if said := [text for text in after.warnings if "FI902" in text]:
        return said[0]
    return "" if pods(before) == pods(after.lws) else "other pods"


def test_every_case_has_every_state() -> None:
    found = {state: {one.case for one in stored() if one.state == state} for state in STATES}

    assert len(found[APPLIED]) > 150
    assert all(cases <= found[APPLIED] for cases in found.values())
    assert all(found[state] == found[APPLIED] for state in (SERVER_SIDE, SCALED, EDITED, EJECTED, FORGED))
    assert all(found[state] for state in (WITHDRAWN, OVERSIZED))


@pytest.mark.parametrize(("state", "write"), WRITTEN)
def test_a_write_that_changes_no_pods_restarts_none(state: str, write: str) -> None:
    wrong: Wrong = []
    for one, lws in those(state):
        body = sent(write, one, lws)
        if body is not None and (why := restarts(lws, admitted(body, lws))):
            wrong.append((one.case, lws["metadata"]["name"], why))

    assert wrong == []


def test_stored_inferenceservices_can_be_labelled() -> None:
    wrong = []
    for one in stored():
        for service in one.of_kind("InferenceService"):
            said = answer(review.validate, labelled(service), service, kind=kind_of(service))
            if not said["allowed"] or any("FI902" in text for text in said.get("warnings", ())):
                wrong.append((str(one), said))

    assert wrong == []


def kind_of(obj: Object) -> Object:
    group, _, version = obj["apiVersion"].partition("/")
    return {"group": group, "version": version, "kind": obj["kind"]}


# --- memory at /dev/shm, which had no size ----------------------------------------------------------


def memories(lws: Object) -> Iterator[tuple[str, Object]]:
    """Yield the containers that mount memory at /dev/shm, and the source of each volume."""
    for _, template in templates(lws):
        sources = {one["name"]: one.get("emptyDir") for one in template["spec"].get("volumes", ())}
        for one in template["spec"]["containers"]:
            for mount in one.get("volumeMounts", ()):
                source = sources.get(mount["name"])
                if mount["mountPath"] == "/dev/shm" and source:  # noqa: S108 - a path in the container
                    yield one["name"], source


def limited(lws: Object, memory: str, names: Collection[str]) -> Object:
    """Return it with a limit of memory for these containers; `COMMIT` reads none, so it stores it alike."""
    made: Object = copied(lws)
    for _, template in templates(made):
        for one in template["spec"]["containers"]:
            if one["name"] in names:
                one.setdefault("resources", {}).setdefault("limits", {})["memory"] = memory
    return made


def renamed(file: Object) -> Object:
    """Return a file with another role, which pods are told."""
    made: Object = copied(file)
    made["metadata"]["annotations"]["fusioninfer.io/role-name"] = "other"
    return made


def seeded(file: Object) -> Object:
    """Return a file with one more argument for the first container."""
    made: Object = copied(file)
    for _, template in templates(made):
        first = template["spec"]["containers"][0]
        first["args"] = [*first.get("args", ()), "--seed=7"]
    return made


EDITS: Final[dict[str, Callable[[Object], Object]]] = {
    "nothing": copied,
    "an annotation": renamed,
    "an argument": seeded,
    "a variable": with_variable,
    "the limit": lambda file: orjson.loads(orjson.dumps(file).replace(b"64Gi", b"128Gi")),
}


@pytest.mark.parametrize("edit", EDITS)
def test_memory_that_was_stored_without_a_size_gets_one_with_an_edit_of_the_limit_alone(edit: str) -> None:
    wrong: Wrong = []
    compared = 0
    for one, lws in those(APPLIED):
        file, names = file_of(one, lws), {name for name, _ in memories(lws)}
        if not names:
            continue
        if file is None or not all("spec" in pod for _, pod in templates(file)) or any(memories(file)):
            continue
        stored, again = limited(lws, "64Gi", names), limited(file, "64Gi", names)
        body = clients.client_side_apply(stored, EDITS[edit](again))
        after = stored if body is None else admitted(body, stored).lws
        size = "128Gi" if edit == "the limit" else None
        compared += 1
        if {source.get("sizeLimit") for _, source in memories(after)} != {size}:
            wrong.append((one.case, lws["metadata"]["name"], str([*memories(after)])))

    assert wrong == []
    assert compared > 50


# --- forged records ---------------------------------------------------------------------------------


@pytest.mark.parametrize("forgery", FORGERIES)
def test_an_update_of_the_record_gives_pods_nothing(forgery: str) -> None:
    gained = []
    for one, lws in those(APPLIED):
        if (changed := forged(lws, FORGERIES[forgery])) is None:
            continue
        after = admitted(changed, lws)
        if not after.denied and pods(after.lws) != pods(lws):
            gained.append((one.case, lws["metadata"]["name"]))

    assert gained == []


@pytest.mark.parametrize("forgery", ITEMS)
def test_a_record_that_was_forged_without_admission_gives_pods_nothing(forgery: str) -> None:
    gained = []
    for one, lws in those(APPLIED):
        if (changed := forged(lws, FORGERIES[forgery])) is None:
            continue
        edited, usual = (admitted(with_variable(each), each).lws for each in (changed, lws))
        if pods(edited) != pods(usual):
            gained.append((one.case, lws["metadata"]["name"]))

    assert gained == []


def test_what_a_forged_record_added_stays_removed() -> None:
    back = []
    for one, lws in those(FORGED):
        if EVIL not in orjson.dumps(pods(lws)).decode():
            continue
        cleaned: Object = copied(lws)
        for _, template in templates(cleaned):
            kept = [each for each in template["spec"]["initContainers"] if each["name"] != EVIL]
            template["spec"]["initContainers"] = kept
        body = clients.edit(lws, cleaned)
        assert body
        if pods(admitted(body, lws).lws) != pods(cleaned):
            back.append((one.case, lws["metadata"]["name"]))

    assert back == []
