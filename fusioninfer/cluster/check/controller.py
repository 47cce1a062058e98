"""Checks of the controller: its definition and its Lease."""

from datetime import datetime
from typing import Final

from fusioninfer.cluster.check.components import served
from fusioninfer.cluster.check.facts import Facts
from fusioninfer.cluster.check.row import Judgement, check
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


CHECKS: Final = (_served, _lease)
