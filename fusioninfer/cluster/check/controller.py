"""Checks of the controller, its Lease and its settings, and of its rights."""

from datetime import datetime
from typing import Any, Final

from fusioninfer.cluster.answers import Right
from fusioninfer.cluster.check.components import served
from fusioninfer.cluster.check.facts import Facts
from fusioninfer.cluster.check.row import OK, Judgement, check
from fusioninfer.cluster.text import name_of
from fusioninfer.lint.documents import UnreadableFileError, parse_model
from fusioninfer.settings import SettingsFile
from intent import Object
from intent.names import api_path
from intent.shapes import mapping, number, text
from sync.kinds import INFERENCE_SERVICE, OUTPUTS, POD, Kind

VERBS: Final = ("get", "list", "watch", "create", "patch", "delete")
LEASES: Final = ("coordination.k8s.io", "leases")

# --- the controller ---------------------------------------------------------------------------------


@check(
    "inferenceservice-served",
    "InferenceService v1alpha1 is served",
    "apply the manifests, or run helm upgrade: they contain the definition",
    needs=("inferenceservices",),
)
def _served(facts: Facts) -> Judgement:
    return served(facts, "inferenceservices")


@check(
    "lease",
    "the controller runs: it renews its Lease",
    "run `kubectl describe` for the pods of Deployment fusioninfer-sync, and read their logs: without the "
    "controller new gangs wait",
    needs=("lease",),
)
def _lease(facts: Facts) -> Judgement:
    lease = facts.answer("lease").first
    if problem := lease_problem(lease, facts.now):
        return Judgement("error", problem)
    return Judgement("ok", f"held by {text(mapping(lease.get('spec')).get('holderIdentity'))}")


def lease_path(namespace: str) -> str:
    """Return the path of the controller's Lease."""
    return api_path("/apis/coordination.k8s.io/v1/namespaces", namespace, "leases", "fusioninfer-sync")


def lease_problem(lease: Object, now: datetime) -> str:
    """Return why no controller renews a Lease; empty if one does. `lease`: empty if there is none."""
    spec = mapping(lease.get("spec"))
    holder, renewed = text(spec.get("holderIdentity")), text(spec.get("renewTime"))
    if not (holder and renewed):
        return "nobody holds the Lease fusioninfer-sync"
    age = (now - datetime.fromisoformat(renewed)).total_seconds()
    is_old = age > number(spec.get("leaseDurationSeconds"))
    return f"{holder} renewed the Lease fusioninfer-sync {age:.0f} s ago" if is_old else ""


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
        return Judgement("error", f"ConfigMap {name_of(config)}, {error}")
    return OK


# --- rights -----------------------------------------------------------------------------------------


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


@check(
    "controller-rights",
    "the controller has the rights that it needs",
    "apply the ClusterRole fusioninfer-sync; rights on routes are not needed with --gangs-only",
)
def _controller_may(facts: Facts) -> Judgement:
    rights = facts.controller_rights
    if None in rights.values():
        return Judgement("unknown", "you may not create subjectaccessreviews")
    missing = ", ".join(str(right) for right, granted in rights.items() if not granted)
    return Judgement("error", f"missing: {missing}") if missing else OK


CHECKS: Final = (_served, _lease, _settings, _controller_may)
