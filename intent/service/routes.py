"""What the members of a service say about its routes: one routing, or where they contradict each other."""

from collections.abc import Callable, Iterator
from typing import Final

from catalog.pickers.generations import PICKERS, REMEMBERING, SPLITTING, Picker
from intent.annotations import (
    ENDPOINT_PICKER_CONFIG,
    GATEWAY,
    HOSTNAMES,
    PICKER,
    PICKER_REPLICAS,
    STRATEGY,
    path,
)
from intent.errors import FieldError, Finding
from intent.gang import DISAGGREGATED
from intent.names import LABEL, PICKER_ENDING, picker_name
from intent.pickers.configuration import check_config
from intent.routing import DISAGGREGATION, NO_ROUTING, SPLIT, Routing
from intent.service.member import Member
from intent.settings import Settings

ALONE: Final = f"a worker prefills and decodes itself; {DISAGGREGATION} needs prefillers and decoders"
BOTH: Final = "remove one: a strategy writes the configuration that endpoint-picker-config would replace"
LONGEST_SERVICE: Final = LABEL - len(PICKER_ENDING)
"""The picker's Service is named after the service, and a Service's name is a DNS label."""

_SAID: Final[tuple[tuple[str, str, Callable[[Routing], str]], ...]] = (
    (STRATEGY, "the strategy", lambda one: one.strategy),
    (GATEWAY, "the gateway", lambda one: one.gateway),
    (HOSTNAMES, "the hostnames", lambda one: ",".join(one.hostnames)),
    (ENDPOINT_PICKER_CONFIG, "the EndpointPickerConfig", lambda one: one.config),
    (PICKER, "the picker", lambda one: one.picker),
    (PICKER_REPLICAS, "how many pickers there are", lambda one: str(one.picker_replicas or "")),
)
"""What members must agree on; who says nothing agrees with all."""


def is_split(members: tuple[Member, ...]) -> bool:
    """Whether the service prefills in other pods than it decodes in."""
    return any(one.component_type in DISAGGREGATED for one in members)


def picker_of(routing: Routing, *, split: bool, settings: Settings) -> Picker:
    """Give the picker that a service gets: that of its author, else that of the operator."""
    return PICKERS[routing.picker or (settings.disaggregated_picker if split else settings.picker)]


def said(members: tuple[Member, ...]) -> Routing:
    """Bring together what members say; of values that contradict each other the eldest member's counts."""
    spoken = [one.routing for one in members if one.routing != NO_ROUTING]
    return Routing(
        strategy=next((one.strategy for one in spoken if one.strategy), ""),
        config=next((one.config for one in spoken if one.config), ""),
        gateway=next((one.gateway for one in spoken if one.gateway), ""),
        hostnames=next((one.hostnames for one in spoken if one.hostnames), ()),
        picker=next((one.picker for one in spoken if one.picker), ""),
        picker_replicas=next((one.picker_replicas for one in spoken if one.picker_replicas), 0),
    )


def disagreements(members: tuple[Member, ...]) -> Iterator[Finding]:
    """Say on what about routes members disagree (FI806)."""
    for key, what, value in _SAID:
        if len({value(one.routing) for one in members} - {""}) > 1:
            for one in members:
                yield Finding(
                    one.subject, FieldError(path(key), None, _others(one, members, what, value), "FI806")
                )


def _others(one: Member, members: tuple[Member, ...], what: str, value: Callable[[Routing], str]) -> str:
    others = ", ".join(
        f"{other.name}: {_short(value(other.routing))}"
        for other in members
        if value(other.routing) not in {"", value(one.routing)}
    )
    return f"members disagree on {what} ({others}); the routes stay as they are until they agree"


def _short(text: str) -> str:
    line = text.strip().partition("\n")[0]
    return line if line == text and len(line) < 60 else f"{line[:60]} ..."


def contradictions(members: tuple[Member, ...], routing: Routing, settings: Settings) -> Iterator[Finding]:
    """Say what cannot be routed as it is asked for; `members` are those that fit together."""
    picker = picker_of(routing, split=is_split(members), settings=settings)
    if problem := routing_problem(routing, split=is_split(members), settings=settings):
        yield from (Finding(one.subject, problem) for one in members)
    elif routing.config:
        yield from _unreadable(members, routing.config, picker)
    if routing.strategy == DISAGGREGATION:
        yield from _without_sidecar(members)
        yield from _other_sidecar(members, picker, settings)
    yield from _ports(members)


def routing_problem(routing: Routing, *, split: bool, settings: Settings) -> FieldError | None:
    """Say which annotation cannot stand, on one object or on all of a service."""
    if routing.strategy and routing.config:
        return FieldError(path(ENDPOINT_PICKER_CONFIG), None, BOTH, "FI804")
    if routing.strategy == DISAGGREGATION and not split:
        return FieldError(path(STRATEGY), routing.strategy, ALONE, "FI801")
    if routing.strategy and routing.strategy != DISAGGREGATION and split:
        return FieldError(path(STRATEGY), routing.strategy, SPLIT, "FI802")
    return _unable(routing, picker_of(routing, split=split, settings=settings))


