"""Renders a `v1` Event."""

from typing import Final, Literal

from intent import Object
from intent.errors import Subject, printable
from sync.runtime.clock import now

EventType = Literal["Normal", "Warning"]
LONGEST: Final = 1024
"""Maximum length of `message` in the API."""


def rendered(  # noqa: PLR0913, PLR0917 - the fields of an Event
    subject: Subject, name: str, kind: EventType, reason: str, message: str, count: int = 1
) -> Object:
    """Render an Event about a subject."""
    at = now()
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": subject.namespace},
        "involvedObject": {
            "apiVersion": subject.api_version,
            "kind": subject.kind,
            "namespace": subject.namespace,
            "name": subject.name,
            "uid": subject.uid,
        },
        "type": kind,
        "reason": reason,
        "message": printable(message)[:LONGEST],
        "source": {"component": "fusioninfer-sync"},
        "firstTimestamp": at,
        "lastTimestamp": at,
        "count": count,
    }
