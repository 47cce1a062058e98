"""The page that has row by row what KServe and llm-d do, what FusionInfer does, and the tests that show it.

A row of `tests/docs/kserve_llm_d.yaml` has `ours` and `tests`, or `not ours` or `not yet` with the reason.
"""

from collections import Counter
from collections.abc import Mapping
from functools import cache
from typing import Final

import yaml
from pydantic import BaseModel, ConfigDict, Field, model_validator

from hack.manifests.objects import DOCS
from hack.markdown import table

DATA: Final = DOCS.parent / "tests" / "docs" / "kserve_llm_d.yaml"
START: Final = """\
# KServe and llm-d, row by row

<!-- made from tests/docs/kserve_llm_d.yaml by `make generate` -->

KServe's LLMInferenceService and llm-d's ModelService describe a model server in one object, and their
controllers create its pods. FusionInfer injects the same at admission: into a LeaderWorkerSet, or into those
of an InferenceService. Each row has one thing that those systems do, what FusionInfer does, and the tests
that show it. Tests are named as pytest names them, below `tests/`; `golden/NAME` is a folder with an input
and its expected output. K is the LLMInferenceService, R the Ray runtime of KServe's earlier
InferenceService, M the ModelService, C llm-d's Helm chart, S llm-d's routing sidecar, F an earlier operator
of the name FusionInfer.

"""
STRICT: Final = ConfigDict(extra="forbid", frozen=True)


class Row(BaseModel):
    """A row of the table."""

    model_config = STRICT
    row: str
    theirs: str
    ours: str = ""
    tests: tuple[str, ...] = ()
    not_ours: str = Field(default="", alias="not ours")
    not_yet: str = Field(default="", alias="not yet")

    @model_validator(mode="after")
    def has_one_outcome(self) -> "Row":
        """Refuse a row that is shown and decided against, or neither."""
        if [bool(self.ours and self.tests), bool(self.not_ours), bool(self.not_yet)].count(True) != 1:
            message = f"{self.row} needs ours and tests, or not ours, or not yet"
            raise ValueError(message)
        return self

    @property
    def outcome(self) -> str:
        """What FusionInfer does, or why it does not."""
        reasons = {"not ours": self.not_ours, "not yet": self.not_yet}
        return self.ours or next(f"{name}: {reason}" for name, reason in reasons.items() if reason)


class Area(BaseModel):
    """Rows about one subject."""

    model_config = STRICT
    area: str
    templates: bool = False
    """Whether the rows need templates."""
    checklist: bool = True
    """Whether the rows are counted."""
    rows: tuple[Row, ...]


@cache
def areas() -> tuple[Area, ...]:
    """Read the rows, area by area."""
    return tuple(Area.model_validate(one) for one in yaml.safe_load(DATA.read_text(encoding="utf-8")))


def counted() -> tuple[Row, ...]:
    """Return the rows of the checklist that need no templates."""
    return tuple(row for area in areas() if area.checklist and not area.templates for row in area.rows)


def texts() -> Mapping[str, str]:
    """Return the page."""
    return {"docs/kserve-llm-d.md": START + _counts() + "".join(map(_section, areas()))}


def _counts() -> str:
    """Write how many rows have which outcome."""
    rows = counted()
    done = Counter("shown" if row.tests else row.outcome.partition(":")[0] for row in rows)
    return (
        f"Of {len(rows)} rows that need no templates, {done['shown']} are shown by a test, "
        f"{done['not ours']} are not ours, for the reason that is given, and {done['not yet']} are missing. "
        "The rows about templates are at the end.\n"
    )


def _section(area: Area) -> str:
    """Write the table of an area."""
    rows = [
        {
            "row": row.row,
            "theirs": row.theirs,
            "FusionInfer": row.outcome,
            "shown by": "<br>".join(f"`{test}`" for test in row.tests) or "-",
        }
        for row in area.rows
    ]
    return f"\n## {area.area}\n\n{table(rows)}"
