"""What an earlier release stored, and admission of this one: no write that changes no pods restarts them."""

from collections.abc import Iterator, Mapping
from functools import reduce
from typing import Any, Final

import orjson
import pytest

from intent import Object
from intent.annotations import COMPONENT_TYPE, SERVICE
from intent.container import ROUTING_PROXY
from intent.names import WAIT_FOR_LEADER
from tests.builders.lws import changed, put
from tests.laws.convergence import clients
from tests.laws.convergence.schema import copied, templates
from tests.tiers import by_turns
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


@pytest.mark.parametrize(("turn", "state", "write"), [(at, *row) for at, row in enumerate(WRITTEN)])
def test_a_write_that_changes_no_pods_restarts_none(turn: int, state: str, write: str) -> None:
    wrong: Wrong = []
    for one, lws in by_turns(those(state), turn):
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

CHANGED: Final[Mapping[str, str]] = {}
"""Words of launches that this release writes otherwise: pods keep theirs until the launch is made again."""


def words(lws: Object) -> list[list[str]]:
    """Return command and args of each container, with the words of this release."""
    containers = (one for _, each in templates(lws) for one in each["spec"]["containers"])
    return [[*map(_as_now, (*one.get("command", ()), *one.get("args", ())))] for one in containers]


def _as_now(text: str) -> str:
    return reduce(lambda changed, word: changed.replace(word, CHANGED[word]), CHANGED, text)


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


# --- edits of one concern ---------------------------------------------------------------------------

OWNED: Final[dict[str, tuple[tuple[str, ...], frozenset[str], bool]]] = {
    "env, shm and probes": (("env", "shm", "probes", "startup-probe"), frozenset(), False),
    "dns": (("dns",), frozenset({WAIT_FOR_LEADER}), False),
    "port": (("port",), frozenset(), True),
    "sidecar": (("sidecar",), frozenset({ROUTING_PROXY}), True),
}
"""Words of `skip`, the containers that they own, and whether they own ports."""
OF_ROUTES: Final = {
    "picker": "llm-d-0.7",
    "picker-replicas": "2",
    "gateway": "gw",
    "hostnames": "llm.example.com",
    "paused": "true",
    "roles": "prefill,decode",
    "model-secret": "token",
    "role-name": "other",
}
"""Annotations that own no container and no port."""


def asked(lws: Object, key: str) -> Any:
    """Return what its author asks for in an annotation."""
    return lws["metadata"].get("annotations", {}).get(key)


def containers(lws: Object) -> dict[tuple[str, str], list[Any]]:
    """Return the ports of all containers of leaders and workers."""
    group = lws["spec"]["leaderWorkerTemplate"]
    specs = {"worker": group["workerTemplate"]["spec"]}
    specs["leader"] = group.get("leaderTemplate", group["workerTemplate"])["spec"]
    return {
        (part, one["name"]): sorted(port["containerPort"] for port in one.get("ports", ()))
        for part, spec in specs.items()
        for one in (*spec.get("initContainers", ()), *spec["containers"])
    }


def edits(lws: Object) -> Iterator[tuple[str, Object, frozenset[str], bool]]:
    """Yield the object with other words of `skip`, and with other annotations."""
    noted = lws["metadata"]["annotations"]
    for name, (words, owned, owns_ports) in OWNED.items():
        skipped = ",".join({*filter(None, noted.get(SKIP, "").split(","))} ^ {*words})
        kept = {key: value for key, value in noted.items() if key != SKIP} | (
            {SKIP: skipped} if skipped else {}
        )
        yield name, changed(lws, "metadata.annotations", kept), owned, owns_ports
    others = {f"fusioninfer.io/{key}": value for key, value in OF_ROUTES.items()}
    yield "routes", changed(lws, "metadata.annotations", noted | others), frozenset(), False


def test_an_edited_annotation_changes_no_container_and_no_port_of_another_concern() -> None:
    wrong, made = [], 0
    decoders = [
        (one, lws)
        for state in (SERVER_SIDE, SCALED, EDITED)
        for one, lws in those(state)
        if asked(lws, COMPONENT_TYPE) == "decoder"
    ]
    for turn, (one, lws) in enumerate((*those(APPLIED), *decoders)):
        tried = by_turns([*edits(lws)] if asked(lws, SERVICE) else [], turn, 2)
        for name, live, owned, owns_ports in tried:
            after = put(live, lws)
            made += after != live
            then, now = containers(lws), containers(after)
            other = {at for at in then.keys() ^ now.keys() if at[1] not in owned}
            if not owns_ports:
                other |= {at for at in then.keys() & now.keys() if then[at] != now[at]}
            wrong += [(str(one), lws["metadata"]["name"], name, other)] if other else []

    assert wrong == []
    assert made > 250


# --- forged records ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("turn", "forgery"), [*enumerate(FORGERIES)])
def test_an_update_of_the_record_gives_pods_nothing(turn: int, forgery: str) -> None:
    gained = []
    for one, lws in by_turns(those(APPLIED), turn):
        if (changed := forged(lws, FORGERIES[forgery])) is None:
            continue
        after = admitted(changed, lws)
        if not after.denied and pods(after.lws) != pods(lws):
            gained.append((one.case, lws["metadata"]["name"]))

    assert gained == []


@pytest.mark.parametrize(("turn", "forgery"), [*enumerate(ITEMS)])
def test_a_record_that_was_forged_without_admission_gives_pods_nothing(turn: int, forgery: str) -> None:
    gained = []
    for one, lws in by_turns(those(APPLIED), turn):
        if (changed := forged(lws, FORGERIES[forgery])) is None:
            continue
        edited = admitted(with_variable(changed), changed).lws
        if EVIL in orjson.dumps(pods(edited)).decode():
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
