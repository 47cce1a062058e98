"""Run a server as a process: logs as JSON lines on standard error, on uvloop if it can be imported."""

import asyncio
import logging
import re
import sys
from collections.abc import Callable, Coroutine
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final, TypeVar, cast

import orjson
import structlog
from structlog.stdlib import ExtraAdder, ProcessorFormatter
from structlog.typing import EventDict

from webhook.server.traces import origin

T = TypeVar("T")
log: Final = structlog.stdlib.get_logger(__name__)


def run(server: Coroutine[Any, Any, T], level: str = "INFO") -> T:
    """Run a server to its end and return its result; log from a level on."""
    log_as_json(level)
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        return runner.run(server)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return uvloop's factory if it can be imported: it saves a fifth of the CPU of a request."""
    with suppress(ImportError):
        import uvloop  # noqa: PLC0415 - an extra, not a dependency

        return cast("Callable[[], asyncio.AbstractEventLoop]", uvloop.new_event_loop)
    return None


def log_as_json(level: str = "INFO") -> None:
    """Write log records, ours and those of libraries, to standard error, one JSON object a line."""
    handler = logging.StreamHandler()
    handler.setFormatter(JSON_LINES)
    logging.basicConfig(level=level, handlers=[handler], force=True)
    structlog.configure(
        processors=[structlog.stdlib.filter_by_level, ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
    )
    sys.unraisablehook = _log_unraisable


def _log_unraisable(found: Any) -> None:
    """Log an exception that has no caller, without its text.

    `ssl` raises one for a server name that is not ASCII, which any client may send: it is not logged.
    """
    if not isinstance(found.exc_value, UnicodeDecodeError):
        log.error("unraisable", **(origin(found.exc_value) if found.exc_value else {}))


def _as_line(_logger: Any, _method: str, event: EventDict) -> str:
    """Render a record: time, level, logger and event, then its fields.

    Of an exception only its type and its origin are written: its message may quote an object.
    """
    record: logging.LogRecord = event.pop("_record")
    del event["_from_structlog"]
    failed = event.pop("exc_info", None)
    line = {
        "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
        "level": record.levelname.lower(),
        "logger": record.name,
        "event": _said(record.name, event.pop("event")),
        **event,
    }
    error = failed[1] if isinstance(failed, tuple) else sys.exc_info()[1] if failed else None
    return orjson.dumps(line | (origin(error) if error else {}), default=str).decode()


def _said(logger: str, event: str) -> str:
    """Return what a record says; asyncio adds arguments and errors, which may quote an object."""
    return re.split(r"[(<\n]", event, maxsplit=1)[0] if logger == "asyncio" else event


JSON_LINES: Final = ProcessorFormatter(processors=[_as_line], foreign_pre_chain=[ExtraAdder()])
