"""Every condition but Scheduled and RoutesReady, in each of its states."""

import re
from dataclasses import replace
from typing import Final

import pytest

from intent.errors import FieldError
from intent.inferenceservice.read import RoleIntent
from sync.status import status
from sync.status.conditions import JUDGES
from sync.status.observed import Observed
from sync.status.reasons import CONDITIONS, OPTIONAL, REASONS, Reason
from tests.sync.status.samples import (
    CRASH,
    D0,
    NOW,
    P0,
    PREFILL,
    RULE,
    Case,
    condition,
    each,
    judged,
    lws,
    message,
    reason,
    routes,
    seen,
    service,
    starting,
    waiting,
)

D_STARTS = starting("decode", 0, 4)
D_CRASHES = starting("decode", 0, 4, failure=CRASH)
SHORT: Final = seen(P0, D0, waiting("decode", 1, 4))
LATE: Final = {"prefill": lws("prefill"), "decode": lws("decode", generation=2)}
UPDATING: Final = {"prefill": lws("prefill", updating=True), "decode": lws("decode")}
UNREAD: Final = seen(service=replace(service(), roles=()), settled=False, errors=(RULE,))
ZERO: Final = (PREFILL, RoleIntent("decode", "decoder", {}, replicas=0, nodes=4))
UNANSWERED: Final = replace(routes(), http_route=replace(routes().http_route, answers=()))  # type: ignore[type-var] # a route is there
WRONG: Final = FieldError("metadata", None, "service r1 waits for role decode", "FI410")
TROUBLE: Final = FieldError("spec", None, "r1-decode is not written: 500", "FI872", softened=True)
WORKS: Final = replace(routes(), settled=False)
ONE_OF_TWO: Final = "role decode has 1 of 2 replicas ready"
LACKS: Final = "role decode waits for 32 more nvidia.com/gpu (4 pods)"
REPAIR: Final = (
    "spec.roles[1].template: is required (FI108). "
    "To repair it: write the type that the LeaderWorkerSet API defines for the field"
)
CRASHED: Final = (
    "pod r1-decode-0-0, container vllm: CrashLoopBackOff: back-off 5m0s "
    "(FI412: read its last output: kubectl logs r1-decode-0-0 --all-containers --previous)"
)

INITIALIZED: Final[dict[str, Case]] = {
    "a service with its LWS": (seen(), "True InferenceServiceCreating"),
    "a role without its LWS is named": (
        seen(sets={"prefill": lws("prefill")}),
        "False LeaderWorkerSetMissing: no LeaderWorkerSet yet for role decode",
    ),
    "an unreadable service has the cause": (UNREAD, f"False CannotBeRead: {REPAIR}"),
}
READY: Final[dict[str, Case]] = {
    "one ready replica per role": (
        SHORT,
        f"True ServiceReady: role prefill has 1 of 1 replica ready; {ONE_OF_TWO}",
    ),
    "an unreadable service": (UNREAD, "False NotInitialized"),
    "an unschedulable one": (seen(P0, waiting("decode", 0, 4)), f"False NotScheduled: {LACKS}"),
    "a role without a ready replica is named": (
        seen(P0, D_STARTS),
        "False RoleNotReady: role decode has 0 of 2 replicas ready",
    ),
    "a group with one unready pod": (seen(P0, D0[:3] + D_STARTS[3:]), "False RoleNotReady"),
    "a role scaled to zero": (seen(P0, service=service(*ZERO)), "False ScaledToZero"),
    "routes that work": (seen(routes=routes()), "True ServiceReady"),
    "missing routes": (seen(routes=routes(pool=None)), "False RoutesNotReady"),
    "a gateway without an answer": (seen(routes=UNANSWERED), "Unknown NotObserved"),
    "what is not ready is so in any generation": (seen(P0, D_STARTS, settled=False), "False RoleNotReady"),
}
ACTIVE: Final[dict[str, Case]] = {
    "a complete service": (seen(), "True InferenceServiceAvailable"),
    "a missing replica": (seen(P0, D0), f"False InferenceServiceProcessing: {ONE_OF_TWO}"),
    "a rolling update": (seen(sets=UPDATING), "False InferenceServiceProcessing"),
    "a service that is being applied": (
        seen(settled=False, errors=(TROUBLE,)),
        "Unknown NotObserved: not all objects of generation 3 are applied yet: r1-decode is not written: 500",
    ),
}
FAILED: Final[dict[str, Case]] = {
    "without errors": (seen(), "False NothingFailed"),
    "a broken rule, with a remedy": (seen(errors=(RULE,)), f"True InferenceServiceFailed: {REPAIR}"),
    "a warning": (seen(errors=(WRONG,)), "False NothingFailed"),
    "an error that was softened": (seen(errors=(replace(RULE, softened=True),)), "False NothingFailed"),
    "a container that crashes, with a remedy": (seen(P0, D_CRASHES), f"True PodsFailing: {CRASHED}"),
    "a deleted pod that crashed": (
        seen(P0, starting("decode", 0, 4, failure=CRASH, deleting=True)),
        "True PodsFailing",
    ),
}


