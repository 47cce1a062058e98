"""The long forms of the tests, one part after the other, each with its summary.

python -m tests.soak [PART ...]     all parts (`PARTS`), or some
They run with the counts of their tier (tests/tiers.py: COUNTS). SOAK_SEEDS (1,2,3) are those of safety and
chaos, the first of them that of the other laws.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from tests.tiers import count

SEEDS: Final = tuple(os.environ.get("SOAK_SEEDS", "1,2,3").split(","))
PYTEST: Final = ("-m", "pytest", "-q", "-s")
SUMMARY: Final = "summary: "
"""The prefix of lines that are repeated at the end."""


@dataclass(frozen=True, slots=True)
class Run:
    """One process of a part: its arguments for Python, and its environment."""

    title: str
    arguments: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)


def _safety() -> Iterator[Run]:
    for seed in SEEDS:
        yield Run(
            f"safety, seed {seed}", (*PYTEST, "tests/cluster/alone/test_safety.py"), {"SAFETY_SEED": seed}
        )


def _scenarios() -> Iterator[Run]:
    yield Run("scenarios", (*PYTEST, "tests/cluster/scenarios_check.py"))


def _mutations() -> Iterator[Run]:
    yield Run("mutations", (*PYTEST, "tests/cluster/mutations_check.py"))


def _chaos() -> Iterator[Run]:
    for seed in SEEDS:
        yield Run(f"chaos, seed {seed}", (*PYTEST, "tests/cluster/test_chaos.py"), {"CHAOS_SEED": seed})


def _fuzz() -> Iterator[Run]:
    yield Run("fuzz", ("-m", "tests.hostile.fuzz", str(count("FUZZ_SECONDS"))))


def _convergence() -> Iterator[Run]:
    module, sequences = "tests.laws.convergence", str(count("CONVERGENCE_SEQUENCES"))
    words = ("-m", module, "--sequences", sequences, "--seed", SEEDS[0])
    yield Run(f"{module}, seed {SEEDS[0]}", words)
    yield Run(f"{module} with templates, seed {SEEDS[0]}", (*words, "--templates"))
    files = (f"tests/cluster/test_convergence{form}.py" for form in ("", "_templates"))
    yield Run(
        f"convergence on the real API server, seed {SEEDS[0]}",
        (*PYTEST, *files),
        {"CONVERGENCE_SEED": SEEDS[0]},
    )


def _plan() -> Iterator[Run]:
    yield Run(f"plans, seed {SEEDS[0]}", (*PYTEST, "tests/cluster/test_planning.py"), {"PLAN_SEED": SEEDS[0]})


def _one(title: str, *words: str) -> Callable[[], Iterator[Run]]:
    """Return a part of one run of pytest."""
    return lambda: iter([Run(title, (*PYTEST, *words))])


PARTS: Final = {
    "safety": _safety,
    "scenarios": _scenarios,
    "mutations": _mutations,
    "chaos": _chaos,
    "fuzz": _fuzz,
    "convergence": _convergence,
    "laws": _one("laws", "-m", "hypothesis", "tests"),
    "matrices": _one(
        "whole matrices",
        *("-m", "not hypothesis", "--ignore=tests/hostile/alone"),
        *(f"tests/{folder}" for folder in ("hostile", "importer", "laws", "webhook")),
    ),
    "idle": _one("idle", "tests/cluster/idle_check.py"),
    "memory": _one("memory", "tests/sync/memory_check.py"),
    "tenants": _one("tenants", "tests/hostile/alone/test_floods.py", "tests/cluster/tenants_check.py"),
    "pickers": _one(
        "endpoint pickers",
        *(f"tests/cluster/test_routes_{name}.py" for name in ("pickers", "configurations", "generations")),
    ),
    "upgrades": _one("upgrades", "tests/cluster/test_upgrade_stored.py"),
    "certificates": _one("certificates that expire", "tests/cluster/test_certificates_self_signed.py"),
    "lease": _one("two controllers", "tests/cluster/test_controller_lease_faults.py"),
    "ray": _one("ray", "tests/ray"),
    "storage": _one("storage", "tests/storage/initializer_check.py"),
    "catalogue": _one(
        "the catalogue", "tests/catalog/wheels_check.py", "tests/engine_parser/judged_check.py"
    ),
    "engines": _one(
        "real engines",
        *(f"tests/{name}_check.py" for name in ("engines/engines", "engines/faults", "cluster/transfer")),
    ),
    "vllm": _one("vLLM's parser", "tests/engine_parser/vllm_check.py"),
    "sglang": _one("SGLang's parser", "tests/engine_parser/sglang_check.py"),
    "tables": _one("tables", "tests/cluster/test_tables.py"),
    "templates": _one("templates", "tests/cluster/test_templates.py"),
    "oracles": _one(
        "schemas, templates and merges of others",
        *(f"tests/cluster/test_{name}.py" for name in ("bounds", "file_schemas", "gotemplate", "merge")),
    ),
    "plan": _plan,
    "kserve": _one("KServe", "tests/cluster/test_kserve.py"),
    "bench": _one("bench", "tests/cluster/bench_check.py"),
}


def main(names: list[str]) -> int:
    """Run parts, and print their summaries at the end; return 1 if one failed, 2 if one is unknown."""
    if unknown := set(names) - PARTS.keys():
        sys.stderr.write(f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}\n")
        return 2
    chosen = names or list(PARTS)
    told = [_run(one) for name in chosen for one in PARTS[name]()]
    sys.stdout.write("\n" + "".join(line for _, lines in told for line in lines))
    return int(any(status for status, _ in told))


def _run(one: Run) -> tuple[int, list[str]]:
    """Run a process; return its exit status and the lines for the end."""
    began, kept = time.monotonic(), []
    command, environment = [sys.executable, "-u", *one.arguments], {**os.environ, **one.environment}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            sys.stdout.write(line)
            sys.stdout.flush()
            if line.startswith(SUMMARY):
                kept.append("  " + line.removeprefix(SUMMARY))
    said = "passed" if process.returncode == 0 else f"FAILED ({process.returncode})"
    return process.returncode, [f"{one.title}: {said} after {time.monotonic() - began:.0f} s\n", *kept]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
