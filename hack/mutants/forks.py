"""Run tests in a fork of this process, and give live functions other code."""

import os
import resource
import signal
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import CodeType
from typing import Final, NamedTuple

import pytest

CAUGHT: Final = ("caught", "timeout")
SURVIVED: Final = "survived"
MEMORY: Final = 8 << 30


class Outcome(NamedTuple):
    """How the tests of a mutant ended: after how many, and by which."""

    verdict: str
    by: str = ""
    tests: int = 0


class Tests:
    """Run tests one after another until one fails, and write which; a test has ten times its usual time."""

    def __init__(self, tests: list[str], seconds: dict[str, float], told: Path) -> None:
        """Begin without a failure."""
        self.tests, self.seconds, self.told = tests, seconds, told
        self.failed: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        """Keep a test that fails, or a file that cannot be imported."""
        self.failed += [report.nodeid] if report.failed else []

    pytest_collectreport = pytest_runtest_logreport

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run those tests that there are."""
        there = {item.nodeid: item for item in session.items}
        items = [there[test] for test in self.tests if test in there]
        with self.told.open("a", buffering=1) as told:
            for item, following in zip(items, [*items[1:], None], strict=False):
                if not self.failed:
                    signal.alarm(int(30 + 10 * self.seconds[item.nodeid]))
                    told.write(f"{item.nodeid}\n")
                    session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            signal.alarm(60)
            session._setupstate.teardown_exact(None)  # noqa: SLF001 # fixtures end processes
            told.write(f"{'failed' if self.failed else SURVIVED}\t{''.join(self.failed[:1])}\n")
        return True


def forked(act: Callable[[], None], told: Path) -> Outcome:
    """Run tests in a fork, and end it with all of its processes."""
    told.write_text("")
    if not (child := os.fork()):
        os.setsid()
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        signal.alarm(300)
        try:
            act()
        except BaseException:  # noqa: BLE001 # also what a mutant ends a process with
            traceback.print_exc()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    return outcome(told.read_text().splitlines(), status)


def outcome(told: list[str], status: int) -> Outcome:
    """Return what a fork has told. If it told no end, its last test ended it."""
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM:
        return Outcome("timeout", told[-1] if told else "import", len(told))
    end, tab, by = told[-1].partition("\t") if told else ("", "", "import")
    if not tab:
        return Outcome("caught", end or by, len(told))
    return Outcome(SURVIVED if end == SURVIVED else "caught", by, len(told) - 1)


def renewed(old: bytes, new: bytes, path: str) -> dict[tuple[str, int], CodeType] | None:
    """Return the new code of functions by name and line; nothing if that is ambiguous."""
    before, after = ([*codes(compile(source, path, "exec"))] for source in (old, new))
    keys = [key_of(code) for code in before]
    found = {key_of(now): now for was, now in zip(before, after, strict=False) if was != now}
    is_clear = keys == [key_of(code) for code in after] and all(Counter(keys)[key] == 1 for key in found)
    return found if is_clear else None


def codes(code: CodeType) -> Iterator[CodeType]:
    """Yield code, and the code in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)


def key_of(code: CodeType) -> tuple[str, int]:
    """Return what code is known by in its file."""
    return code.co_qualname, code.co_firstlineno
