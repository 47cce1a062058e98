"""Tables of annotations, launchers, strategies, endpoint pickers and limits; a mistake as it is reported."""

import ast
import inspect
from collections.abc import Iterable, Mapping
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from click.testing import CliRunner

from catalog.engines import ENGINES
from catalog.pickers.generations import PICKERS
from fusioninfer import engines
from fusioninfer.cli import main
from hack.manifests.objects import DOCS
from hack.markdown import table
from intent import budget
from intent.annotations import KEYS
from sync.desired.strategies import MEANING, WEIGHTS, presets
from webhook.launchers import LAUNCHERS
from webhook.server import listen

MAIN: Final = (
    *("service", "component-type", "launcher", "model", "parallelism"),
    *("lora", "strategy", "gateway", "priority"),
)
"""The annotations that the README shows; their page has all."""
EXAMPLE: Final = DOCS / "examples" / "vllm-two-nodes.yaml"


def readme() -> Mapping[str, str]:
    """Return the blocks of the README."""
    return {"annotations": _annotations(MAIN), "mistake": _mistake()}


def annotations() -> Mapping[str, str]:
    """Return the block of the page of annotations."""
    return {"annotations": _annotations(KEYS)}


def _annotations(shown: Iterable[str]) -> str:
    return table(
        [{"key": f"`{key}`", "value": KEYS[key].value, "default": KEYS[key].default} for key in shown]
    )


def _mistake() -> str:
    """Return what the command prints of the example with a tensor parallel size that does not fit."""
    wrong = EXAMPLE.read_text(encoding="utf-8").replace('- "8"', '- "16"', 1)
    with TemporaryDirectory() as folder, chdir(folder):
        Path("qwen.yaml").write_text(wrong, encoding="utf-8")
        done = CliRunner().invoke(main, ["validate", "-f", "qwen.yaml"])
    return f"```console\n$ fusioninfer validate -f qwen.yaml\n{done.output}```\n"


def launchers() -> Mapping[str, str]:
    """Return the tables of launchers and engines."""
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
    return {name: table(each) for name, each in {**engines.tables(ENGINES), "launchers": rows}.items()}


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
            "reads": ", ".join(resource for _, resource in row.rights),
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
    (tree,) = (
        node
        for node in ast.parse(inspect.getsource(listen)).body
        if isinstance(node, ast.ClassDef) and node.name == "Limits"
    )
    fields = [
        node.target.id
        for node in tree.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    ]
    said = [
        node.value.value
        for node in tree.body[1:]
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    ]
    return [
        {
            "limit": f"`{name}`",
            "value": str(getattr(listen.Limits(), name)).removesuffix(".0"),
            "what it bounds": str(text),
        }
        for name, text in zip(fields, said, strict=True)
    ]
