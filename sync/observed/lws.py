"""Projection of a LeaderWorkerSet: the member that it is, its replicas, and whether its status is current."""

from dataclasses import dataclass
from typing import Final

from intent import Object, budget
from intent.annotations import EXPANSION, INJECT, SERVICE, TEMPLATES_VERSION
from intent.applied import TemplateVersion, recorded
from intent.inferenceservice import v1alpha1
from intent.names import API_ENDING, PICKER_ENDING
from intent.service.member import Member, ejected, member
from intent.shapes import listed, mapping, number, text
from kube.request import FIELD_MANAGER
from sync.observed.cached import AppliedObject, ObjectTooLargeError, applied_fields, is_applied
from sync.observed.condition import conditions, generation
from sync.observed.index_keys import leader_worker_set_keys

KUBECTL: Final = "kubectl"
"""The prefix of field managers that act for a user at a terminal."""


@dataclass(frozen=True, slots=True)
class LeaderWorkerSet:
    """What one LeaderWorkerSet asks for and reports, counted in groups."""

    name: str
    replicas: int = 1
    """Desired groups; the API's default is 1."""
    generation: int = 0
    observed: int = 0
    """The generation of its status; 0 while there is no status."""
    updating: bool = False
    """Whether a rolling update is in progress."""
    scaler: str = ""
    """The field manager that last scaled it through the `scale` subresource, as autoscalers do.

    Empty if there is none, or if it was `kubectl scale`: the controller reverts that like any manual edit.
    """
    templates: tuple[TemplateVersion, ...] = ()
    """The templates whose content it has."""
    templates_version: str = ""
    """The annotation by which it took them."""

    @property
    def current(self) -> bool:
        """Whether its status is of the present generation."""
        return self.observed >= self.generation


@dataclass(frozen=True, slots=True)
class CachedLeaderWorkerSet(AppliedObject):
    """One LeaderWorkerSet."""

    member: Member | None = None
    """None if admission did not expand it."""
    ejected: Member | None = None
    """Set if it is no member, and its templates still name a PodGroup or a service (`member.ejected`)."""
    report: LeaderWorkerSet | None = None
    """None unless an InferenceService controls it: only those have a status."""
    disabled: bool = False
    """Whether the annotation `inject: disabled` excludes it from admission."""


def cached_leader_worker_set(obj: Object) -> CachedLeaderWorkerSet | None:
    """Project a LeaderWorkerSet; None if it does not concern the controller.

    It does if it is a member, was ejected, has an InferenceService, or was applied by the controller. So does
    one that may have the name of a service's Service: LWS makes a Service of that name too.

    Raises ObjectTooLargeError for an expanded object far over the budget of admission: reading it takes
    seconds.
    """
    one, metadata = ejected(obj), mapping(obj.get("metadata"))
    is_namesake = text(metadata.get("name")).endswith((API_ENDING, PICKER_ENDING))
    is_relevant = one or _is_controlled(obj) or is_applied(obj) or is_namesake
    if not (is_relevant or SERVICE in mapping(metadata.get("labels"))):
        return None  # most of other products
    row = _row(obj, one)
    return row if is_relevant or row.member else None


def _row(obj: Object, one: Member | None) -> CachedLeaderWorkerSet:
    fields = applied_fields(obj)
    annotations = mapping(mapping(obj.get("metadata")).get("annotations"))
    if EXPANSION in annotations and (over := budget.of_expanded(obj)):
        raise ObjectTooLargeError(over.message)
    return CachedLeaderWorkerSet(
        **fields,
        index_keys=leader_worker_set_keys(obj, one),
        member=member(obj),
        ejected=one,
        report=project(obj) if _is_controlled(obj) else None,
        disabled=annotations.get(INJECT) == "disabled",
    )


def _is_controlled(obj: Object) -> bool:
    """Return whether an InferenceService is the controlling owner."""
    references = map(mapping, listed(mapping(obj.get("metadata")).get("ownerReferences")))
    owner = next((one for one in references if one.get("controller") is True), {})
    return owner.get("kind") == v1alpha1.KIND


def project(obj: Object) -> LeaderWorkerSet:
    """Project what a status needs of a LeaderWorkerSet."""
    spec, status = mapping(obj.get("spec")), mapping(obj.get("status"))
    found = conditions(status.get("conditions"))
    replicas, notes = spec.get("replicas"), mapping(mapping(obj.get("metadata")).get("annotations"))
    return LeaderWorkerSet(
        name=text(mapping(obj.get("metadata")).get("name")),
        replicas=max(0, replicas) if type(replicas) is int else 1,
        generation=generation(obj),
        observed=number(status.get("observedGeneration")),
        updating=any(one.type == "UpdateInProgress" and one.status == "True" for one in found),
        scaler=_scaler(mapping(obj.get("metadata"))),
        templates=recorded(notes.get(EXPANSION)),
        templates_version=text(notes.get(TEMPLATES_VERSION)),
    )


def _scaler(metadata: Object) -> str:
    """Return the field manager that scaled it last, by `managedFields` (KEP-555, `subresource`)."""
    entries = [one for one in map(mapping, listed(metadata.get("managedFields"))) if _has_replicas(one)]
    if any(entry.get("manager") == FIELD_MANAGER for entry in entries):
        return ""  # the controller applied `replicas` since
    scaled = (text(entry.get("manager")) for entry in entries if entry.get("subresource") == "scale")
    return next((manager for manager in scaled if not manager.startswith(KUBECTL)), "")


def _has_replicas(entry: Object) -> bool:
    return "f:replicas" in mapping(mapping(entry.get("fieldsV1")).get("f:spec"))