def test_the_conditions_are_those_of_the_table() -> None:
    assert tuple(JUDGES) == tuple(CONDITIONS)


@pytest.mark.parametrize("row", [row for row in REASONS if row.condition], ids=str)
def test_a_reason_is_one_word_of_a_known_condition(row: Reason) -> None:
    assert row.condition in CONDITIONS
    assert re.fullmatch("[A-Z][A-Za-z]+", row.reason)


@each(Initialized=INITIALIZED, Ready=READY, Active=ACTIVE, Failed=FAILED)
def test_a_condition_has_the_reason_of_its_cause(
    kind: str, observed: Observed, verdict: str, said: str
) -> None:
    assert judged(kind, observed, said) == (verdict, said)


def test_of_an_unreadable_service_no_condition_is_true_but_failed() -> None:
    states = {name: reason(name, UNREAD)[0] for name in JUDGES if name not in OPTIONAL}

    assert [name for name, one in states.items() if one == "True"] == ["Failed"]


@pytest.mark.parametrize("lag", [{"settled": False}, {"sets": LATE}])
@pytest.mark.parametrize("kind", ["Ready", "Active", "Scheduled"])
def test_nothing_is_true_because_of_an_earlier_generation(kind: str, lag: dict[str, object]) -> None:
    assert reason(kind, replace(seen(), **lag)) == ("Unknown", "NotObserved")  # type: ignore[arg-type] # the fields differ by case


@pytest.mark.parametrize("errors", [(), (RULE,)], ids=["in-time", "never"])
@pytest.mark.parametrize("kind", ["Scheduled", "Active"])
def test_routes_that_are_not_stored_hide_no_pod(kind: str, errors: tuple[FieldError, ...]) -> None:
    assert reason(kind, seen(routes=replace(WORKS, errors=errors)))[0] == "True"


def test_the_first_of_several_errors_by_code_is_reported_in_any_order() -> None:
    other = FieldError("metadata", None, "members disagree", "FI404")

    assert message("Failed", seen(errors=(other, RULE))) == message("Failed", seen(errors=(RULE, other)))


def test_a_crash_is_reported_until_its_role_is_complete_or_of_another_generation() -> None:
    before = status(seen(P0, D_CRASHES), {}, NOW)
    repaired = seen(P0, D_STARTS, service=replace(service(), generation=4))

    found = condition("Failed", seen(P0, D_STARTS), before)

    assert (found["status"], found["message"]) == ("True", message("Failed", seen(P0, D_CRASHES)))
    assert condition("Failed", seen(), before)["reason"] == "NothingFailed"
    assert condition("Failed", repaired, before)["reason"] == "NothingFailed"


def test_a_crash_hidden_by_an_error_is_reported_again_without_its_message() -> None:
    before = status(seen(P0, D_CRASHES, errors=(RULE,)), {}, NOW)

    assert condition("Failed", seen(P0, D_STARTS), before)["message"] == (
        "a pod of role decode failed, and it is not complete since"
    )


def test_every_false_condition_has_a_remedy() -> None:
    good = {**dict.fromkeys(CONDITIONS, "True"), "Failed": "False"}
    rows = [row for row in REASONS if row.condition and row.status != good.get(row.condition)]

    assert rows
    assert [row for row in rows if not row.remedy] == []
