"""Tables of the status, of the controller's Events, of `fusioninfer check` and of `fusioninfer why`."""

from collections.abc import Mapping

from fusioninfer.cluster.check import components, installed
from hack.markdown import table
from sync.status import status as reported
from sync.status.components import PHASES
from sync.status.reasons import CAUSES, CONDITIONS, EVENTS, REASONS
from tests.sync.status.samples import NOW, routes, seen, waiting


def status() -> Mapping[str, str]:
    """Return the tables of the status, and an example."""
    reasons = [
        {
            "condition": f"`{row.condition}`",
            "status": row.status,
            "reason": f"`{row.reason}`",
            "meaning": row.meaning,
            "what to do": row.remedy or "nothing",
        }
        for name in CONDITIONS
        for row in REASONS
        if row.condition == name
    ]
    return {
        "conditions": table(
            [{"condition": f"`{name}`", "`True` means": meaning} for name, meaning in CONDITIONS.items()]
        ),
        "reasons": table(reasons),
        "phases": table([{"phase": f"`{word}`", "when": meaning} for word, meaning, _ in PHASES]),
        "events": table(
            [
                {"reason": f"`{row.reason}`", "type": row.event, "what happened": row.meaning}
                for row in EVENTS.values()
            ]
        ),
        "example": _example(),
    }


def _example() -> str:
    """Return what kubectl shows of a service for which there is no room."""
    observed = seen(waiting("prefill", 0, 2), waiting("decode", 0, 4), routes=routes())
    made = reported(observed, {}, NOW)["conditions"]
    lines = (f"{one['type']}={one['status']} {one['reason']}: {one['message']}\n" for one in made)
    return f"```\n{''.join(lines)}```\n"


def troubleshooting() -> Mapping[str, str]:
    """Return the table of checks, and one of the causes of each layer."""
    checks = [
        {
            "check": f"`{row.name}`",
            "`--pre`": "yes" if about in components.NEEDED else "no",
            "what holds": row.claim,
            "what to do": row.remedy,
        }
        for about, rows in installed.CHECKS.items()
        for row in rows
    ]
    causes = {
        layer: [
            {"reason": f"`{row.reason}`", "meaning": row.meaning, "what to do": row.remedy}
            for row in CAUSES.values()
            if row.layer == layer and not row.condition
        ]
        for layer in dict.fromkeys(row.layer for row in CAUSES.values() if not row.condition)
    }
    return {name: table(rows) for name, rows in {**causes, "checks": checks}.items()}
