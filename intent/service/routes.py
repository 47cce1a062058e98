"""The routes of a service: what its members ask for, merged, and the contradictions among them."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Final

from catalog.pickers.generations import PICKERS, SPLITTING, Picker
from intent.annotations import (
    DISAGGREGATION,
    ENDPOINT_PICKER_CONFIG,
    HOSTNAMES,
    NO_ROUTING,
    PICKER,
    ROUTING_KEYS,
    SERVING_LABELS,
    SPLIT,
    STRATEGY,
    Routing,
    path,
)
from intent.errors import FieldError, Finding
from intent.gang import DISAGGREGATED, ENCODER
from intent.names import LABEL, PICKER_ENDING, picker_name
from intent.pickers.configuration import check_config
from intent.service.member import Member
from intent.service.rules import disagreement
from intent.settings import Settings

ALONE: Final = (
    f"a worker does both prefill and decode: use another strategy, {DISAGGREGATION} needs both roles"
)
BOTH: Final = "excludes a strategy, which generates the configuration; remove one of the two"
LONGEST_SERVICE: Final = LABEL - len(PICKER_ENDING)
"""The endpoint picker's Service is named after the service, and the name of a Service is a DNS label."""


def serving_members(members: tuple[Member, ...]) -> tuple[Member, ...]:
    """Return the members that clients and the endpoint picker call: all but encoders."""
    return tuple(member for member in members if member.component_type != ENCODER)


def is_split(members: tuple[Member, ...]) -> bool:
    """Return whether the service has separate pods for prefill and decode."""
    return any(member.component_type in DISAGGREGATED for member in members)


def picker_of(routing: Routing, *, split: bool, settings: Settings) -> Picker:
    """Return the endpoint picker generation of a service: its author's choice, else the operator's."""
    return PICKERS[routing.picker or (settings.disaggregated_picker if split else settings.picker)]


def keeping(settings: Settings, sidecars: Iterable[str]) -> Settings:
    """Return the settings with the oldest generation of existing sidecars as that of prefill and decode.

    So another choice of the operator changes no existing sidecar, and no endpoint picker beside one.
    """
    oldest = oldest_of(sidecars) or settings.disaggregated_picker
    is_other = oldest != settings.disaggregated_picker
    return replace(settings, disaggregated_picker=oldest) if is_other else settings


def oldest_of(generations: Iterable[str]) -> str:
    """Return the oldest of generations that support prefill and decode; empty if none does."""
    names = {*generations}
    return next((name for name in SPLITTING if name in names), "")


def merged_routing(members: tuple[Member, ...]) -> Routing:
    """Merge what members ask for; the eldest member that has an annotation decides its value."""
    asked = [member.routing for member in members if member.routing != NO_ROUTING]
    if not asked:
        return NO_ROUTING
    values = {name: [value for routes in asked if (value := getattr(routes, name))] for name in ROUTING_KEYS}
    return Routing(**{name: of_name[0] for name, of_name in values.items() if of_name})


def disagreements(members: tuple[Member, ...]) -> Iterator[Finding]:
    """Report annotations about routes in which members differ; an absent one agrees with all (FI806)."""
    for name, row in ROUTING_KEYS.items():
        for member, _, says in disagreement(members, f"the {row.name}", partial(_asked, name)):
            message = f"{says}; the routes stay as they are until they agree"
            yield Finding(member.subject, FieldError(path(row.key), None, message, "FI806"))


def _asked(name: str, member: Member) -> str:
    value = getattr(member.routing, name)
    return ",".join(value) if isinstance(value, tuple) else str(value or "")


def contradictions(members: tuple[Member, ...], routing: Routing, settings: Settings) -> Iterator[Finding]:
    """Report why the routes cannot be created as asked for; `members` excludes conflicting ones."""
    picker = picker_of(routing, split=is_split(members), settings=settings)
    if problem := routing_problem(routing, split=is_split(members), settings=settings):
        yield from (Finding(member.subject, problem) for member in members)
    elif routing.config:
        yield from _unreadable(members, routing.config, picker)
    if routing.strategy == DISAGGREGATION:
        yield from _without_sidecar(members)
        yield from _other_sidecar(members, picker, settings) if routing.picker else ()
    yield from tuple(unlike_ports(members, picker)) or _idle(members)


def routing_problem(routing: Routing, *, split: bool, settings: Settings) -> FieldError | None:
    """Return the error of the routing of one object, or of a whole service; None if there is none."""
    if routing.strategy and routing.config:
        return FieldError(path(ENDPOINT_PICKER_CONFIG), None, BOTH, "FI804")
    if routing.strategy == DISAGGREGATION and not split:
        return FieldError(path(STRATEGY), routing.strategy, ALONE, "FI801")
    if routing.strategy and routing.strategy != DISAGGREGATION and split:
        return FieldError(path(STRATEGY), routing.strategy, SPLIT, "FI802")
    return _unable(routing, picker_of(routing, split=split, settings=settings))


def _unable(routing: Routing, picker: Picker) -> FieldError | None:
    """FI805: the generation supports the strategy."""
    if routing.strategy != DISAGGREGATION or picker.disaggregation:
        return None
    key, value = (PICKER, routing.picker) if routing.picker else (STRATEGY, routing.strategy)
    message = f"{picker.name} does not support prefill and decode; use {SPLITTING[-1]}"
    return FieldError(path(key), value, message, "FI805")


