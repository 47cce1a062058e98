"""Every finding about an InferenceService: its own, and those about the LeaderWorkerSets that it becomes.

The latter point to where their author wrote it, and are left out where the former say it already.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from intent import Object, budget
from intent.annotations import INJECT, NO_ROUTING, PREFIX, QUEUE_NAME, Routing
from intent.errors import FieldError
from intent.gang import DISAGGREGATED
from intent.inferenceservice.members import authored, leader_worker_sets
from intent.inferenceservice.read import InferenceServiceIntent, read, route_findings
from intent.pickers.configuration import check_config
from intent.service.routes import picker_of
from intent.settings import Settings
from intent.shapes import number
from webhook import check as leaderworkerset
from webhook.expand import DEFAULTS
from webhook.study import annotations, metadata


def check(live: Object, old: Object | None = None, settings: Settings = DEFAULTS) -> list[FieldError]:
    """Give the findings, errors first.

    On an update whose author changed nothing, errors become warnings. Else those do that were there before,
    and those about one LeaderWorkerSet while its own input does not change, as they do when it is written by
    hand.
    """
    if annotations(live).get(INJECT) == "disabled" or metadata(live).get("deletionTimestamp"):
        return []
    findings = list(_findings(live, old, settings))
    if old is not None and _wishes(live) == _wishes(old) and _generation(live) == _generation(old) != 0:
        findings = [replace(one, softened=True) for one in findings]
    return sorted(findings, key=lambda one: one.severity != "error")


def _findings(live: Object, old: Object | None, settings: Settings) -> Iterator[FieldError]:
    over = budget.of_inferenceservice(live)
    if over is not None:
        yield replace(over, softened=old is not None and over == budget.of_inferenceservice(old))
        return
    service, errors = read(live)
    if service is None:
        yield from errors
        return
    known_service, known_errors = read(old)
    yield from _ratcheted(errors, known_errors)
    said, before = {(error.path, "") for error in errors}, _members(known_service)
    for role, lws in zip(service.roles, leader_worker_sets(service), strict=True):
        known = before.get(lws["metadata"]["name"])
        for error in leaderworkerset.check(lws, known, settings, mutated=False):
            told = authored(error, service, role)
            if said.isdisjoint({(told.path, ""), (told.path, told.code + told.message)}):
                said.add((told.path, told.code + told.message))
                yield told
    same = known_service is not None and _configuration(known_service) == _configuration(service)
    yield from (replace(one, softened=same) for one in _of_picker(service, settings))
    yield from _ratcheted(_of_routes(service), _of_routes(known_service) if known_service else ())


def _ratcheted(found: Iterable[FieldError], before: Iterable[FieldError]) -> Iterator[FieldError]:
    """Only warn of what was wrong before (as KEP-4008): a stricter release keeps nobody from scaling.

    There may be tens of thousands on either side, so words are looked up.
    """
    known = set(map(str, before))
    return (replace(one, softened=str(one) in known) for one in found)


def _of_picker(service: InferenceServiceIntent, settings: Settings) -> Iterator[FieldError]:
    """Hold a configuration of the author's own against the picker that would get it."""
    asked, split = _configuration(service)
    if service.router and asked.config:
        where = f"spec.roles[{service.router.index}].endpointPickerConfig"
        yield from check_config(asked.config, picker_of(asked, split=split, settings=settings), where)


def _configuration(service: InferenceServiceIntent) -> tuple[Routing, bool]:
    """Give the configuration and its picker, and whether it is for prefillers and decoders."""
    split, router = any(role.component_type in DISAGGREGATED for role in service.roles), service.router
    return (router.routing if router else NO_ROUTING), split


def _of_routes(service: InferenceServiceIntent) -> list[FieldError]:
    """Hold what is asked of the Gateway API against it."""
    return list(route_findings(service.router)) if service.router else []


def _members(service: InferenceServiceIntent | None) -> dict[str, Object]:
    """Render what the InferenceService was, by name."""
    return {} if service is None else {lws["metadata"]["name"]: lws for lws in leader_worker_sets(service)}


def _wishes(live: Object) -> Object:
    """Take the annotations that change what is rendered, or are refused."""
    return {
        key: value for key, value in annotations(live).items() if key.startswith(PREFIX) or key == QUEUE_NAME
    }


def _generation(live: Object) -> int:
    """Count the changes of the spec, which may be too deep to compare.

    The API server counts before it asks (`apiextensions-apiserver` `registry/customresource/strategy.go`).
    """
    return number(metadata(live).get("generation"))
