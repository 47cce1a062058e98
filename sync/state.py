"""What the controller knows of one service from earlier reconciles: one value, freed at once.

A process in observe-only mode writes nothing at all. Otherwise a service is paused while its
InferenceService, or any of its LeaderWorkerSets, has the annotation `fusioninfer.io/paused: "true"`. Every
write asks (`Writer.send`); dry runs are not writes.
"""

import time
from dataclasses import dataclass, field
from typing import Final

from intent.service.member import ServiceKey
from sync.changes import Change
from sync.clock import MINUTE
from sync.decide import ApplyHistory
from sync.events import ServiceEvents
from sync.kinds import INFERENCE_SERVICE, part_of
from sync.observe import ServiceMemory

RETRY_REFUSED: Final = 30.0
"""Seconds after which a refused write is tried again; the delay doubles, up to a minute (the safety law)."""
STATUS: Final = f"{INFERENCE_SERVICE.kind}/status"
"""The kind of a status in `ServiceState.histories`."""


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
    is_withheld: bool = False
    """Whether a write of the current reconcile was withheld: then no further write is sent."""

    def history(self, kind: str, name: str) -> ApplyHistory:
        """Return the history of an object."""
        return self.histories.setdefault((kind, name), ApplyHistory())

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
