"""Checks of the controller, its Lease and its settings, and of rights: the controller's and the user's."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from pydantic import ValidationError

from fusioninfer.cluster.answers import Right, Rights
from fusioninfer.cluster.check.components import is_served
from fusioninfer.cluster.check.facts import Facts, available
from fusioninfer.cluster.check.row import BEFORE, INSTALLED, Check, Judgement, fails, first_of, holds, unknown
from fusioninfer.cluster.text import name_of
from fusioninfer.settings import SettingsFile
from intent import Object, budget, yaml
from intent.errors import FieldError
from intent.shapes import mapping, number, text
from sync.kinds import INFERENCE_SERVICE, OUTPUTS, POD, Kind

LEASE_SECONDS: Final = 15
VERBS: Final = ("get", "list", "watch", "create", "patch", "delete")
LIMITS: Final[Mapping[str, Callable[[Object], FieldError | None]]] = {
    "services": budget.of_inferenceservice,
    "sets": budget.of_expanded,
}
"""By reading, the limit up to which the controller reads an object."""
INSTALLED_KINDS: Final = (
    ("", "namespaces"),
    ("apiextensions.k8s.io", "customresourcedefinitions"),
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"),
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"),
    ("admissionregistration.k8s.io", "validatingadmissionpolicies"),
    ("admissionregistration.k8s.io", "validatingadmissionpolicybindings"),
    ("rbac.authorization.k8s.io", "clusterroles"),
    ("rbac.authorization.k8s.io", "clusterrolebindings"),
)
"""Objects without a namespace that an installation creates."""
INSTALLED_INSIDE: Final = (
    ("", "configmaps"),
    ("", "services"),
    ("", "serviceaccounts"),
    ("apps", "deployments"),
    ("networking.k8s.io", "networkpolicies"),
    ("policy", "poddisruptionbudgets"),
    ("rbac.authorization.k8s.io", "roles"),
    ("rbac.authorization.k8s.io", "rolebindings"),
)
"""Objects that it creates in its namespace."""
GROUP: Final = "leaderworkerset.x-k8s.io"


def install_rights(namespace: str) -> tuple[Right, ...]:
    """Return the rights that an installation needs."""
    return (
        *(Right("create", group, plural) for group, plural in INSTALLED_KINDS),
        *(Right("create", group, plural, namespace) for group, plural in INSTALLED_INSIDE),
    )


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


# --- judgements -------------------------------------------------------------------------------------


def _available(facts: Facts) -> Judgement | None:
    deployment = facts.named("deployments", "fusioninfer-sync")
    if not deployment:
        is_process = bool(facts.answer("lease").first)
        return None if is_process else fails("Deployment fusioninfer-sync does not exist")
    count = available(deployment)
    return holds(f"{count} available") if count else fails("no pod of it is available")


def _lease(facts: Facts) -> Judgement:
    lease = facts.answer("lease").first
    if not lease:
        return fails(f"Lease {facts.namespace}/fusioninfer-sync does not exist")
    spec = mapping(lease.get("spec"))
    holder = text(spec.get("holderIdentity"))
    if not holder:
        return fails("the Lease has no holder")
    renewed = moment(text(spec.get("renewTime")))
    if renewed is None:
        return unknown("the Lease has no readable renewTime")
    age = (facts.now - renewed).total_seconds()
    allowed = number(spec.get("leaseDurationSeconds")) or LEASE_SECONDS
    late = age > allowed
    return fails(f"{holder} renewed it {age:.0f} s ago") if late else holds(f"held by {holder}")


def moment(value: str) -> datetime | None:
    """Read a time of the API (RFC 3339); None if it is none."""
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        return None


def is_renewed(lease: Object, now: datetime) -> bool:
    """Return whether a Lease is held and was renewed within twice its duration."""
    spec = mapping(lease.get("spec"))
    renewed = moment(text(spec.get("renewTime")))
    seconds = 2 * (number(spec.get("leaseDurationSeconds")) or LEASE_SECONDS)
    return bool(spec.get("holderIdentity")) and bool(renewed and now - renewed < timedelta(seconds=seconds))


def _settings(facts: Facts) -> Judgement | None:
    config = facts.answer("settings").first
    if not config:
        return None
    content = text(mapping(config.get("data")).get("settings.yaml"))
    if problem := settings_problem(content):
        return fails(f"ConfigMap {name_of(config)}: {problem}")
    return holds()


def settings_problem(content: str) -> str:
    """Return what is wrong with the text of a settings file; empty if nothing is."""
    try:
        SettingsFile.model_validate(next(iter(yaml.load(content)), None) or {})
    except yaml.UNREADABLE as error:
        return str(getattr(error, "problem", None) or error)
    except ValidationError as error:
        lines = (f"{'.'.join(map(str, one['loc'])) or 'file'}: {one['msg']}" for one in error.errors())
        return "; ".join(lines)
    return ""


def _within_limits(facts: Facts) -> Judgement:
    over = [
        f"{obj['metadata']['namespace']}/{name_of(obj)} {error.path} {error.message.partition(';')[0]}"
        for reading, limit in LIMITS.items()
        for obj in facts.answer(reading).objects
        if (error := limit(obj))
    ]
    return fails(first_of(over)) if over else holds()


def _controller_may(facts: Facts) -> Judgement:
    return _judged(facts.controller_rights, "you may not create subjectaccessreviews")


def _user_may(facts: Facts) -> Judgement:
    return _judged(facts.rights, "the API server did not answer the reviews")


def _judged(rights: Rights, why: str) -> Judgement:
    if any(granted is None for granted in rights.values()) or not rights:
        return unknown(why)
    missing = [str(right) for right, granted in rights.items() if not granted]
    if not missing:
        return holds()
    return fails(f"missing: {first_of(missing)}")


CHECKS: Final = (
    Check(
        "inferenceservice-served",
        "Controller",
        "InferenceService v1alpha1 is served",
        is_served("inferenceservices"),
        "apply the manifests, or run helm upgrade: they contain the definition",
        when=INSTALLED,
        needs=("resources/inferenceservices",),
    ),
    Check(
        "controller-deployment",
        "Controller",
        "Deployment fusioninfer-sync is available",
        _available,
        "run `kubectl describe` for its pods, and read their logs: without the controller new gangs wait",
        when=INSTALLED,
        needs=("deployments", "lease"),
    ),
    Check(
        "lease",
        "Controller",
        "the controller holds its Lease and renews it",
        _lease,
        "check the pods of Deployment fusioninfer-sync, and their log lines `lease not written`",
        when=INSTALLED,
        needs=("lease",),
    ),
    Check(
        "settings",
        "Controller",
        "the settings can be read",
        _settings,
        "correct settings.yaml: docs/install.md lists the fields",
        when=INSTALLED,
        needs=("settings",),
    ),
    Check(
        "object-sizes",
        "Controller",
        "no InferenceService or LeaderWorkerSet is larger than the controller reads",
        _within_limits,
        "reduce what the message counts: until then nothing of these services is changed or deleted",
        "warning",
        INSTALLED,
        needs=("services", "sets"),
    ),
    Check(
        "controller-rights",
        "Rights",
        "the controller has the rights that it needs",
        _controller_may,
        "apply the ClusterRole fusioninfer-sync; rights on routes are not needed with --gangs-only",
        when=INSTALLED,
    ),
    Check(
        "user-rights",
        "Rights",
        "you may create services in this namespace",
        _user_may,
        "have the ClusterRole edit bound to you, and rights on leaderworkersets.leaderworkerset.x-k8s.io",
        "warning",
        INSTALLED,
    ),
    Check(
        "install-rights",
        "Rights",
        "you may install FusionInfer",
        _user_may,
        "install as a user with these rights, usually cluster-admin",
        when=BEFORE,
    ),
)
