"""The command as a process: its standard streams, interrupts, and what it reads from a terminal."""

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO, Any, Final

import pytest

COMMAND: Final = (sys.executable, "-m", "fusioninfer")
SECONDS: Final = 300


def process(*words: str, **options: Any) -> "subprocess.Popen[str]":
    given = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    return subprocess.Popen([*COMMAND, *words], text=True, **given)


def shell(script: str) -> "subprocess.CompletedProcess[str]":
    """Run a script with bash; in it, `fusioninfer` is the command."""
    begin = f'set -o pipefail; fusioninfer() {{ {sys.executable} -m fusioninfer "$@"; }}; '
    command = ["bash", "-c", begin + script]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=SECONDS)


@pytest.mark.parametrize(
    ("script", "code", "says"),
    [
        ("fusioninfer codes | true", 2, ""),
        ("fusioninfer validate no-such-file >&- 2>&-", 2, ""),
        ("fusioninfer engines >&-", 0, ""),
        ("fusioninfer validate - <&-", 2, "error: "),
        ("fusioninfer codes > /dev/full", 2, "error: No space left on device\n"),
    ],
)
def test_a_stream_that_is_closed_or_full_has_an_exit_code(script: str, code: int, says: str) -> None:
    done = shell(script)

    assert (done.returncode, done.stderr.startswith(says)) == (code, True), done.stderr
    assert not any(word in done.stderr for word in ("Traceback", "Exception", "internal error"))


def test_the_output_is_utf_8_whatever_the_locale(tmp_path: Path) -> None:
    (tmp_path / "ä.yaml").write_text("kind: ä\n", encoding="utf-8")
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C", "PYTHONIOENCODING": "latin-1"}

    done = subprocess.run(
        [*COMMAND, "expand", "ä.yaml"],
        check=False,
        capture_output=True,
        cwd=tmp_path,
        env=environment | {"PYTHONPATH": str(Path(__file__).parents[3])},
    )

    assert (done.returncode, done.stdout.decode()) == (0, "kind: ä\n"), done.stderr


# --- interrupts --------------------------------------------------------------------------------------


def test_an_interrupt_is_exit_code_130() -> None:
    reading = process("validate", "-", stdin=subprocess.PIPE, preexec_fn=_interruptible)
    _wait_until_it_reads(reading)

    reading.send_signal(signal.SIGINT)

    out, err = reading.communicate(timeout=SECONDS)
    assert (reading.returncode, out, err) == (130, "", "\n")


def test_an_interrupt_while_it_is_imported_is_exit_code_130(tmp_path: Path) -> None:
    (tmp_path / "yaml.py").write_text("import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\n")
    paths = os.pathsep.join((str(tmp_path), str(Path(__file__).parents[3])))

    started = process("codes", env=os.environ | {"PYTHONPATH": paths}, preexec_fn=_interruptible)

    out, err = started.communicate(timeout=SECONDS)
    assert (started.returncode, out, err) == (130, "", "\n")


def _interruptible() -> None:
    """Restore the default of SIGINT, which the shell that started these tests may ignore."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _wait_until_it_reads(started: "subprocess.Popen[str]") -> None:
    """Wait until a process waits for its standard input, which has more than a pipe may keep."""
    stream: IO[str] | None = started.stdin
    assert stream is not None
    stream.write("#" * (1 << 20))
    stream.flush()


# --- terminals ---------------------------------------------------------------------------------------


@pytest.fixture
def terminal() -> Any:
    """Return both ends of a terminal, on which nothing is typed."""
    ends = pty.openpty()
    yield ends
    for end in ends:
        os.close(end)


def test_without_files_a_terminal_is_not_read(terminal: tuple[int, int]) -> None:
    started = process("validate", stdin=terminal[1])

    _, err = started.communicate(timeout=SECONDS)

    assert (started.returncode, "for example: fusioninfer validate service.yaml" in err) == (2, True)
