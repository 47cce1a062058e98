"""Pausing: which services are not written, and what would have been written.

A process in observe-only mode writes nothing at all. Otherwise a service is paused while its
InferenceService, or any of its LeaderWorkerSets, has the annotation `fusioninfer.io/paused: "true"`. Every
write is checked here (`Writer.send`); dry runs are not writes. A paused write is logged and counted once,
until it changes.
"""

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final

import structlog
from prometheus_client import Counter, Gauge

from intent.service.member import ServiceKey
from intent.shapes import mapping
from kube.request import Request
from sync.observed.cached import digest
from sync.status import without_messages

log: Final = structlog.stdlib.get_logger(__name__)
CURRENT: Final[ContextVar[ServiceKey | None]] = ContextVar("CURRENT", default=None)
"""The service that a task reconciles; a worker reconciles one at a time."""
Withheld = dict[tuple[str, str], bytes]
"""Digests of paused writes, by verb and path."""


class PausedError(Exception):
    """The service is paused; the write was not sent."""


@dataclass(slots=True)
class Pause:
    """Which services are paused."""

    is_marked: Callable[[ServiceKey], bool]
    """Returns whether an annotation pauses a service now."""
    services: Gauge
    """The number of services that an annotation pauses."""
    writes: Counter
    """The number of paused writes, by kind and verb."""
    everything: bool = False
    """Whether this process is in observe-only mode."""
    paused: set[ServiceKey] = field(default_factory=set)
    """Services that were paused at their last reconcile."""
    withheld: dict[ServiceKey, Withheld] = field(default_factory=dict)
    """The paused writes of the current reconcile, or of the last one."""
    before: dict[ServiceKey, Withheld] = field(default_factory=dict)
    """The paused writes of the reconcile before."""

    def begin(self, key: ServiceKey) -> None:
        """Begin a reconcile: everything that this task writes from now on belongs to the service."""
        CURRENT.set(key)
        self.before[key] = self.withheld.pop(key, {})
        if self.is_marked(key) != (key in self.paused):
            self.paused ^= {key}
            log.info("paused" if key in self.paused else "resumed", service=key)
            self.services.set(len(self.paused))

    def is_paused(self, key: ServiceKey) -> bool:
        """Return whether a service is paused; checked before each write.

        A reconcile with one paused write sends no further write: it would delete what should have been
        replaced.
        """
        return self.everything or self.is_marked(key) or bool(self.withheld.get(key))

    def check(self, kind: str, request: Request) -> None:
        """Raise `PausedError` if the service of this task is paused, or the process only observes."""
        key = CURRENT.get()
        if not (self.everything if key is None else self.is_paused(key)):
            return
        at, content = (request.verb, _path(request)), _content_digest(request)
        withheld = self.withheld.setdefault(key or ("", ""), {})
        withheld[at], known = content, withheld.get(at) or self.before.get(key or ("", ""), {}).get(at)
        if known != content:
            self.writes.labels(kind, request.verb).inc()
            log.info("would write", service=key, kind=kind, verb=at[0], path=at[1])
        raise PausedError

    def forget(self, key: ServiceKey) -> None:
        """Drop the state of a service that is gone."""
        self.paused.discard(key)
        self.services.set(len(self.paused))
        self.withheld.pop(key, None)
        self.before.pop(key, None)


def _path(request: Request) -> str:
    """Return the path of a request's object; a create request has the name in its body."""
    body = mapping(request.body)
    name = mapping(body.get("metadata")).get("name") if request.verb == "create" else None
    return f"{request.path}/{name}" if name else request.path


def _content_digest(request: Request) -> bytes:
    """Digest the content of a request without what varies between tries: times, messages, versions."""
    body = mapping(request.body)
    if body.get("kind") == "Event":
        return digest({name: body.get(name) for name in ("reason", "involvedObject")})
    if isinstance(body.get("status"), dict):
        return digest(without_messages(body["status"]))
    metadata = {name: one for name, one in mapping(body.get("metadata")).items() if name != "resourceVersion"}
    return digest(body | {"metadata": metadata})
