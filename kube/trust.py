"""The TLS context for the API server, built again when the file with its CA changes.

A cluster may replace its CA while a process runs; the kubelet then replaces the file in the pod.
"""

import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import structlog

log: Final = structlog.stdlib.get_logger(__name__)
INTERVAL: Final = 60.0
"""Seconds between two reads of the file."""


@dataclass(slots=True)
class Trust:
    """Which API servers are trusted."""

    build: Callable[[], ssl.SSLContext | bool]
    """Builds the context from the file as it is now; True for connections without TLS."""
    file: Path | None = None
    """The file with the CA; None: the CAs of the system."""
    context: ssl.SSLContext | bool = field(init=False)
    content: bytes = field(init=False)
    read_at: float = field(init=False)

    def __post_init__(self) -> None:
        """Build the first context."""
        self.content, self.context, self.read_at = self._content(), self.build(), time.monotonic()

    def current(self) -> ssl.SSLContext | bool:
        """Return the context for the next connection; connections with another one are not used again."""
        if time.monotonic() >= self.read_at + INTERVAL:
            self.read_at = time.monotonic()
            try:
                self._renew()
            except OSError as error:  # ssl.SSLError is one: the file is incomplete
                log.warning("CA of the API server not read again", error=type(error).__name__)
        return self.context

    def _renew(self) -> None:
        content = self._content()
        if content != self.content:
            self.context, self.content = self.build(), content
            log.info("CA of the API server read again")

    def _content(self) -> bytes:
        return self.file.read_bytes() if self.file else b""
