"""Records findings as Events: once, and again if they return or persist.

A finding is identified by its code, its subject and its path, and so is its Event. So a new leader creates no
second Event, and a message that changes with each try (it quotes a port, a time) updates one Event. Events
are best effort: an Event that cannot be written affects nothing else.
"""

import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final

import structlog
from prometheus_client import Gauge

from catalog.codes import CODES
from intent import Object
from intent.errors import Finding, printable
from intent.names import api_path
from intent.service.member import ServiceKey
from kube.client import NO_ANSWER, ApiError, logged
from kube.request import Request, create, patch
from sync.runtime.clock import now
from sync.runtime.event import LONGEST, rendered
from sync.runtime.pause import PausedError

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
    "FI415": "PrioritiesDisagree",
    "FI416": "PodGroupOfEjected",
    "FI417": "RoleNotScaled",
    "FI420": "KVTransferMismatch",
    "FI540": "RolesNameOneSide",
    "FI548": "PriorityOfAnotherPool",
    "FI701": "FieldInvalid",
    "FI702": "UnknownField",
    "FI703": "RolesMakeNoService",
    "FI704": "SecondRouter",
    "FI705": "DuplicateRole",
    "FI706": "FieldMisplaced",
    "FI707": "NothingToDisaggregate",
    "FI708": "FieldsDisagree",
    "FI709": "AnnotationMisplaced",
    "FI710": "RouteFieldInvalid",
    "FI711": "IngressFieldInvalid",
    "FI715": "ReplicasAndScaling",
    "FI716": "ScalingInvalid",
    "FI717": "RolloutInvalid",
    "FI730": "AcceleratorTypesInvalid",
    "FI731": "FieldMisplaced",
    "FI732": "FieldsDisagree",
    "FI733": "PickerTemplateInvalid",
    "FI734": "ReferenceInvalid",
    "FI735": "SidecarOptionInvalid",
    "FI801": "NothingToDisaggregate",
    "FI802": "RolesRoutedAlike",
    "FI803": "RouteWithoutEffect",
    "FI804": "StrategyAndConfig",
    "FI805": "PickerCannotDisaggregate",
    "FI806": "RoutesDisagree",
    "FI807": "DecoderWithoutSidecar",
    "FI808": "RoutesWaitForRole",
    "FI809": "PortsDisagree",
    "FI821": "EndpointPickerNameTaken",
    **dict.fromkeys((f"FI{number}" for number in range(810, 821)), "PickerConfigInvalid"),
    "FI818": "ParameterWithoutEffect",
    "FI822": "PrefillersNotRemembered",
    "FI823": "SidecarOfAnotherPicker",
    "FI824": "PodsWithoutRequests",
    "FI825": "PickerImageGone",
    "FI826": "PickerCannotStart",
    "FI827": "PriorityIgnored",
    "FI830": "ServiceNameTaken",
    "FI831": "ServiceNameTooLong",
    "FI832": "PortsDisagree",
    "FI833": "NotAllowed",
    "FI834": "RoutesSwitchedOff",
    "FI835": "IngressWithoutService",
    "FI836": "ConfigurationMissing",
    "FI837": "ConfigurationNotGiven",
    "FI870": "KindNotInstalled",
    "FI871": "ObjectNotOurs",
    "FI872": "ObjectRefused",
    "FI873": "NotExpanded",
    "FI874": "AdmissionDisabled",
    "FI875": "ScaledByAnother",
    "FI876": "ChangedByAnother",
    "FI878": "ScaledTwice",
    "FI879": "NotScaling",
    "FI880": "KindUnavailable",
    "FI881": "ObjectUnreadable",
    "FI977": "TemplatesNotKnown",
    "FI904": "ObjectOverBudget",
}
"""Event reasons by code. Codes about an EndpointPickerConfig share one reason; the message has the code."""
INVALID: Final = "Invalid"
"""The reason of all other codes: an annotation or a template is invalid; admission denies it, too."""
PATIENCE: Final = 2.0
"""Seconds for which a finding must persist before its Event: files are applied one after the other."""
REPEAT: Final = 1800.0
"""Seconds after which the Event of a persistent finding is repeated: Events expire after an hour."""
REWORD: Final = 30.0
"""Seconds after which a changed message is written; the delay doubles each time, up to `REPEAT`."""
AGAIN: Final = 10.0
"""Seconds after which a failed write of an Event is retried; the delay doubles each time, up to `REPEAT`."""
MOST: Final = 100
"""Maximum number of findings of a service that are remembered after they ended."""
Send = Callable[[Request], Awaitable[Object]]
log: Final = structlog.stdlib.get_logger(__name__)


