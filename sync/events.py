"""Findings as Events on their subjects: said once, again if they come back or still hold much later.

The name of an Event is made from what it says, so a new leader that says it too makes no second one.
"""

import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final

from prometheus_client import Gauge

from intent import Object
from intent.codes import CODES
from intent.errors import Finding
from intent.service.member import ServiceKey
from sync.client import ApiError
from sync.clock import now
from sync.request import Request, create, patch

REASONS: Final = {
    "FI401": "DuplicateRole",
    "FI402": "WorkerNotAlone",
    "FI404": "SchedulersDisagree",
    "FI405": "QueuesDisagree",
    "FI406": "RolesDisagree",
    "FI407": "PodGroupNotOurs",
    "FI408": "VolcanoTooOld",
    "FI409": "LeaderWorkerSetGangScheduling",
    "FI410": "WaitingForRole",
    "FI411": "PodGroupRefused",
    "FI420": "HandoverDoesNotFit",
    "FI701": "FieldInvalid",
    "FI702": "UnknownField",
    "FI703": "RolesMakeNoService",
    "FI704": "SecondRouter",
    "FI705": "DuplicateRole",
    "FI706": "FieldMisplaced",
    "FI707": "NothingToDisaggregate",
    "FI708": "FieldsDisagree",
    "FI709": "AnnotationMisplaced",
    "FI801": "NothingToDisaggregate",
    "FI802": "RoutedAlike",
    "FI803": "LeadsNowhere",
    "FI804": "StrategyAndConfig",
    "FI805": "PickerCannotDisaggregate",
    "FI806": "RoutesDisagree",
    "FI807": "DecoderWithoutSidecar",
    "FI808": "RoutesWaitForRole",
    "FI809": "PortsDisagree",
    "FI821": "NameOfPicker",
    **dict.fromkeys((f"FI{number}" for number in range(810, 821)), "PickerConfigInvalid"),
    "FI818": "ParameterWithoutEffect",
    "FI822": "PrefillersForgotten",
    "FI823": "SidecarOfAnotherPicker",
    "FI870": "KindNotInstalled",
    "FI871": "ObjectNotOurs",
    "FI872": "ObjectRefused",
    "FI873": "NotExpanded",
}
"""By code; what is wrong with an EndpointPickerConfig has one reason, and the code tells it apart."""
INVALID: Final = "Invalid"
"""Everything else is wrong with an annotation or a template by itself; admission denies it, too."""
PATIENCE: Final = 2.0
"""Seconds that something must hold before it is said: files are applied one after the other."""
REPEAT: Final = 1800.0
"""Seconds after which what still holds is said again: API servers forget Events after an hour."""
CONFLICT: Final = 409
LONGEST: Final = 1024
"""Characters of `message` that the API server takes."""
Send = Callable[[Request], Awaitable[Object]]


@dataclass(slots=True)
class Said:
    """How often an Event was said, and when (monotonic) to say it; None while it does not hold."""

    times: int = 0
    due: float | None = None


@dataclass(slots=True)
class Voice:
    """What this process has said about every service."""

    holding: Gauge
    """How many findings hold, by code."""
    said: dict[ServiceKey, dict[str, Said]] = field(default_factory=dict)
    findings: dict[ServiceKey, tuple[Finding, ...]] = field(default_factory=dict)

    async def say(self, send: Send, key: ServiceKey, findings: tuple[Finding, ...]) -> float | None:
        """Say what is due; give the seconds until something is due again, None if nothing holds."""
        self._count(key, findings)
        memory, current = self.said.setdefault(key, {}), _by_name(findings)
        for name in memory.keys() - current.keys():
            memory[name].due = None
        for name, finding in current.items():
            await self._speak_if_due(send, memory.setdefault(name, Said()), name, finding)
        waits = [said.due - time.monotonic() for said in memory.values() if said.due is not None]
        return min(waits, default=None)

    def forget(self, key: ServiceKey) -> None:
        """Remember nothing of a service that is gone."""
        self.said.pop(key, None)
        self._count(key, ())
        del self.findings[key]

    def _count(self, key: ServiceKey, findings: tuple[Finding, ...]) -> None:
        for finding in self.findings.pop(key, ()):
            self.holding.labels(finding.error.code).dec()
        for finding in findings:
            self.holding.labels(finding.error.code).inc()
        self.findings[key] = findings

    async def _speak_if_due(self, send: Send, said: Said, name: str, finding: Finding) -> None:
        moment = time.monotonic()
        if said.due is None:
            said.due = moment + PATIENCE
        if moment >= said.due:
            await _speak(send, said, name, finding)
            said.times, said.due = said.times + 1, moment + REPEAT


async def _speak(send: Send, said: Said, name: str, finding: Finding) -> None:
    """Create the Event; if it is there and this process made it, count it up."""
    events = f"/api/v1/namespaces/{finding.subject.namespace}/events"
    try:
        await send(create(events, event(finding, name)))
    except ApiError as error:
        if error.code != CONFLICT:
            raise
        if said.times:
            again = {"count": said.times + 1, "lastTimestamp": now()}
            await send(patch(f"{events}/{name}", again))


def event(finding: Finding, name: str) -> Object:
    """Render a finding as a `v1` Event of type Warning."""
    one, at = finding.subject, now()
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": one.namespace},
        "involvedObject": {
            "apiVersion": one.api_version,
            "kind": one.kind,
            "namespace": one.namespace,
            "name": one.name,
            "uid": one.uid,
        },
        "type": "Warning",
        "reason": REASONS.get(finding.error.code, INVALID),
        "message": _message(finding),
        "source": {"component": "fusioninfer-sync"},
        "firstTimestamp": at,
        "lastTimestamp": at,
        "count": 1,
    }


def _message(finding: Finding) -> str:
    """Say what is wrong, how that comes about, what would be right, and the code."""
    error, row = finding.error, CODES[finding.error.code]
    where = "" if error.value is None else f"{error.path} is {error.value}: "
    tail = f" ({error.code}: {row.remedy}. Often: {row.cause})"
    return f"{where}{error.message}"[: LONGEST - len(tail)] + tail


def _by_name(findings: Iterable[Finding]) -> dict[str, Finding]:
    return {event_name(finding): finding for finding in findings}


def event_name(finding: Finding) -> str:
    """Name an Event after its object and what it says."""
    said = f"{finding.subject.uid}/{finding.error.code}/{finding.error.message}"
    return f"{finding.subject.name}.{blake2b(said.encode(), digest_size=8).hexdigest()}"
