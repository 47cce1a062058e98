"""What an earlier release stored, and admission of this one: no write that changes no pods restarts them."""

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
from tests.upgrades.writes import WRITTEN, Admitted, admitted, answer, labelled, pods, sent, with_variable
from webhook import review

LWS: Final = "LeaderWorkerSet"
SKIP: Final = "fusioninfer.io/skip"
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


# --- launches that are made again -------------------------------------------------------------------


def words(lws: Object) -> list[list[str]]:
    """Return command and args of each container."""
    containers = (one for _, each in templates(lws) for one in each["spec"]["containers"])
    return [[*one.get("command", ()), *one.get("args", ())] for one in containers]


def test_a_launch_that_is_made_again_of_the_same_command_keeps_its_words() -> None:
    wrong, compared = [], 0
    for one, lws in those(APPLIED):
        live: Object = copied(lws)
        noted = live["metadata"].setdefault("annotations", {})
        if "port" not in noted.get(SKIP, "").split(","):
            noted[SKIP] = ",".join(filter(None, (noted.get(SKIP), "port")))
            after = admitted(live, lws)
            compared += after.lws["metadata"]["annotations"] != live["metadata"]["annotations"]
            if after.denied or words(after.lws) != words(lws):
                wrong.append((one.case, lws["metadata"]["name"], after.denied, words(after.lws)))

    assert wrong == []
    assert compared > 150


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
