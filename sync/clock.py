"""The time as Kubernetes writes it."""

from datetime import UTC, datetime


def now() -> str:
    """Give the time in RFC 3339, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
