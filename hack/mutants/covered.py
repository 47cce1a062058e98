"""Record which test runs which line, in a copy of the tree, and choose the tests of a mutant.

A process that a test starts counts for all tests of its file. For a line that runs at import stand the tests
whose file imports its module, and those that run the functions of that module and of its importers.
"""

import ast
import hashlib
import json
import os
import shlex
import shutil
import sqlite3
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import coverage
import pytest
from coverage.numbits import numbits_to_nums

from hack import rooms
from hack.mutants.edits import Edit

ROOMS: Final = tuple(
    package
    for name, room in rooms.ROOMS.items()
    if name not in {"tests", "hack"}
    for package in room.packages
)
CACHE: Final = Path.home() / ".cache/fusioninfer/mutants"
PYTEST: Final = ("-n0", "-q", "-pno:cacheprovider")
FEWER: Final = {"TIER": "test", "HYPOTHESIS_EXAMPLES": "15", "CONVERGENCE_SEQUENCES": "20"}
"""The tests with real components are left out, and laws tried less often (tests/tiers.py)."""
FIRST, MOST, SECONDS = 40, 400, 60.0
"""How many tests run first, a few of each file; how many in all, and for how long."""
UNSET: Final = frozenset({"PYTHONDONTWRITEBYTECODE", "PYTEST_CURRENT_TEST"})
SETTINGS: Final = """\
[run]
source =
    {rooms}
data_file = {folder}/coverage
context = ${{PYTEST_CURRENT_TEST-}}
parallel = true
sigterm = true
patch = fork, _exit
disable_warnings = no-data-collected, module-not-imported, module-not-measured, already-imported
"""
QUERY: Final = """
SELECT context, numbits FROM line_bits
JOIN file ON file.id = file_id JOIN context ON context.id = context_id WHERE path = ?
"""


def files() -> list[str]:
    """Return the files of this tree."""
    words = ("git", "ls-files", "-co", "--exclude-standard", "-z")
    listed = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    return [name for name in listed.split("\0") if name and Path(name).is_file()]


