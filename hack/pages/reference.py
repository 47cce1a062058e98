"""Tables of annotations, launchers, strategies, endpoint pickers and limits; a mistake as it is reported."""

import inspect
import re
from collections.abc import Iterable, Mapping
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from click.testing import CliRunner

from catalog.engines import ENGINES, PRODUCTS
from catalog.pickers.generations import PICKERS
from fusioninfer.cli import main
from fusioninfer.engines import tables
from hack.manifests.objects import DOCS
from hack.markdown import table
from intent import budget
from intent.annotations import KEYS
from sync.parts.strategies import MEANING, WEIGHTS, presets
from tests.engines.matrix import CELLS, Cell
from webhook.launchers import LAUNCHERS
from webhook.server import listen

MAIN: Final = (
    *("service", "component-type", "launcher", "model", "parallelism"),
    *("lora", "strategy", "gateway", "priority"),
)
"""The annotations that the README shows; their page has all."""
FIELD: Final = re.compile(r'^    (\w+): .* = .*\n    """(.*)"""$', re.MULTILINE)
EXAMPLE: Final = DOCS / "examples" / "vllm-two-nodes.yaml"


def annotations(shown: Iterable[str] = KEYS) -> Mapping[str, str]:
    """Return the table of annotations."""
    rows = [{"key": f"`{key}`", "value": KEYS[key].value, "default": KEYS[key].default} for key in shown]
    return {"annotations": table(rows)}


def readme() -> Mapping[str, str]:
    """Return the main annotations, and what the command prints of an example with a mistake."""
    wrong = EXAMPLE.read_text(encoding="utf-8").replace('- "8"', '- "16"', 1)
    with TemporaryDirectory() as folder, chdir(folder):
        Path("qwen.yaml").write_text(wrong, encoding="utf-8")
        done = CliRunner().invoke(main, ["validate", "-f", "qwen.yaml"])
    shown = f"```console\n$ fusioninfer validate -f qwen.yaml\n{done.output}```\n"
    return {**annotations(MAIN), "mistake": shown}


def launchers() -> Mapping[str, str]:
    """Return the table of launchers."""
    rows = [
        {
            "launcher": f"`{name}`",
            "engine": ", ".join((*row.engines, *(f"{engine} (if asked)" for engine in row.on_request))),
            "what runs": row.summary,
            "needs": row.needs,
            "port": str(row.port),
        }
        for name, row in LAUNCHERS.items()
    ]
    return {"launchers": table(rows)}


def engines() -> Mapping[str, str]:
    """Return the tables of known engines, and that of the launches that real engines are tested with."""
    known = {name: table(rows) for name, rows in tables(ENGINES).items()}
    return {**known, "launches": table([_launch(cell) for cell in CELLS])}


def _launch(cell: Cell) -> dict[str, str]:
    result = {
        "runs": "runs, on the platform of the tests" if cell.lifted else "runs",
        "refused": f"the engine ends, as {cell.code} says",
        "not on a CPU": f"not on a CPU: `{cell.said}`",
    }[cell.outcome]
    engine = f"{PRODUCTS[cell.release.engine].title} {cell.release.version}"
    return {
        "launcher": f"`{cell.launcher}`",
        "parallelism": cell.shape.name,
        "engine": engine,
        "result": result,
    }


def routing() -> Mapping[str, str]:
    """Return the tables of strategies and endpoint pickers."""
    strategies = [
        {
            "strategy": f"`{name}`",
            "a request goes to": MEANING[name],
            "weights": ", ".join(f"{scorer.removesuffix('-scorer')} {weight}" for scorer, weight in weights),
            "pickers": _able(name),
        }
        for name, weights in WEIGHTS.items()
    ]
    pickers = [
        {
            "picker": f"`{row.name}`",
            "image": f"`{row.image.rpartition('/')[2]}`",
            "prefill and decode": "yes" if row.disaggregation else "no",
            "reads": ", ".join(dict.fromkeys(resource for _, resource in row.rights)),
            "exits without": ", ".join(row.needs) or "-",
        }
        for row in PICKERS.values()
    ]
    return {"strategies": table(strategies), "pickers": table(pickers)}


def _able(strategy: str) -> str:
    able = [row.name for row in PICKERS.values() if strategy in presets(row)]
    return "all" if len(able) == len(PICKERS) else ", ".join(able)


def webhook() -> Mapping[str, str]:
    """Return the tables of the limits of a request, and of an object."""
    spent = [
        {"of one object": one.name, "at most": f"{one.most:,}", "counted, and why so many": one.reason}
        for one in budget.LIMITS
    ]
    return {"limits": table(_limits()), "budget": table(spent)}


def _limits() -> list[dict[str, str]]:
    """Return each field of `Limits` with its default and its docstring."""
    return [
        {
            "limit": f"`{name}`",
            "value": str(getattr(listen.Limits(), name)).removesuffix(".0"),
            "what it bounds": said,
        }
        for name, said in FIELD.findall(inspect.getsource(listen.Limits))
    ]
