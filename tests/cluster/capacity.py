"""The capacity tables of the core design ("Gang Scheduling Behavior")."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.tiers import WHOLE

Counted = Mapping[str, tuple[int, int]]
"""(pods bound to a node, pods there are) of each group."""

EXAMPLES: Final = Path(__file__).parents[2] / "docs" / "examples"
SCHEDULED: Final = "✅"


@dataclass(frozen=True, slots=True)
class Table:
    """One table: the files to apply, the pods of each group, and a row for each number of GPUs."""

    service: str
    files: tuple[Path, ...]
    groups: Mapping[str, int]
    rows: Mapping[int, tuple[str, str]]
    """The documents' mark of each group, and their words for the service."""

    @property
    def tried(self) -> tuple[int, ...]:
        """The rows that tests try: one, or with CAPACITY_ROWS=all (`make soak SOAK=tables`) every row.

        `make demo-cluster`, which is tested too, goes through all rows of the second table.
        """
        return tuple(self.rows) if WHOLE else (48,)

    @property
    def pods(self) -> int:
        """How many pods there are, bound or not."""
        return sum(self.groups.values())


MONOLITHIC: Final = Table(
    service="deepseek-r1-inference",
    files=(EXAMPLES / "monolithic.yaml",),
    groups={"deepseek-r1-inference-0": 4, "deepseek-r1-inference-1": 4},
    rows={64: ("✅ ✅", "100%"), 48: ("✅ ⏳", "50%"), 24: ("⏳ ⏳", "0%")},
)
DISAGGREGATED: Final = Table(
    service="deepseek-r1-disagg",
    files=(EXAMPLES / "prefill.yaml", EXAMPLES / "decode.yaml"),
    groups={
        "deepseek-r1-disagg-prefill-0": 2,
        "deepseek-r1-disagg-decode-0": 4,
        "deepseek-r1-disagg-decode-1": 4,
    },
    rows={
        80: ("✅ ✅ ✅", "Full capacity"),
        64: ("✅ ✅ ⏳", "Partial (1P + 1D)"),
        48: ("✅ ✅ ⏳", "Partial (1P + 1D)"),
        32: ("⏳ ⏳ ⏳", "Blocked (can't satisfy 1P + 1D together)"),
        16: ("⏳ ⏳ ⏳", "Blocked (only enough for prefill)"),
        0: ("⏳ ⏳ ⏳", "Service unavailable"),
    },
)


def expected(table: Table, gpus: int) -> Counted:
    """Return the meaning of a row: all pods of a scheduled group are bound, none of a pending one."""
    marks = table.rows[gpus][0].split()
    sizes = table.groups.items()
    return {
        group: (size if mark == SCHEDULED else 0, size)
        for (group, size), mark in zip(sizes, marks, strict=True)
    }


def short(table: Table, group: str) -> str:
    """Return a group's name without that of its service."""
    return group.removeprefix(f"{table.service}-")
