"""Every condition but Scheduled and RoutesReady, in each of its states."""

import re
from dataclasses import replace

import pytest

from intent.errors import FieldError
from intent.inferenceservice.read import RoleIntent
from sync.observed.pod import FAILURES
from sync.status import status
from sync.status.conditions import JUDGES
from sync.status.failures import CODE_OF
from sync.status.reasons import CONDITIONS, OPTIONAL, REASONS, Reason
from tests.sync.status.samples import (
    CRASH,
    D0,
    NOW,
    P0,
    PREFILL,
    RULE,
    condition,
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
LATE = {"prefill": lws("prefill"), "decode": lws("decode", generation=2)}
UNREAD = seen(service=replace(service(), roles=()), settled=False, errors=(RULE,))


def test_the_conditions_are_those_of_the_table() -> None:
    assert tuple(JUDGES) == tuple(CONDITIONS)


@pytest.mark.parametrize("row", REASONS, ids=lambda row: f"{row.condition}-{row.reason}")
def test_a_reason_is_one_word_of_a_known_condition(row: Reason) -> None:
    assert row.condition in CONDITIONS
    assert re.fullmatch("[A-Z][A-Za-z]+", row.reason)


# --- Initialized ------------------------------------------------------------------------------------


def test_a_service_with_its_lws_is_initialized() -> None:
    assert reason("Initialized", seen()) == ("True", "InferenceServiceCreating")


def test_a_role_without_its_lws_is_named() -> None:
    observed = seen(sets={"prefill": lws("prefill")})

    assert reason("Initialized", observed) == ("False", "LeaderWorkerSetMissing")
    assert message("Initialized", observed) == "no LeaderWorkerSet yet for role decode"


def test_an_unreadable_service_has_the_cause() -> None:
    assert reason("Initialized", UNREAD) == ("False", "CannotBeRead")
    assert message("Initialized", UNREAD).startswith("spec.roles[1].template: is required (FI108)")


# --- Ready ------------------------------------------------------------------------------------------


def test_a_service_with_one_ready_replica_per_role_is_ready() -> None:
    observed = seen(P0, D0, waiting("decode", 1, 4))

    assert reason("Ready", observed) == ("True", "ServiceReady")
    assert message("Ready", observed) == (
        "role prefill has 1 of 1 replica ready; role decode has 1 of 2 replicas ready"
    )


def test_of_an_unreadable_service_no_condition_is_true_but_failed() -> None:
    states = {name: reason(name, UNREAD)[0] for name in JUDGES if name not in OPTIONAL}

    assert [name for name, one in states.items() if one == "True"] == ["Failed"]
    assert reason("Ready", UNREAD) == ("False", "NotInitialized")


def test_an_unschedulable_service_is_not_ready() -> None:
    observed = seen(P0, waiting("decode", 0, 4))

    assert reason("Ready", observed) == ("False", "NotScheduled")
    assert message("Ready", observed) == "role decode waits for 32 more nvidia.com/gpu (4 pods)"


def test_a_role_without_a_ready_replica_is_named() -> None:
    observed = seen(P0, D_STARTS)

    assert reason("Ready", observed) == ("False", "RoleNotReady")
    assert message("Ready", observed) == "role decode has 0 of 2 replicas ready"


def test_a_group_with_one_unready_pod_is_not_ready() -> None:
    assert reason("Ready", seen(P0, D0[:3] + D_STARTS[3:])) == ("False", "RoleNotReady")


def test_a_role_scaled_to_zero_keeps_the_service_from_being_ready() -> None:
    roles = (PREFILL, RoleIntent("decode", "decoder", {}, replicas=0, nodes=4))
    observed = seen(P0, service=service(*roles))

    assert reason("Ready", observed) == ("False", "ScaledToZero")


def test_routes_that_work_keep_it_ready() -> None:
    assert reason("Ready", seen(routes=routes())) == ("True", "ServiceReady")


def test_missing_routes_keep_it_from_being_ready() -> None:
    assert reason("Ready", seen(routes=routes(pool=None))) == ("False", "RoutesNotReady")


def test_a_gateway_without_an_answer_makes_it_unknown() -> None:
    silent = routes()
    assert silent.http_route is not None
    observed = seen(routes=replace(silent, http_route=replace(silent.http_route, answers=())))

    assert reason("Ready", observed) == ("Unknown", "NotObserved")


@pytest.mark.parametrize("lag", [{"settled": False}, {"sets": LATE}])
@pytest.mark.parametrize("kind", ["Ready", "Active", "Scheduled"])
def test_nothing_is_true_because_of_an_earlier_generation(kind: str, lag: dict[str, object]) -> None:
    assert reason(kind, replace(seen(), **lag)) == ("Unknown", "NotObserved")  # type: ignore[arg-type] # the fields differ by case


def test_what_is_not_ready_is_reported_for_any_generation() -> None:
    assert reason("Ready", seen(P0, D_STARTS, settled=False)) == ("False", "RoleNotReady")


# --- Active -----------------------------------------------------------------------------------------


def test_a_complete_service_is_active() -> None:
    assert reason("Active", seen()) == ("True", "InferenceServiceAvailable")


def test_a_service_with_a_missing_replica_is_not_active() -> None:
    observed = seen(P0, D0)

    assert reason("Active", observed) == ("False", "InferenceServiceProcessing")
    assert message("Active", observed) == "role decode has 1 of 2 replicas ready"


def test_a_service_in_a_rolling_update_is_not_active() -> None:
    sets = {"prefill": lws("prefill", updating=True), "decode": lws("decode")}

    assert reason("Active", seen(sets=sets)) == ("False", "InferenceServiceProcessing")


# --- Progressing ------------------------------------------------------------------------------------


def test_a_complete_service_does_not_progress() -> None:
    assert reason("Progressing", seen()) == ("False", "Complete")


def test_a_service_that_is_being_applied_progresses() -> None:
    observed = seen(settled=False)

    assert reason("Progressing", observed) == ("True", "Applying")
    assert message("Progressing", observed) == "not all objects of generation 3 are applied yet"


def test_an_lws_with_an_old_status_progresses() -> None:
    assert reason("Progressing", seen(sets=LATE)) == ("True", "Applying")


def test_a_rolling_update_is_named() -> None:
    sets = {"prefill": lws("prefill", updating=True), "decode": lws("decode")}
    observed = seen(sets=sets)

    assert reason("Progressing", observed) == ("True", "RollingUpdate")
    assert message("Progressing", observed) == "replicas of role prefill are being replaced"


def test_a_waiting_replica_progresses_and_names_what_it_lacks() -> None:
    observed = seen(P0, D0, waiting("decode", 1, 4))

    assert reason("Progressing", observed) == ("True", "ReplicasNotReady")
    assert message("Progressing", observed) == (
        "role decode has 1 of 2 replicas ready; role decode waits for 32 more nvidia.com/gpu (4 pods)"
    )


def test_an_error_that_blocks_the_service_ends_its_progress() -> None:
    assert reason("Progressing", seen(settled=False, errors=(RULE,))) == ("False", "Held")


def test_a_temporary_error_is_named_while_it_lasts() -> None:
    trouble = FieldError("spec", None, "r1-decode is not written: 500", "FI872", softened=True)
    observed = seen(settled=False, errors=(trouble,))

    assert reason("Progressing", observed) == ("True", "Applying")
    assert message("Progressing", observed).endswith(": r1-decode is not written: 500")


@pytest.mark.parametrize("errors", [(), (RULE,)], ids=["in-time", "never"])
@pytest.mark.parametrize("kind", ["Scheduled", "Active"])
def test_routes_that_are_not_stored_hide_no_pod(kind: str, errors: tuple[FieldError, ...]) -> None:
    observed = seen(routes=replace(routes(), settled=False, errors=errors))

    assert reason(kind, observed)[0] == "True"


def test_routes_that_are_being_applied_are_progress() -> None:
    observed = seen(routes=replace(routes(), settled=False))

    assert reason("Progressing", observed) == ("True", "Applying")


def test_refused_routes_block_the_progress() -> None:
    observed = seen(routes=replace(routes(), settled=False, errors=(RULE,)))

    assert reason("Progressing", observed) == ("False", "Held")


# --- Failed -----------------------------------------------------------------------------------------


def test_a_service_without_errors_has_not_failed() -> None:
    assert reason("Failed", seen()) == ("False", "NothingFailed")


def test_a_broken_rule_is_a_failure_with_a_remedy() -> None:
    observed = seen(errors=(RULE,))

    assert reason("Failed", observed) == ("True", "InferenceServiceFailed")
    assert message("Failed", observed) == (
        "spec.roles[1].template: is required (FI108). "
        "To repair it: write the type that the LeaderWorkerSet API defines for the field"
    )


def test_the_first_of_several_errors_by_code_is_reported_in_any_order() -> None:
    other = FieldError("metadata", None, "members disagree", "FI404")

    assert message("Failed", seen(errors=(other, RULE))) == message("Failed", seen(errors=(RULE, other)))


def test_a_warning_is_no_failure() -> None:
    warning = FieldError("metadata", None, "service r1 waits for role decode", "FI410")

    assert reason("Failed", seen(errors=(warning,))) == ("False", "NothingFailed")


def test_an_error_that_was_softened_is_no_failure() -> None:
    assert reason("Failed", seen(errors=(replace(RULE, softened=True),))) == ("False", "NothingFailed")


def test_a_container_that_crashes_is_a_failure_with_a_remedy() -> None:
    observed = seen(P0, D_CRASHES)

    assert reason("Failed", observed) == ("True", "PodsFailing")
    assert message("Failed", observed) == (
        "pod r1-decode-0-0, container vllm: CrashLoopBackOff: back-off 5m0s "
        "(FI412: read its last output: kubectl logs r1-decode-0-0 --all-containers --previous)"
    )


def test_every_failure_of_a_container_has_a_code() -> None:
    assert CODE_OF.keys() == FAILURES


def test_a_crash_is_reported_while_its_group_starts_again() -> None:
    before = status(seen(P0, D_CRASHES), {}, NOW)

    found = condition("Failed", seen(P0, D_STARTS), before)

    assert (found["status"], found["message"]) == ("True", message("Failed", seen(P0, D_CRASHES)))


def test_a_crash_is_forgotten_when_the_role_is_complete() -> None:
    before = status(seen(P0, D_CRASHES), {}, NOW)

    assert condition("Failed", seen(), before)["reason"] == "NothingFailed"


def test_a_crash_is_forgotten_with_its_generation() -> None:
    before = status(seen(P0, D_CRASHES), {}, NOW)
    repaired = seen(P0, D_STARTS, service=replace(service(), generation=4))

    assert condition("Failed", repaired, before)["reason"] == "NothingFailed"


def test_a_deleted_pod_that_crashed_is_a_failure() -> None:
    going = starting("decode", 0, 4, failure=CRASH, deleting=True)

    assert reason("Failed", seen(P0, going)) == ("True", "PodsFailing")


def test_a_crash_hidden_by_an_error_is_reported_again_without_its_message() -> None:
    before = status(seen(P0, D_CRASHES, errors=(RULE,)), {}, NOW)

    assert condition("Failed", seen(P0, D_STARTS), before)["message"] == (
        "a pod of role decode failed, and it is not complete since"
    )


# --- an autoscaler that is refused ------------------------------------------------------------------


def test_a_service_serves_without_its_autoscaler() -> None:
    refused = FieldError("spec", None, "HorizontalPodAutoscaler r1-decode is refused", "FI872")
    without = seen(is_scaled=False, errors=(refused,))

    others = [name for name in CONDITIONS if name not in {"Progressing", "Failed", *OPTIONAL}]
    assert {name: reason(name, without) for name in others} == {name: reason(name, seen()) for name in others}
    assert reason("Progressing", without) == ("False", "Held")
    assert reason("Failed", without) == ("True", "InferenceServiceFailed")


def test_an_autoscaler_that_is_not_stored_yet_is_progress() -> None:
    assert reason("Progressing", seen(is_scaled=False)) == ("True", "Applying")


def test_every_false_condition_has_a_remedy() -> None:
    """`Progressing` is neither good nor bad."""
    good = {**dict.fromkeys(CONDITIONS, "True"), "Failed": "False"}
    rows = [
        row for row in REASONS if row.condition != "Progressing" and row.status != good.get(row.condition)
    ]

    assert rows
    assert [row for row in rows if not row.remedy] == []
