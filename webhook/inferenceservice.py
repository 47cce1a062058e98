"""Every finding about an InferenceService: its own, and those about the LeaderWorkerSets that it becomes.

The latter point to where their author wrote it, and are left out where the former say it already.
"""

from collections.abc import Iterator
from dataclasses import replace

from intent import Object
from intent.annotations import INJECT, PREFIX, QUEUE_NAME
from intent.errors import FieldError
from intent.inferenceservice import read
from intent.members import authored, leader_worker_sets
from intent.settings import Settings
from intent.shapes import number
from webhook import check as leaderworkerset
from webhook.expand import DEFAULTS
from webhook.study import annotations, metadata


def check(live: Object, old: Object | None = None, settings: Settings = DEFAULTS) -> list[FieldError]:
    """Give the findings, errors first.

    On an update whose author changed nothing, errors become warnings; and those about one LeaderWorkerSet do
    while its own input does not change, as they do when it is written by hand.
    """
    if annotations(live).get(INJECT) == "disabled" or metadata(live).get("deletionTimestamp"):
        return []
    findings = list(_findings(live, old, settings))
    if old is not None and _wishes(live) == _wishes(old) and _generation(live) == _generation(old) != 0:
        findings = [replace(one, softened=True) for one in findings]
    return sorted(findings, key=lambda one: one.severity != "error")


def _findings(live: Object, old: Object | None, settings: Settings) -> Iterator[FieldError]:
    service, errors = read(live)
    yield from errors
    if service is None:
        return
    said, before = {(error.path, "") for error in errors}, _members(old)
    for role, lws in zip(service.roles, leader_worker_sets(service), strict=True):
        known = before.get(lws["metadata"]["name"])
        for error in leaderworkerset.check(lws, known, settings, mutated=False):
            told = authored(error, service, role)
            if said.isdisjoint({(told.path, ""), (told.path, told.code + told.message)}):
                said.add((told.path, told.code + told.message))
                yield told


def _members(old: Object | None) -> dict[str, Object]:
    """Render what the InferenceService was, by name."""
    service, _ = read(old)
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
