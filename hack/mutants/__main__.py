"""Draw mutants of the product with a seed, and run each against the tests that cover its line.

    python -m hack.mutants draw 1 300 > seed1.jsonl          seed, number
    python -m hack.mutants run seed1.jsonl results.jsonl     goes on where it stopped
    python -m hack.mutants compare old.jsonl new.jsonl       fails if the old tests alone caught a mutant

A mutant is known by its file, the text of its line and what it changes there: a list runs on other tests too,
and on a product that has changed elsewhere. The first run on a tree runs all of its tests once (covered.py).
Fast tests may run first, by `--tests`: a later run with others runs what those have not caught.

Each mutant is written into a copy of the tree. If its line runs in tests alone, a fork of a process that has
collected all tests gives the new code to live functions; else a fork that has imported nothing of the tree
collects anew. A test that fails must pass without the mutant.

mutmut 3.8 leaves decorated functions alone (its sources say so), of which the product has many: this is a
mutator of our own.
"""

import argparse
import fcntl
import gc
import importlib
import json
import os
import random
import shlex
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, Final, NamedTuple, TextIO

import pytest

from hack.mutants.covered import FEWER, PYTEST, ROOMS, Covered, copied, file_of, files, record
from hack.mutants.edits import Edit, identified
from hack.mutants.forks import CAUGHT, SURVIVED, Outcome, Tests, forked, key_of, renewed

TESTS: Final = '-m "not slow" --ignore=tests/checks'
WARM: Final = ("aiohttp", "click", "cryptography.x509", "kubernetes", "msgspec", "orjson", "pydantic", "yaml")
"""Libraries that most tests import."""
ANEW: Final = (3, 12)
"""How many files are collected anew for a mutant; if it survives, how many then."""
UNCOVERED, GONE = "no test covers", "gone"


@dataclass(frozen=True)
class Mutant:
    """A mutant of a list."""

    seed: int
    id: str
    path: str
    line: int
    before: str
    after: str


def draw(seed: int, number: int) -> Iterator[Mutant]:
    """Yield mutants of different lines; each line that has one is as likely as another."""
    chance = random.Random(seed)  # noqa: S311 # the same ones again
    at: dict[tuple[str, int], dict[str, Edit]] = defaultdict(dict)
    for path in (name for name in files() if name.endswith(".py") and name.split("/")[0] in ROOMS):
        for key, edit in identified(path, Path(path).read_bytes()).items():
            at[path, edit.line][key] = edit
    for path, line in chance.sample(sorted(at), len(at)):
        old = Path(path).read_bytes()
        found = {key: edit for key, edit in at[path, line].items() if edit.is_mutant(old)}
        if found:
            number -= 1
            key = chance.choice(list(found))
            before, after = (each.split(b"\n")[line - 1] for each in (old, found[key].apply(old)))
            yield Mutant(seed, key, path, line, before.strip().decode(), after.strip().decode())
        if not number:
            return


