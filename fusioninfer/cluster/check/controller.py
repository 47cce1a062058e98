"""Checks of the controller: its definition, its Lease and its settings."""

from datetime import datetime
from typing import Final

from fusioninfer.cluster.check.components import served
from fusioninfer.cluster.check.facts import Facts
from fusioninfer.cluster.check.row import OK, Judgement, check
from fusioninfer.cluster.text import name_of
from fusioninfer.lint.documents import UnreadableFileError, parse_model
from fusioninfer.settings import SettingsFile
from intent import Object
from intent.names import api_path
from intent.shapes import mapping, number, text


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


CHECKS: Final = (_served, _lease, _settings)
