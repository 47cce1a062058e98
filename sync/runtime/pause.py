"""Pausing: for which services nothing is written, and what would have been written.

A process that only observes writes for no service. Else a service is paused while its InferenceService, or
any of its LeaderWorkerSets, has the annotation `fusioninfer.io/paused: "true"`. Every write asks here
(`Writer.send`); dry runs are no writes. What would be written is logged and counted, once for as long as it
stays the same.
"""

import logging
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final

from prometheus_client import Counter, Gauge

from intent.service.member import ServiceKey
from intent.shapes import mapping
from kube.request import Request
from sync.observed.cached import digest
from sync.status import unworded

log: Final = logging.getLogger(__name__)
CURRENT: Final[ContextVar[ServiceKey | None]] = ContextVar("CURRENT", default=None)
"""The service that a task reconciles; a worker reconciles one at a time."""
Told = dict[tuple[str, str], bytes]
"""Digests of what would be written, by verb and path."""


class PausedError(Exception):
    """Nothing is written for this service now."""


@dataclass(slots=True)
class Pause:
    """What is paused."""

    is_marked: Callable[[ServiceKey], bool]
    """Whether an annotation says now that a service is paused."""
    services: Gauge
    """How many services are paused by an annotation."""
    writes: Counter
    """What would have been written, by kind and verb."""
    everything: bool = False
    """Whether this process only observes."""
    paused: set[ServiceKey] = field(default_factory=set)
    """Services that were paused when they were looked at last."""
    told: dict[ServiceKey, Told] = field(default_factory=dict)
    """What was told in the present look, or in the last one."""
    before: dict[ServiceKey, Told] = field(default_factory=dict)
    """What was told in the look before."""

    def begin(self, key: ServiceKey) -> None:
        """Begin a look at a service: all that this task writes from now on is for it."""
        CURRENT.set(key)
        self.before[key] = self.told.pop(key, {})
        if self.is_marked(key) != (key in self.paused):
            self.paused ^= {key}
            log.info("paused" if key in self.paused else "resumed", extra={"service": key})
            self.services.set(len(self.paused))

    def is_paused(self, key: ServiceKey) -> bool:
        """Whether nothing may be written for a service; asked before each write.

        A look that put one write off writes nothing more: it would delete what was to be replaced.
        """
        return self.everything or self.is_marked(key) or bool(self.told.get(key))

    def check(self, kind: str, request: Request) -> None:
        """Raise `PausedError` if the service of this task is paused, or this process only observes."""
        key = CURRENT.get()
        if not (self.everything if key is None else self.is_paused(key)):
            return
        at, gist = (request.verb, _path(request)), _gist(request)
        told = self.told.setdefault(key or ("", ""), {})
        told[at], known = gist, told.get(at) or self.before.get(key or ("", ""), {}).get(at)
        if known != gist:
            self.writes.labels(kind, request.verb).inc()
            log.info("would write", extra={"service": key, "kind": kind, "verb": at[0], "path": at[1]})
        raise PausedError

    def forget(self, key: ServiceKey) -> None:
        """Remember nothing of a service that is gone."""
        self.paused.discard(key)
        self.services.set(len(self.paused))
        self.told.pop(key, None)
        self.before.pop(key, None)


def _path(request: Request) -> str:
    """Give the path of the object that a request is about; a creation names it in its body."""
    body = mapping(request.body)
    name = mapping(body.get("metadata")).get("name") if request.verb == "create" else None
    return f"{request.path}/{name}" if name else request.path


def _gist(request: Request) -> bytes:
    """Digest what a request says, without what varies from try to try: times, messages, versions."""
    body = mapping(request.body)
    if body.get("kind") == "Event":
        return digest({name: body.get(name) for name in ("reason", "involvedObject")})
    if isinstance(body.get("status"), dict):
        return digest(unworded(body["status"]))
    metadata = {name: one for name, one in mapping(body.get("metadata")).items() if name != "resourceVersion"}
    return digest(body | {"metadata": metadata})
