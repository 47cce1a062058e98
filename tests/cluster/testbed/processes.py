"""Processes with bounded logs, ended by their id."""

import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

LOG_LIMIT: Final = 4 * 1024 * 1024
"""Bytes of one log; a full one is kept as `.1` beside the next, the one before it is gone."""


@dataclass(frozen=True, slots=True)
class Process:
    """A process that was started, and where it logs."""

    name: str
    popen: subprocess.Popen[bytes]
    log: Path
    logger: threading.Thread
    command: Sequence[str]
    env: Mapping[str, str] | None = None

    @property
    def pid(self) -> int:
        """Its process id."""
        return self.popen.pid


def spawn(name: str, command: Sequence[str], log: Path, env: Mapping[str, str] | None = None) -> Process:
    """Start a process that logs to a file, in its own session: an interrupt at the terminal is not for it."""
    popen = subprocess.Popen(
        [*dies_with_us(), *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=env,
        start_new_session=True,
    )
    logger = threading.Thread(target=_write_log, args=(popen.stdout, log), name=f"log of {name}", daemon=True)
    logger.start()
    return Process(name, popen, log, logger, command, env)


def alive(process: Process) -> bool:
    """Return whether it still runs."""
    return process.popen.poll() is None


def kill(process: Process) -> None:
    """End it with SIGKILL."""
    _end(process, signal.SIGKILL, grace=30.0)


def stop(process: Process, grace: float = 10.0) -> int:
    """Ask it to end, wait, end it with SIGKILL if it does not; return its exit status."""
    _end(process, signal.SIGTERM, grace)
    return process.popen.returncode


def tail(process: Process, size: int = 4000) -> str:
    """Return the last characters of its log."""
    return process.log.read_text(errors="replace")[-size:] if process.log.exists() else ""


def dies_with_us() -> tuple[str, ...]:
    """Have the kernel end a process with the thread that started it (util-linux, Linux only)."""
    return ("setpriv", "--pdeathsig", "KILL", "--") if shutil.which("setpriv") else ()


def _end(process: Process, how: signal.Signals, grace: float) -> None:
    if alive(process):
        process.popen.send_signal(how)
    try:
        process.popen.wait(grace)
    except subprocess.TimeoutExpired:
        process.popen.kill()
        process.popen.wait()
    process.logger.join()


def _write_log(stream: IO[bytes], path: Path) -> None:
    """Copy what a process says; where the log is full, set it aside and start the next."""
    with stream:
        while chunk := os.read(stream.fileno(), 65536):
            if path.exists() and path.stat().st_size + len(chunk) > LOG_LIMIT:
                path.replace(path.with_name(path.name + ".1"))
            with path.open("ab") as log:
                log.write(chunk)