def compare(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the mutants that only the old tests caught. What is gone from the product is not missed."""
    verdicts = {row["id"]: row["verdict"] for row in new}
    for row in old:
        now = verdicts.get(row["id"], "not run")
        if row["verdict"] in CAUGHT and now not in {*CAUGHT, GONE}:
            change = f"{row['path']}:{row['line']} {row['before']} -> {row['after']}"
            yield f"{change}: {now}, was caught by {row['by']}"


class Plan(NamedTuple):
    """A mutant in this tree."""

    mutant: Mutant
    path: Path
    old: bytes
    new: bytes
    tiers: list[set[str]]
    code: dict[tuple[str, int], CodeType] | None
    """The code that changes, if live functions can have it."""


class Runner:
    """Run mutants in the copy of a tree."""

    def __init__(self, folder: Path, among: str, results: Path, progress: TextIO) -> None:
        """Begin with no test that is known to pass alone."""
        self.covered, self.told = Covered(folder), folder / "told"
        self.among, self.results, self.progress = among, results, progress
        self.functions: dict[str, list[FunctionType]] = defaultdict(list)
        self.session: pytest.Session | None = None
        self.trusted: set[str] = set()

    def run(self, mutants: list[Mutant]) -> None:
        """Run mutants: in a fork those whose lines run in tests alone, then the others."""
        plans = [plan for mutant in mutants if (plan := self.plan(mutant))]
        self.live = [plan for plan in plans if plan.code is not None]
        if not (child := os.fork()):
            pytest.main([*PYTEST, *shlex.split(self.among)], plugins=[self])
            os._exit(0)
        os.waitpid(child, 0)
        for plan in plans:
            if plan.code is None:
                self.finish(plan, ANEW)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run mutants once all tests are collected."""
        self.session = session
        gc.unfreeze()
        for one in gc.get_objects():
            if isinstance(one, FunctionType):
                self.functions[one.__code__.co_filename].append(one)
        gc.freeze()
        for plan in self.live:
            self.finish(plan, (len(self.covered.seconds),))
        return True

    def plan(self, mutant: Mutant) -> Plan | None:
        """Find a mutant in this tree; keep that it is gone."""
        path = self.covered.tree / mutant.path
        old = path.read_bytes() if path.exists() else b""
        edit = identified(mutant.path, old).get(mutant.id)
        if not edit:
            self.keep(mutant, Outcome(GONE), 0)
            return None
        new = edit.apply(old)
        tiers, late = self.covered.of(mutant.path, edit)
        return Plan(mutant, path, old, new, tiers, renewed(old, new, str(path)) if late else None)

    def finish(self, plan: Plan, most: tuple[int, ...]) -> None:
        """Run the tests of a mutant, of more and more files, until one fails that passes without it."""
        found, wrong = Outcome(UNCOVERED), set[str]()
        for number in most:
            while tests := self.covered.chosen([tier - wrong for tier in plan.tiers], number):
                with changed(plan):
                    found = forked(lambda: self.act(tests, plan), self.told)  # it runs at once
                self.trusted.update(tests[: max(0, found.tests - 1)])
                if found.by not in tests or self.passes(found.by):
                    break
                wrong.add(found.by)
                found = Outcome(SURVIVED)
            if found.verdict in CAUGHT:
                break
        self.keep(plan.mutant, found, len(set[str]().union(*plan.tiers)))

    def passes(self, test: str) -> bool:
        """Return whether a test passes alone without a mutant."""
        if test not in self.trusted and forked(lambda: self.act([test]), self.told).verdict == SURVIVED:
            self.trusted.add(test)
        return test in self.trusted

    def act(self, tests: list[str], plan: Plan | None = None) -> None:
        """Run tests, in a fork."""
        told = Tests(tests, self.covered.seconds, self.told)
        if not self.session:
            code = pytest.main([*PYTEST, *dict.fromkeys(map(file_of, tests))], plugins=[told])
            sys.exit(code)
        if plan and plan.code:
            for function in self.functions[str(plan.path)]:
                function.__code__ = plan.code.get(key_of(function.__code__), function.__code__)
        self.session.config.pluginmanager.register(told)
        told.pytest_runtestloop(self.session)

    def keep(self, mutant: Mutant, found: Outcome, covering: int) -> None:
        """Write a result."""
        row = {**asdict(mutant), **found._asdict(), "covering": covering, "among": self.among}
        with self.results.open("a") as stream:
            stream.write(f"{json.dumps(row)}\n")
        tests = f"{found.tests} of {covering}"
        self.progress.write(f"{found.verdict:15}{tests:>13} {mutant.path}:{mutant.line} {found.by}\n")


@contextmanager
def changed(plan: Plan) -> Iterator[None]:
    """Have a mutant in its file, also for processes that tests start."""
    stat = plan.path.stat()
    plan.path.write_bytes(plan.new)
    try:
        yield
    finally:
        plan.path.write_bytes(plan.old)
        os.utime(plan.path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def work(folder: Path, tests: str, mutants: list[Mutant], results: Path) -> None:
    """Run the mutants that these tests have not run and no others caught; what tests print goes to a file."""
    rows = read(results) if results.exists() else []
    done = {row["id"] for row in rows if row["verdict"] in CAUGHT or row["among"] == tests}
    sys.dont_write_bytecode = True
    with os.fdopen(os.dup(2), "w", buffering=1) as progress, (folder / "log").open("w") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
        for name in WARM:
            importlib.import_module(name)
        Runner(folder, tests, results, progress).run([one for one in mutants if one.id not in done])


def run(tests: str, listed: Path, results: Path) -> None:
    """Record the tests of this tree if that was not done, and run mutants in a copy of it."""
    folder = copied(tests)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "tests.json").exists():
            record(folder, tests)
        words = (f"--tests={tests}", "work", str(listed.absolute()), str(results.absolute()))
        own = {"PYTHONPATH": str(folder / "tree"), "PYTHONDONTWRITEBYTECODE": "1"}
        command = (sys.executable, "-m", "hack.mutants", *words)
        subprocess.run(command, cwd=folder / "tree", env={**os.environ, **FEWER, **own}, check=True)


def read(path: Path) -> list[dict[str, Any]]:
    """Read lines of JSON, of each mutant the last one."""
    rows = map(json.loads, path.read_text().splitlines())
    return [*{row["id"]: row for row in rows}.values()]


def main() -> int:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tests", default=TESTS, help="arguments of pytest that choose tests: %(default)s")
    parser.add_argument("verb", choices=("draw", "run", "compare", "work"))
    parser.add_argument("words", nargs=2)
    asked = parser.parse_args()
    first, second = asked.words
    match asked.verb:
        case "draw":
            drawn = draw(int(first), int(second))
            sys.stdout.writelines(f"{json.dumps(asdict(mutant))}\n" for mutant in drawn)
        case "run":
            run(asked.tests, Path(first), Path(second))
        case "work":
            work(Path.cwd().parent, asked.tests, [Mutant(**row) for row in read(Path(first))], Path(second))
        case "compare":
            missed = [*compare(read(Path(first)), read(Path(second)))]
            sys.stdout.writelines(f"{line}\n" for line in missed)
            return bool(missed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