def copied(tests: str) -> Path:
    """Return the folder of a copy of this tree and of what is known of the tests that are asked for."""
    names = sorted(files())
    found = hashlib.sha256(tests.encode())
    for name in names:
        if not name.startswith(("hack/", "tests/hack/")):
            found.update(name.encode() + hashlib.sha256(Path(name).read_bytes()).digest())
    folder = CACHE / found.hexdigest()[:12]
    for name in names:
        (folder / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(name, folder / "tree" / name, follow_symlinks=False)
    return folder


def record(folder: Path, tests: str) -> None:
    """Run all tests once, and keep which test runs which line."""
    tree, settings, start = folder / "tree", folder / "settings", folder / "start"
    rooms = "\n    ".join(str(tree / room) for room in ROOMS)
    settings.write_text(SETTINGS.format(folder=folder, rooms=rooms))
    start.mkdir(exist_ok=True)
    (start / "sitecustomize.py").write_text("import coverage; coverage.process_startup()\n")
    environment = {name: value for name, value in os.environ.items() if name not in UNSET}
    environment |= {**FEWER, "PYTHONPATH": f"{tree}:{start}", "COVERAGE_PROCESS_START": str(settings)}
    run = (sys.executable, "-m", "pytest", "-phack.mutants.covered", *PYTEST, *shlex.split(tests))
    subprocess.run(run, cwd=tree, env=environment, check=False)
    combine = (sys.executable, "-m", "coverage", "combine", "-q", f"--rcfile={settings}")
    subprocess.run(combine, cwd=tree, check=True)


class Recorder:
    """Record which lines each test runs, and how long those tests take that pass."""

    def __init__(self) -> None:
        """Begin with no test."""
        self.reports: dict[str, list[pytest.TestReport]] = defaultdict(list)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Give what runs now to a test."""
        tracer: Any = coverage.Coverage.current()
        tracer.switch_context(item.nodeid)
        try:
            return (yield)
        finally:
            tracer.switch_context("")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what a test reports."""
        self.reports[report.nodeid].append(report)

    def pytest_sessionfinish(self) -> None:
        """Keep the tests that passed."""
        passed = {
            test: sum(report.duration for report in reports)
            for test, reports in self.reports.items()
            if all(report.passed for report in reports)
        }
        if passed:
            Path("../tests.json").write_text(json.dumps(passed))


def pytest_configure(config: pytest.Config) -> None:
    """Record, as a plugin of pytest."""
    config.pluginmanager.register(Recorder())


class Covered:
    """What was recorded of the tests of a tree."""

    def __init__(self, folder: Path) -> None:
        """Read it."""
        self.tree = folder / "tree"
        self.data = sqlite3.connect(folder / "coverage")
        self.seconds: dict[str, float] = json.loads((folder / "tests.json").read_text())
        self.of_file: dict[str, set[str]] = defaultdict(set)
        for test in self.seconds:
            self.of_file[file_of(test)].add(test)
        modules = [path for room in (*ROOMS, "tests") for path in (self.tree / room).rglob("*.py")]
        self.imports = {str(path.relative_to(self.tree)): set(imports(path)) for path in modules}

    def runs(self, path: str) -> list[tuple[str, set[int]]]:
        """Return the contexts that run lines of a file, and these lines."""
        rows = self.data.execute(QUERY, [str(self.tree / path)])
        return [(context, set(numbits_to_nums(bits))) for context, bits in rows]

    def tests(self, contexts: Iterable[str]) -> set[str]:
        """Return the tests of contexts."""
        found: set[str] = set()
        for context in contexts:
            found |= self.of_file[file_of(context)] if context.endswith(")") else {context}
        return found & self.seconds.keys()

    def of(self, path: str, edit: Edit) -> tuple[list[set[str]], bool]:
        """Return the tests of an edit, the nearest first, and whether it runs in tests alone."""
        runs = self.runs(path)
        ran = set[int]().union(*(lines for _, lines in runs)) & {*range(edit.statement, edit.line + 1)}
        here = [context for context, lines in runs if ran and max(ran) in lines]
        module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        importers = [name for name, imported in self.imports.items() if module in imported]
        near = set[str]().union(*(self.of_file[name] for name in importers))
        exact = self.tests(here)
        if not here or (edit.late and "" not in here):
            return [exact & near, exact], True
        through = (context for name in importers if name in self.imports for context, _ in self.runs(name))
        return [
            exact & near,
            exact,
            near,
            self.tests(context for context, _ in runs),
            self.tests(through),
        ], False

    def chosen(self, tiers: list[set[str]], most: int) -> list[str]:
        """Return the tests to run, of a number of files: fast before slow, a few of each file in turn."""
        rank = {test: tier for tier, tests in reversed([*enumerate(tiers)]) for test in tests}
        turn: Counter[str] = Counter()
        places: dict[str, tuple[Any, ...]] = {}
        for test in sorted(rank, key=lambda test: (rank[test], self.seconds[test], test)):
            seconds, file = self.seconds[test], file_of(test)
            places[test] = (seconds > 1, turn[file] // 4, rank[test], seconds, test)
            turn[file] += 1
        ordered = sorted(rank, key=lambda test: places[test])
        those = [*dict.fromkeys(map(file_of, ordered))][:most]
        found, left = list[str](), SECONDS
        for test in ordered:
            if file_of(test) in those and len(found) < MOST and (left > 0 or not found):
                left -= self.seconds[test]
                found.append(test)
        return [*found[:FIRST], *sorted(found[FIRST:], key=lambda test: those.index(file_of(test)))]


def file_of(test: str) -> str:
    """Return the file of a test."""
    return test.partition("::")[0]


def imports(path: Path) -> Iterator[str]:
    """Yield the modules that a module imports, and what may be one."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        match node:
            case ast.Import():
                yield from (name.name for name in node.names)
            case ast.ImportFrom(module=str(module)):
                yield from (module, *(f"{module}.{name.name}" for name in node.names))