def _unable(routing: Routing, picker: Picker) -> FieldError | None:
    """FI805, FI822: what a generation cannot do for prefillers, said to who chose it, or the strategy."""
    words = picker.disaggregation
    if routing.strategy != DISAGGREGATION or (words and words.remembers):
        return None
    key, value = (PICKER, routing.picker) if routing.picker else (STRATEGY, routing.strategy)
    if words is None:
        message = f"{picker.name} knows no prefill and decode; {', '.join(SPLITTING)} would do"
        return FieldError(path(key), value, message, "FI805")
    message = f"{picker.name} forgets which prefiller saw a prompt; {', '.join(REMEMBERING)} would not"
    return FieldError(path(key), None, message, "FI822")


def _unreadable(members: tuple[Member, ...], config: str, picker: Picker) -> Iterator[Finding]:
    """Say on every member what stops the picker in a configuration (FI810 to FI820)."""
    for error in check_config(config, picker, path(ENDPOINT_PICKER_CONFIG)):
        yield from (Finding(one.subject, error) for one in members)


def _without_sidecar(members: tuple[Member, ...]) -> Iterator[Finding]:
    """FI807: a decoder whose review saw no strategy, so that it has no sidecar."""
    for one in members:
        if one.component_type == "decoder" and one.routing.strategy != DISAGGREGATION:
            message = f"must be {DISAGGREGATION} here too: without it this decoder gets no sidecar"
            yield Finding(
                one.subject, FieldError(path(STRATEGY), one.routing.strategy or None, message, "FI807")
            )


def _other_sidecar(members: tuple[Member, ...], picker: Picker, settings: Settings) -> Iterator[Finding]:
    """FI823: a decoder whose review saw no picker, so that its sidecar is of another generation."""
    for one in members:
        its = picker_of(one.routing, split=True, settings=settings)
        if one.component_type == "decoder" and one.routing.strategy == DISAGGREGATION and its is not picker:
            message = f"must be {picker.name} here too: without it this decoder's sidecar is of {its.name}"
            yield Finding(one.subject, FieldError(path(PICKER), one.routing.picker or None, message, "FI823"))


def _ports(members: tuple[Member, ...]) -> Iterator[Finding]:
    """FI809: one pool has one port."""
    if len({one.port for one in members}) < 2:
        return
    everybody = ", ".join(f"{one.name}: {one.port}" for one in members)
    for one in members:
        message = (
            f"all leaders must serve at one port, that of the pool ({everybody}); give them the same --port"
        )
        yield Finding(one.subject, FieldError("spec.leaderWorkerTemplate", None, message, "FI809"))


def named_like_picker(name: str, service: str) -> FieldError | None:
    """FI821: a LeaderWorkerSet that would take the picker's Service for its own.

    LWS makes a headless Service of its name, and takes any that is there for it
    (`pkg/utils/controller/controller_utils.go`): then no pod finds its leader.
    """
    if name != picker_name(service):
        return None
    message = f"must be another name: the Service of the endpoint picker of service {service} has it"
    return FieldError("metadata.name", name, message, "FI821")


def leads_nowhere(routing: Routing) -> tuple[str, str] | None:
    """Say which annotation has no effect, and why (FI803)."""
    about = ((GATEWAY, routing.gateway), (HOSTNAMES, routing.hostnames), (PICKER, routing.picker))
    alone = [key for key, said in (*about, (PICKER_REPLICAS, routing.picker_replicas)) if said]
    if not routing.wanted and alone:
        return alone[0], "leads nowhere: name a strategy, or bring an endpoint-picker-config"
    if routing.hostnames and not routing.gateway and not routing.http_route:
        return HOSTNAMES, "leads nowhere: without a gateway there is no HTTPRoute"
    return None


def unreachable(members: tuple[Member, ...], routing: Routing) -> Iterator[Finding]:
    """Say on every member what has no effect (FI803)."""
    if found := leads_nowhere(routing):
        key, message = found
        yield from (Finding(one.subject, FieldError(path(key), None, message, "FI803")) for one in members)


def waiting(members: tuple[Member, ...]) -> Iterator[Finding]:
    """Say for which role the routes of prefillers and decoders wait (FI808)."""
    there = {one.component_type for one in members}
    lacking = [one for one in DISAGGREGATED if one not in there]
    if not is_split(members) or not lacking:
        return
    for one in members:
        message = f"the routes of {one.service} wait for a {' and a '.join(lacking)}"
        yield Finding(one.subject, FieldError(path(STRATEGY), None, message, "FI808"))
