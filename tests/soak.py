"""The long forms of the tests, one part after the other, each with its summary.

python -m tests.soak [PART ...]     all parts (`PARTS`), or some
SOAK_ROUNDS (50) and SOAK_SEEDS (1,2,3) set the length of safety and chaos, FUZZ_SECONDS (1800) that of fuzz,
CONVERGENCE_SEQUENCES (5000, simulated) and CONVERGENCE_REAL (100, real API server) that of convergence, with
the first of the seeds, and PLAN_CASES (150) that of plan.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

ROUNDS: Final = os.environ.get("SOAK_ROUNDS", "50")
SEEDS: Final = tuple(os.environ.get("SOAK_SEEDS", "1,2,3").split(","))
FUZZ_SECONDS: Final = os.environ.get("FUZZ_SECONDS", "1800")
CONVERGENCE_SEQUENCES: Final = os.environ.get("CONVERGENCE_SEQUENCES", "5000")
CONVERGENCE_REAL: Final = os.environ.get("CONVERGENCE_REAL", "100")
PLAN_CASES: Final = os.environ.get("PLAN_CASES", "150")
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
        more = {"SAFETY_ROUNDS": ROUNDS, "SAFETY_SEED": seed}
        yield Run(f"safety, seed {seed}", (*PYTEST, "tests/cluster/test_safety.py"), more)


def _scenarios() -> Iterator[Run]:
    yield Run("scenarios", (*PYTEST, "tests/cluster/scenarios_check.py"))


def _mutations() -> Iterator[Run]:
    yield Run("mutations", (*PYTEST, "tests/cluster/mutations_check.py"))


def _chaos() -> Iterator[Run]:
    for seed in SEEDS:
        more = {"CHAOS_ROUNDS": ROUNDS, "CHAOS_SEED": seed}
        yield Run(f"chaos, seed {seed}", (*PYTEST, "tests/cluster/test_chaos.py"), more)


def _fuzz() -> Iterator[Run]:
    yield Run("fuzz", ("-m", "tests.hostile.fuzz", FUZZ_SECONDS))


def _convergence() -> Iterator[Run]:
    forms = {
        "tests.laws.convergence": CONVERGENCE_SEQUENCES,
        "tests.cluster.convergence": CONVERGENCE_REAL,
    }
    for module, sequences in forms.items():
        words = ("-m", module, "--sequences", sequences, "--seed", SEEDS[0])
        yield Run(f"{module}, seed {SEEDS[0]}", words)
        yield Run(f"{module} with templates, seed {SEEDS[0]}", (*words, "--templates"))


def _tenants() -> Iterator[Run]:
    yield Run("floods", (*PYTEST, "tests/hostile/test_floods.py"), {"TENANT_FLOODS": "all"})
    yield Run("tenants", (*PYTEST, "tests/cluster/tenants_check.py"))


def _plan() -> Iterator[Run]:
    words = ("-m", "tests.cluster.planning", "--cases", PLAN_CASES, "--seed", SEEDS[0])
    yield Run(f"plans, seed {SEEDS[0]}", words)
    yield Run("plans without gangs", (*words[:2], "--single", "--cases", "30", "--seed", SEEDS[0]))
    yield Run("pages of plans", (*PYTEST, "tests/plan/page_check.py"))


def _alone(title: str, *words: str, **environment: str) -> Callable[[], Iterator[Run]]:
    """Return a part of one run of pytest."""
    return lambda: iter([Run(title, (*PYTEST, *words), environment)])


PARTS: Final = {
    "safety": _safety,
    "scenarios": _scenarios,
    "mutations": _mutations,
    "chaos": _chaos,
    "fuzz": _fuzz,
    "convergence": _convergence,
    "laws": _alone("laws", "-m", "hypothesis", "--hypothesis-profile=soak", "tests"),
    "idle": _alone("idle", "tests/cluster/idle_check.py"),
    "memory": _alone("memory", "tests/sync/memory_check.py"),
    "tenants": _tenants,
    "silence": _alone("silence", "tests/cluster/silence_check.py"),
    "pickers": _alone(
        "endpoint pickers",
        *(f"tests/cluster/test_routes_{name}.py" for name in ("pickers", "configurations", "testbed")),
        ENDPOINT_PICKERS="gie-1.5,llm-d-0.7",
        PICKER_MATRIX="all",
    ),
    "gitops": _alone("gitops", "tests/cluster/test_gitops_sequences.py", GITOPS_SEQUENCES="64"),
    "lease": _alone("two controllers", "tests/cluster/test_controller_lease_faults.py", LEASE_FAULTS="all"),
    "ray": _alone("ray", "tests/ray", RAY_RUNS="all"),
    "storage": _alone("storage", "tests/storage/initializer_check.py"),
    "vllm": _alone("vLLM's parser", "tests/engine_parser/vllm_check.py"),
    "sglang": _alone("SGLang's parser", "tests/engine_parser/sglang_check.py"),
    "tables": _alone(
        "tables", "tests/cluster/test_tables.py", "tests/cluster/test_isvc_tables.py", CAPACITY_ROWS="all"
    ),
    "templates": _alone("templates", "tests/cluster/test_templates.py", TEMPLATE_APPLIES="100"),
    "plan": _plan,
    "kserve": _alone(
        "KServe and llm-d",
        *("tests/cluster/test_kserve.py", "tests/cluster/test_llmd_merge.py"),
        KSERVE_INPUTS="all",
        LLMD_MERGES="20000",
    ),
    "bench": _alone("bench", "tests/cluster/bench_check.py"),
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
