"""Whose the replicas of a role are, and the autoscalers of a service."""

from typing import Any

import pytest

from intent import Object
from sync.kinds import AUTOSCALER, LWS
from sync.observed.autoscaler import Autoscaler
from sync.observed.cached import Owner
from sync.observed.inferenceservice import cached_inferenceservice
from sync.observed.lws import CachedLeaderWorkerSet, LeaderWorkerSet
from sync.parts.desired import Desired
from sync.parts.service import desired_state
from sync.snapshot import Situation, Snapshot
from tests.builders.autoscaling import pods, scaling
from tests.sync.samples import KEY, SETTINGS, inference_service, role

DECODE = "r1-decode"
KUBERNETES = "kube-controller-manager"
OWNER = Owner("InferenceService", "r1", "uid-r1", controller=True)


def asking(**fields: Any) -> Object:
    """Return a service whose decode role has these fields; None leaves one out."""
    decode = role("decode", "decoder", **fields)
    return inference_service(
        role("prefill", "prefiller"), {key: one for key, one in decode.items() if one is not None}
    )


SCALED = asking(replicas=None, scaling=scaling(pods(), minReplicas=2))


def autoscaler(name: str = "mine", *, target: str = DECODE, ours: bool = False, **fields: Any) -> Any:
    """Return the row of an autoscaler."""
    owned: dict[str, Any] = {"applied": True, "owners": (OWNER,)} if ours else {}
    return Autoscaler(KEY[0], name, target=target, **owned, **fields)


def stored(replicas: int = 5, scaler: str = KUBERNETES) -> Any:
    """Return the row of the decode role's LeaderWorkerSet."""
    report = LeaderWorkerSet(DECODE, replicas, scaler=scaler)
    return CachedLeaderWorkerSet(KEY[0], DECODE, report=report)


def snapshot(service: Object, *autoscalers: Any, sets: tuple[Any, ...] = (), **fields: Any) -> Snapshot:
    rows = {AUTOSCALER.kind: autoscalers, LWS.kind: sets}
    return Snapshot(Situation(KEY, ()), cached_inferenceservice(service), rows, **fields)


def decided(seen: Snapshot) -> Desired:
    return desired_state(seen, SETTINGS)


def replicas(seen: Snapshot) -> int | None:
    """Return the replicas with which the decode role's LeaderWorkerSet is applied."""
    made = {obj["metadata"]["name"]: obj for obj in decided(seen).objects if obj["kind"] == LWS.kind}
    found: int | None = made[DECODE]["spec"].get("replicas")
    return found


def said(seen: Snapshot) -> list[tuple[str, str]]:
    return [(one.error.path, one.error.code) for one in decided(seen).findings]


# --- the autoscaler of a role ---------------------------------------------------------------------------


def test_a_role_with_scaling_has_an_autoscaler_of_its_name() -> None:
    made = decided(snapshot(SCALED)).objects

    assert replicas(snapshot(SCALED)) is None
    assert [obj["kind"] for obj in made] == ["LeaderWorkerSet", "LeaderWorkerSet", "HorizontalPodAutoscaler"]
    assert made[-1] == {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {
            "name": DECODE,
            "namespace": KEY[0],
            "labels": {"fusioninfer.io/service": "r1"},
            "ownerReferences": made[0]["metadata"]["ownerReferences"],
        },
        "spec": {
            "minReplicas": 2,
            "maxReplicas": 4,
            "metrics": [pods()],
            "scaleTargetRef": {
                "apiVersion": "leaderworkerset.x-k8s.io/v1",
                "kind": "LeaderWorkerSet",
                "name": DECODE,
            },
        },
    }


def test_while_a_rule_is_broken_no_autoscaler_is_deleted() -> None:
    broken = asking(replicas=2, scaling=scaling(pods()))

    assert AUTOSCALER.kind in decided(snapshot(broken)).held


# --- replicas and other autoscalers -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seen", "left"),
    [
        (snapshot(asking(replicas=3), sets=(stored(),)), False),
        (snapshot(asking(replicas=3), autoscaler(), sets=(stored(),)), True),
        (snapshot(asking(replicas=3), autoscaler(DECODE, ours=True), sets=(stored(),)), False),
        (snapshot(asking(replicas=3), autoscaler(deleting=True), sets=(stored(),)), False),
        (snapshot(asking(replicas=3), autoscaler(target="r1-prefill"), sets=(stored(),)), False),
        (snapshot(asking(replicas=3), sets=(stored(scaler="keda"),)), True),
        (snapshot(asking(replicas=3), autoscaler(), sets=(stored(scaler=""),)), False),
        (snapshot(asking(replicas=5), autoscaler(), sets=(stored(),)), False),
        (snapshot(asking(replicas=None), autoscaler(), sets=(stored(),)), False),
        (snapshot(SCALED, autoscaler(), sets=(stored(),)), False),
        (snapshot(asking(replicas=3), autoscaler(), sets=(stored(),), claimed=frozenset({"decode"})), False),
        (snapshot(asking(replicas=3), sets=(stored(),), unknown={AUTOSCALER.kind: "denied"}), True),
    ],
    ids=[
        *("an autoscaler that is gone", "an autoscaler", "the service's own, on its way out"),
        *("one that is being deleted", "that of another role", "another program"),
        *("a manual scale", "the same number", "no replicas", "scaling"),
        *("a change of replicas by the author", "autoscalers that cannot be listed"),
    ],
)
def test_replicas_are_left_to_an_autoscaler_that_exists(seen: Snapshot, *, left: bool) -> None:
    assert any("keeps control" in one.error.message for one in decided(seen).findings) is left
    assert replicas(seen) is None or not left


def test_what_is_left_is_applied_without_replicas_and_reported() -> None:
    seen = snapshot(asking(replicas=3), autoscaler(), sets=(stored(),))
    (finding,) = decided(seen).findings

    assert replicas(seen) is None
    assert str(finding.error) == (
        "spec.roles[1].replicas: Invalid value: 3: HorizontalPodAutoscaler mine scaled LeaderWorkerSet "
        "r1-decode to 5 and keeps control (FI875)"
    )


def test_a_role_without_replicas_may_have_any_autoscaler() -> None:
    assert said(snapshot(asking(replicas=None), autoscaler())) == []


# --- scaling and other autoscalers ------------------------------------------------------------------------


def test_a_second_autoscaler_is_reported_and_changes_nothing() -> None:
    seen = snapshot(SCALED, autoscaler(DECODE, ours=True), autoscaler())

    assert said(seen) == [("spec.roles[1].scaling", "FI878")]
    assert decided(seen).objects == decided(snapshot(SCALED)).objects
