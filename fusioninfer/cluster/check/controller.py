"""Checks of the controller, its Lease and its settings, and of rights: the controller's and the user's."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

from fusioninfer.cluster.answers import Right, Rights
from fusioninfer.cluster.check.components import served
from fusioninfer.cluster.check.facts import Facts
from fusioninfer.cluster.check.row import (
    INSTALLED,
    Judgement,
    check,
    fails,
    has_pods,
    holds,
    none_of,
    unknown,
)
from fusioninfer.cluster.text import name_of
from fusioninfer.lint.documents import UnreadableFileError, parse_model
from fusioninfer.settings import SettingsFile
from intent import Object, budget
from intent.errors import FieldError
from intent.names import api_path
from intent.shapes import mapping, number, text
from sync.kinds import INFERENCE_SERVICE, OUTPUTS, POD, Kind

LEASE_SECONDS: Final = 15
VERBS: Final = ("get", "list", "watch", "create", "patch", "delete")
LIMITS: Final[Mapping[str, Callable[[Object], FieldError | None]]] = {
    "services": budget.of_inferenceservice,
    "sets": budget.of_expanded,
}
"""By reading, the limit up to which the controller reads an object."""
GROUP: Final = "leaderworkerset.x-k8s.io"


def user_rights(namespace: str) -> tuple[Right, ...]:
    """Return the rights that an author of services needs."""
    return (
        *(Right(verb, GROUP, "leaderworkersets", namespace) for verb in ("create", "patch")),
        *(Right(verb, "fusioninfer.io", "inferenceservices", namespace) for verb in ("create", "patch")),
    )


LEASES: Final = ("coordination.k8s.io", "leases")


def controller_rights(namespace: str) -> tuple[Right, ...]:
    """Return the rights of the controller (`manifests/base/rbac.yaml`, compared by a test)."""
    return (
        *(right for kind in OUTPUTS.values() for right in _of_kind(kind, VERBS)),
        *_of_kind(POD, ("list", "watch")),
        *_of_kind(INFERENCE_SERVICE, ("get", "list", "watch")),
        Right("patch", "fusioninfer.io", "inferenceservices", subresource="status"),
        *(Right(verb, "", "events") for verb in ("create", "patch")),
        *(Right(verb, *LEASES, namespace, name="fusioninfer-sync") for verb in ("get", "update")),
        Right("create", *LEASES, namespace),
    )


def _of_kind(kind: Kind[Any], verbs: tuple[str, ...]) -> list[Right]:
    group = kind.resource.api_version.rpartition("/")[0]
    return [Right(verb, group, kind.resource.plural) for verb in verbs]


# --- the controller ---------------------------------------------------------------------------------

controller_served: Final = served(
    "inferenceservice-served",
    "inferenceservices",
    "InferenceService v1alpha1 is served",
    "apply the manifests, or run helm upgrade: they contain the definition",
    when=INSTALLED,
)


@check(
    "controller-deployment",
    "Deployment fusioninfer-sync is available",
    "run `kubectl describe` for its pods, and read their logs: without the controller new gangs wait",
    needs=("deployments", "lease"),
)
def _available(facts: Facts) -> Judgement | None:
    deployment = facts.named("deployments", "fusioninfer-sync")
    if deployment:
        return has_pods(deployment, "fusioninfer-sync")
    is_process = bool(facts.answer("lease").first)
    return None if is_process else fails("Deployment fusioninfer-sync does not exist")


@check(
    "lease",
    "the controller holds its Lease and renews it",
    "check the pods of Deployment fusioninfer-sync, and their log lines `lease not written`",
    needs=("lease",),
)
def _lease(facts: Facts) -> Judgement:
    lease = facts.answer("lease").first
    if not lease:
        return fails(f"Lease {facts.namespace}/fusioninfer-sync does not exist")
    holder, age = renewal(lease, facts.now)
    if not holder:
        return fails("the Lease has no holder")
    if age is None:
        return unknown("the Lease has no readable renewTime")
    return (
        fails(f"{holder} renewed it {age:.0f} s ago") if age > duration(lease) else holds(f"held by {holder}")
    )


def lease_path(namespace: str) -> str:
    """Return the path of the controller's Lease."""
    return api_path("/apis/coordination.k8s.io/v1/namespaces", namespace, "leases", "fusioninfer-sync")


def renewal(lease: Object, now: datetime) -> tuple[str, float | None]:
    """Return the holder of a Lease, and how many seconds ago it was renewed; None if that is not known."""
    spec = mapping(lease.get("spec"))
    renewed = moment(text(spec.get("renewTime")))
    return text(spec.get("holderIdentity")), (now - renewed).total_seconds() if renewed else None


def duration(lease: Object) -> int:
    """Return the seconds for which a Lease is held."""
    return number(mapping(lease.get("spec")).get("leaseDurationSeconds")) or LEASE_SECONDS


def moment(value: str) -> datetime | None:
    """Read a time of the API (RFC 3339); None if it is none."""
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        return None


@check(
    "settings",
    "the settings can be read",
    "correct settings.yaml: docs/install.md lists the fields",
    needs=("settings",),
)
def _settings(facts: Facts) -> Judgement | None:
    config = facts.answer("settings").first
    if not config:
        return None
    try:
        parse_model(text(mapping(config.get("data")).get("settings.yaml")), "settings.yaml", SettingsFile)
    except UnreadableFileError as error:
        return fails(f"ConfigMap {name_of(config)}, {error}")
    return holds()


@check(
    "object-sizes",
    "no InferenceService or LeaderWorkerSet is larger than the controller reads",
    "reduce what the message counts: until then nothing of these services is changed or deleted",
    severity="warning",
    needs=("services", "sets"),
)
def _within_limits(facts: Facts) -> Judgement:
    return none_of(
        [
            f"{obj['metadata']['namespace']}/{name_of(obj)} {error.path} {error.message.partition(';')[0]}"
            for reading, limit in LIMITS.items()
            for obj in facts.answer(reading).objects
            if (error := limit(obj))
        ]
    )


CHECKS: Final = (controller_served, _available, _lease, _settings, _within_limits)

# --- rights -----------------------------------------------------------------------------------------


@check(
    "controller-rights",
    "the controller has the rights that it needs",
    "apply the ClusterRole fusioninfer-sync; rights on routes are not needed with --gangs-only",
)
def _controller_may(facts: Facts) -> Judgement:
    return _granted(facts.controller_rights, "you may not create subjectaccessreviews")


@check(
    "user-rights",
    "you may create services in this namespace",
    "have the ClusterRole edit bound to you, and rights on leaderworkersets.leaderworkerset.x-k8s.io",
    severity="warning",
)
def _user_may(facts: Facts) -> Judgement:
    return _granted(facts.rights, "the API server did not answer the reviews")


def _granted(rights: Rights, why: str) -> Judgement:
    if any(granted is None for granted in rights.values()) or not rights:
        return unknown(why)
    missing = none_of([str(right) for right, granted in rights.items() if not granted])
    return missing if missing.holds else fails(f"missing: {missing.detail}")


RIGHTS: Final = (_controller_may, _user_may)