@dataclass(slots=True)
class EventState:
    """The state of one Event. Times are monotonic."""

    times: int = 0
    """How often it was written."""
    due: float | None = None
    """When it is due; None while the finding does not hold."""
    message_hash: int = 0
    """A hash of the message that was written last."""
    rewordings: int = 0
    """How often the message has changed."""
    failed: int = 0
    """Failed writes in a row."""
    at: float = 0.0
    """When it was written last, or when the finding ended."""

    def is_due(self, message_hash: int, moment: float) -> bool:
        """Return whether to write the Event now; set when it is due."""
        if self.due is None:
            self.due = moment + PATIENCE
        elif self.times and message_hash != self.message_hash:
            self.due = min(self.due, self.at + _doubled(REWORD, self.rewordings))
        return moment >= self.due

    def mark_written(self, message_hash: int, moment: float) -> None:
        """Record that it was written."""
        self.rewordings += bool(self.times) and message_hash != self.message_hash
        self.times, self.message_hash, self.failed = self.times + 1, message_hash, 0
        self.at, self.due = moment, moment + REPEAT

    def mark_failed(self, moment: float) -> None:
        """Record that the write failed."""
        self.due = moment + _doubled(AGAIN, self.failed)
        self.failed += 1

    def mark_ended(self, moment: float) -> None:
        """Record that the finding no longer holds."""
        if self.due is not None:
            self.at, self.due = moment, None


def _doubled(seconds: float, times: int) -> float:
    return min(REPEAT, seconds * 2.0 ** min(times, 20))


@dataclass(slots=True)
class EventRecorder:
    """The Events that this process wrote about every service."""

    holding: Gauge
    """The number of findings that hold, by code."""
    states: dict[ServiceKey, dict[str, EventState]] = field(default_factory=dict)
    findings: dict[ServiceKey, tuple[Finding, ...]] = field(default_factory=dict)

    async def record(self, send: Send, key: ServiceKey, findings: tuple[Finding, ...]) -> float | None:
        """Write the Events that are due; return the seconds until the next one, None if no finding holds."""
        self._count(key, findings)
        memory, current, moment = self.states.setdefault(key, {}), by_name(findings), time.monotonic()
        for name, finding in current.items():
            state = memory.setdefault(name, EventState())
            if state.is_due(hash(finding.error.message), moment):
                await _write(send, state, name, finding)
        for name in memory.keys() - current.keys():
            memory[name].mark_ended(moment)
        _forget(memory, moment)
        waits = [state.due - moment for state in memory.values() if state.due and state.due > moment]
        return min(waits, default=None)

    def forget(self, key: ServiceKey) -> None:
        """Drop the states of a service that is gone."""
        self.states.pop(key, None)
        self._count(key, ())
        del self.findings[key]

    def _count(self, key: ServiceKey, findings: tuple[Finding, ...]) -> None:
        for finding in self.findings.pop(key, ()):
            self.holding.labels(finding.error.code).dec()
        for finding in findings:
            self.holding.labels(finding.error.code).inc()
        self.findings[key] = findings


def _forget(memory: dict[str, EventState], moment: float) -> None:
    """Drop findings that ended long ago, and the oldest ones if there are too many."""
    ended = sorted((state.at, name) for name, state in memory.items() if state.due is None)
    old = [one for one in ended[-MOST:] if one[0] + REPEAT < moment]
    for _, name in ended[:-MOST] + old:
        del memory[name]


async def _write(send: Send, state: EventState, name: str, finding: Finding) -> None:
    """Create the Event or increase its count; if neither succeeds, log that and try again later."""
    message_hash = hash(finding.error.message)
    try:
        await _create_or_count(send, state, name, finding)
    except PausedError:
        pass  # the Event stays due, and is written when the service is resumed
    except (ApiError, *NO_ANSWER) as error:
        log.warning(
            "event not written",
            event_name=name,
            code=finding.error.code,
            error=logged(error),
        )
        state.mark_failed(time.monotonic())
    else:
        state.mark_written(message_hash, time.monotonic())


async def _create_or_count(send: Send, state: EventState, name: str, finding: Finding) -> None:
    """Create the Event; if it exists and this process created it, increase its count."""
    events = api_path("/api/v1/namespaces", finding.subject.namespace, "events")
    body = event(finding, name)
    try:
        await send(create(events, body))
    except ApiError as error:
        if not error.exists:
            raise
        if state.times:
            again = {"count": state.times + 1, "lastTimestamp": now(), "message": body["message"]}
            await send(patch(api_path(events, name), again))


def event(finding: Finding, name: str) -> Object:
    """Render a finding as a `v1` Event of type Warning."""
    reason = REASONS.get(finding.error.code, INVALID)
    return rendered(finding.subject, name, "Warning", reason, _message(finding))


def _message(finding: Finding) -> str:
    """Return the message: what is wrong, the code, the remedy and the usual cause."""
    error, row = finding.error, CODES[finding.error.code]
    where = "" if error.value is None else f"{error.path} is {error.value}: "
    tail = f" ({error.code}: {row.remedy}. Often: {row.cause})"
    return printable(f"{where}{error.message}")[: LONGEST - len(tail)] + tail


def by_name(findings: Iterable[Finding]) -> dict[str, Finding]:
    """Return findings by the names of their Events; duplicates once."""
    named, seen = {}, Counter[str]()
    for (first, _), finding in {(event_name(one), one.error.message): one for one in findings}.items():
        named[event_name(finding, seen[first])] = finding
        seen[first] += 1
    return named


def event_name(finding: Finding, place: int = 0) -> str:
    """Return the name of an Event: object, code and path; `place` numbers those that share all three."""
    known = (finding.subject.uid, finding.error.code, finding.error.path, *([str(place)] if place else ()))
    return f"{finding.subject.name}.{blake2b('/'.join(known).encode(), digest_size=8).hexdigest()}"
