"""What the controller knows of one service from earlier reconciles: one value, freed at once.

A process in observe-only mode writes nothing at all. Otherwise a service is paused while its
InferenceService, or any of its LeaderWorkerSets, has the annotation `fusioninfer.io/paused: "true"`. Every
write asks (`Writer.send`); dry runs are not writes. A withheld write is counted once, until it changes.
"""

import time
from dataclasses import dataclass, field
from typing import Final

from intent.service.member import ServiceKey
from intent.shapes import mapping
from kube.request import Request
from sync.changes import Change
from sync.clock import MINUTE
from sync.decide import ApplyHistory
from sync.events import ServiceEvents
from sync.kinds import INFERENCE_SERVICE, part_of
from sync.observe import ServiceMemory
from sync.observed.cached import digest
from sync.observed.inferenceservice import CachedInferenceService
from sync.status import without_messages

RETRY_REFUSED: Final = 30.0
"""Seconds after which a refused write is tried again; the delay doubles, up to a minute (the safety law)."""
STATUS: Final = f"{INFERENCE_SERVICE.kind}/status"
"""The kind of a status in `ServiceState.histories`."""


@dataclass(slots=True)
class Pause:
    """The writes of one service that were withheld, by verb and path, as digests."""

    is_marked: bool = False
    """Whether an annotation paused the service at its last reconcile."""
    withheld: dict[tuple[str, str], bytes] = field(default_factory=dict)
    """Those of the current reconcile, or of the last one. While there is one, no further write is sent."""
    before: dict[tuple[str, str], bytes] = field(default_factory=dict)
    """Those of the reconcile before."""

    def begin(self) -> None:
        """Begin a reconcile."""
        self.before, self.withheld = self.withheld, {}

    def withhold(self, request: Request) -> bool:
        """Withhold a write; return whether it differs from the one that was withheld before."""
        at, content = (request.verb, object_path(request)), _content_digest(request)
        known = self.withheld.get(at) or self.before.get(at)
        self.withheld[at] = content
        return known != content


@dataclass(slots=True)
class ServiceState:
    """The state of one service."""

    key: ServiceKey
    memory: ServiceMemory = field(default_factory=ServiceMemory)
    """What its snapshots remember."""
    histories: dict[tuple[str, str], ApplyHistory] = field(default_factory=dict)
    """By kind and name of an object."""
    changes: list[Change] = field(default_factory=list)
    """The writes that took effect and are not recorded as Events yet."""
    events: ServiceEvents = field(default_factory=ServiceEvents)
    refused: int = 0
    """Reconciles in a row in which a write was refused."""
    pause: Pause = field(default_factory=Pause)

    def history(self, kind: str, name: str) -> ApplyHistory:
        """Return the history of an object."""
        return self.histories.setdefault((kind, name), ApplyHistory())

    def has_reported(self, row: CachedInferenceService) -> bool:
        """Return whether the stored status is the one that this process wrote last."""
        return self.history(STATUS, row.name).stored == digest(row.status)

    def retry_in(self, *, is_refused: bool) -> float | None:
        """Return the seconds after which a refused write is tried again; None if none was refused."""
        self.refused = self.refused + 1 if is_refused else 0
        return min(MINUTE, RETRY_REFUSED * 2.0 ** min(self.refused - 1, 20)) if is_refused else None

    @property
    def contested(self) -> dict[str, float]:
        """The kinds of which a write is left out since another writer reverts it, and for how many seconds.

        The kinds are those of `kinds.part_of`.
        """
        now, left_alone = time.monotonic(), dict[str, float]()
        for (kind, name), history in self.histories.items():
            if history.repairs and (seconds := history.contested_for(history.desired, now)):
                part = part_of(kind, name)
                left_alone[part] = min(seconds, left_alone.get(part, MINUTE))
        return left_alone


def object_path(request: Request) -> str:
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