def _unreadable(members: tuple[Member, ...], config: str, picker: Picker) -> Iterator[Finding]:
    """Report an invalid EndpointPickerConfig on every member (FI812)."""
    for error in check_config(config, picker, path(ENDPOINT_PICKER_CONFIG)):
        yield from (Finding(member.subject, error) for member in members)


def _without_sidecar(members: tuple[Member, ...]) -> Iterator[Finding]:
    """FI807: a decoder without the strategy was expanded without a sidecar."""
    for member in members:
        if member.component_type == "decoder" and member.routing.strategy != DISAGGREGATION:
            message = f"must be {DISAGGREGATION} here too: without it this decoder gets no routing sidecar"
            yield Finding(
                member.subject, FieldError(path(STRATEGY), member.routing.strategy or None, message, "FI807")
            )


def _other_sidecar(members: tuple[Member, ...], picker: Picker, settings: Settings) -> Iterator[Finding]:
    """FI823: a decoder without the generation was expanded with a sidecar of another one."""
    for member in members:
        its = member.sidecar or picker_of(member.routing, split=True, settings=settings).name
        if (
            member.component_type == "decoder"
            and member.routing.strategy == DISAGGREGATION
            and its != picker.name
        ):
            message = f"must be {picker.name} here too: this decoder's routing sidecar is of {its}"
            yield Finding(
                member.subject, FieldError(path(PICKER), member.routing.picker or None, message, "FI823")
            )


MOST_PORTS: Final = 8
"""The most ports of an InferencePool (`api/v1/inferencepool_types.go`)."""


def unlike_ports(members: tuple[Member, ...], picker: Picker) -> Iterator[Finding]:
    """FI809: the ports of all members are the same, unless pickers read them from pods."""
    counts, is_shared = {len(peer.ports) for peer in members}, len({peer.ports[0] for peer in members}) < 2
    by_pod = picker.active_ports and 1 not in counts
    if not by_pod and len({peer.ports for peer in members}) > 1:
        ports = ", ".join(f"{peer.name}: {said_ports(peer.ports)}" for peer in members)
        remedy = "use the same --port"
        if is_shared:
            flag = "--data-parallel-multi-port-external-lb"
            remedy = (
                f"use {flag} on all, or on none" if 1 in counts else "use the same --data-parallel-size-local"
            )
        message = f"all must serve on the ports of the InferencePool ({ports}); {remedy}"
    elif len({port for peer in members for port in peer.ports}) > MOST_PORTS:
        message = f"an InferencePool has at most {MOST_PORTS} ports: lower --data-parallel-size-local"
    else:
        return
    is_routed = is_shared and not by_pod and min(counts) <= MOST_PORTS
    error = FieldError("spec.leaderWorkerTemplate", None, message, "FI809", softened=is_routed)
    yield from (Finding(peer.subject, error) for peer in members)


def _idle(members: tuple[Member, ...]) -> Iterator[Finding]:
    """FI824: leaders alone are selected, since pods of another member do not say that they serve."""
    for peer in members:
        peers = (other for other in members if other.revision == peer.revision)
        whole = next((other.name for other in peers if other.serving.everywhere), "")
        if peer.serving.everywhere or not whole:
            continue
        ((key, value),) = SERVING_LABELS.items()
        remedy = (
            "balance the load of both in the same way" if peer.size > 1 else f"write {key}: {value} here too"
        )
        message = (
            f"without the label {key} the InferencePool selects leaders alone, and the other pods of {whole} "
            f"get no requests: {remedy}"
        )
        where = "spec.leaderWorkerTemplate.workerTemplate.metadata.labels"
        yield Finding(peer.subject, FieldError(where, None, message, "FI824"))


def said_ports(ports: tuple[int, ...]) -> str:
    """Return ports, which follow each other, for a message."""
    return f"{ports[0]} to {ports[-1]}" if len(ports) > 1 else str(ports[0])


def named_like_picker(name: str, service: str) -> FieldError | None:
    """FI821: no LeaderWorkerSet has the name of the endpoint picker's Service.

    LWS creates a headless Service of its own name, or uses an existing one
    (`pkg/utils/controller/controller_utils.go`): then no pod finds its leader.
    """
    if name != picker_name(service):
        return None
    message = f"must be another name: the endpoint picker of service {service} has a Service of that name"
    return FieldError("metadata.name", name, message, "FI821")


def without_effect(routing: Routing) -> tuple[str, str] | None:
    """Return the first annotation without effect and the reason (FI803); None if there is none."""
    refining = (row.key for name, row in ROUTING_KEYS.items() if getattr(routing, name))
    alone = next(refining, "")
    if not routing.wanted and alone:
        return alone, "has no effect: set a strategy or an endpoint-picker-config"
    if routing.hostnames and not routing.gateway and not routing.http_route:
        return HOSTNAMES, "has no effect: without a gateway no HTTPRoute is created"
    return None


def unreachable(members: tuple[Member, ...], routing: Routing) -> Iterator[Finding]:
    """Report annotations without effect on every member (FI803)."""
    if fault := without_effect(routing):
        key, message = fault
        yield from (Finding(peer.subject, FieldError(path(key), None, message, "FI803")) for peer in members)


def waiting(members: tuple[Member, ...]) -> Iterator[Finding]:
    """Report the component types that the routes of prefillers and decoders wait for (FI808)."""
    there = {member.component_type for member in members}
    lacking = [component_type for component_type in DISAGGREGATED if component_type not in there]
    if not is_split(members) or not lacking:
        return
    for member in members:
        message = f"the routes of {member.service} wait for a {' and a '.join(lacking)}"
        yield Finding(member.subject, FieldError(path(STRATEGY), None, message, "FI808"))
