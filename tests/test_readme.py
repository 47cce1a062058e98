"""The README says what is true: the table of annotations, and the commands that it names."""

import ast
import inspect
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from click.testing import CliRunner

from catalog.engines import ENGINES
from catalog.pickers.generations import PICKERS
from fusioninfer import engines
from fusioninfer.cli import main
from fusioninfer.files import documents, offline
from intent import budget
from intent.annotations import KEYS
from intent.settings import Settings
from sync.desired.strategies import MEANING, WEIGHTS, presets
from webhook.launchers import LAUNCHERS
from webhook.server import listen

ROOT: Final = Path(__file__).parents[1]
README: Final = ROOT / "README.md"
TABLE: Final = re.compile(r"(<!-- annotations[^\n]*-->\n)(.*?)(<!-- end -->)", re.DOTALL)
EDGE_PAGE: Final = ROOT / "docs" / "webhook.md"
LAUNCHERS_PAGE: Final = ROOT / "docs" / "launchers.md"
ROUTING_PAGE: Final = ROOT / "docs" / "routing.md"
ANY_TABLE: Final = re.compile(r"(<!-- ([a-z]+): made from[^\n]*-->\n)(.*?)(<!-- end -->)", re.DOTALL)


MAIN: Final = (
    *(
        "service",
        "component-type",
        "launcher",
        "model",
        "parallelism",
        "lora",
        "strategy",
        "gateway",
        "priority",
    ),
)
"""The annotations that the README shows; the page has all."""
SHOWN: Final = {README: MAIN, ROOT / "docs" / "annotations.md": tuple(KEYS)}


def annotations(shown: Iterable[str]) -> str:
    """Write a table of annotations."""
    rows = (f"| `{key}` | {KEYS[key].value} | {KEYS[key].default} |\n" for key in shown)
    return "| key | value | default |\n|---|---|---|\n" + "".join(rows)


@pytest.mark.parametrize("page", SHOWN, ids=lambda page: page.name)
def test_the_table_of_annotations_is_that_of_the_code(page: Path, request: pytest.FixtureRequest) -> None:
    text = page.read_text(encoding="utf-8")
    written = TABLE.sub(lambda found: found[1] + annotations(SHOWN[page]) + found[3], text)
    if request.config.getoption("--refresh"):
        page.write_text(written, encoding="utf-8")

    assert page.read_text(encoding="utf-8") == written


def table(rows: list[dict[str, str]]) -> str:
    """Write rows as a table of Markdown."""
    lines = [list(rows[0]), ["---"] * len(rows[0]), *(list(row.values()) for row in rows)]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def launchers() -> list[dict[str, str]]:
    """Return the table of launchers."""
    return [
        {
            "launcher": f"`{name}`",
            "engine": ", ".join((*row.engines, *(f"{engine} (if asked)" for engine in row.on_request))),
            "what runs": row.summary,
            "needs": row.needs,
            "port": str(row.port),
        }
        for name, row in LAUNCHERS.items()
    ]


def test_the_tables_of_the_launchers_page_are_those_of_the_code(request: pytest.FixtureRequest) -> None:
    tables = engines.tables(ENGINES) | {"launchers": launchers()}
    text = LAUNCHERS_PAGE.read_text(encoding="utf-8")
    written = ANY_TABLE.sub(lambda found: found[1] + table(tables[found[2]]) + found[4], text)
    if request.config.getoption("--refresh"):
        LAUNCHERS_PAGE.write_text(written, encoding="utf-8")

    assert LAUNCHERS_PAGE.read_text(encoding="utf-8") == written


def strategies() -> list[dict[str, str]]:
    """Return the table of strategies."""
    return [
        {
            "strategy": f"`{name}`",
            "a request goes to": MEANING[name],
            "weights": ", ".join(f"{scorer.removesuffix('-scorer')} {weight}" for scorer, weight in weights),
            "pickers": _able(name),
        }
        for name, weights in WEIGHTS.items()
    ]


def _able(strategy: str) -> str:
    able = [row.name for row in PICKERS.values() if strategy in presets(row)]
    return "all" if len(able) == len(PICKERS) else ", ".join(able)


def pickers() -> list[dict[str, str]]:
    """Return the table of pickers."""
    return [
        {
            "picker": f"`{row.name}`",
            "image": f"`{row.image.rpartition('/')[2]}`",
            "prefill and decode": "yes" if row.disaggregation else "no",
            "reads": ", ".join(resource for _, resource in row.rights),
            "exits without": ", ".join(row.needs) or "-",
        }
        for row in PICKERS.values()
    ]


def test_the_tables_of_the_routing_page_are_those_of_the_code(request: pytest.FixtureRequest) -> None:
    tables = {"strategies": strategies(), "pickers": pickers()}
    text = ROUTING_PAGE.read_text(encoding="utf-8")
    written = ANY_TABLE.sub(lambda found: found[1] + table(tables[found[2]]) + found[4], text)
    if request.config.getoption("--refresh"):
        ROUTING_PAGE.write_text(written, encoding="utf-8")

    assert ROUTING_PAGE.read_text(encoding="utf-8") == written


def limits() -> list[dict[str, str]]:
    """Return the table of limits: each field of `Limits` with its default and its docstring."""
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


def spent() -> list[dict[str, str]]:
    """Return the table of the budget: a row a limit."""
    return [
        {"of one object": one.name, "at most": f"{one.most:,}", "counted, and why so many": one.reason}
        for one in budget.LIMITS
    ]


def test_the_limits_of_the_edge_page_are_those_of_the_code(request: pytest.FixtureRequest) -> None:
    text = EDGE_PAGE.read_text(encoding="utf-8")
    tables = {"limits": limits(), "budget": spent()}
    written = ANY_TABLE.sub(lambda found: found[1] + table(tables[found[2]]) + found[4], text)
    if request.config.getoption("--refresh"):
        EDGE_PAGE.write_text(written, encoding="utf-8")

    assert EDGE_PAGE.read_text(encoding="utf-8") == written


def blocks(chapter: str) -> list[Any]:
    """Return the objects in the YAML of a chapter of the README."""
    text = README.read_text(encoding="utf-8").partition(f"## {chapter}\n")[2].partition("\n## ")[0]
    return [
        one
        for block in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
        for one in yaml.safe_load_all(block)
    ]


def is_part(small: Any, whole: Any) -> bool:
    """Return whether a shortened object is contained: fields of a map, items of a list of maps in order."""
    if isinstance(small, dict) and isinstance(whole, dict):
        return all(key in whole and is_part(value, whole[key]) for key, value in small.items())
    if isinstance(small, list) and isinstance(whole, list) and any(isinstance(one, dict) for one in small):
        rest = iter(whole)
        return all(any(is_part(one, other) for other in rest) for one in small)
    return bool(small == whole)


EXAMPLE: Final = ROOT / "docs" / "examples" / "vllm-two-nodes.yaml"
MISTAKE: Final = re.compile(r"(<!-- mistake[^\n]*-->\n)(.*?)(<!-- end -->)", re.DOTALL)
LONGEST: Final = 200
"""Lines of a README that a newcomer reads to the end."""


def mistake(folder: Path) -> str:
    """Write what the command prints of the example with a tensor parallel size that does not fit."""
    wrong = EXAMPLE.read_text(encoding="utf-8").replace('- "8"', '- "16"', 1)
    (folder / "qwen.yaml").write_text(wrong, encoding="utf-8")
    done = CliRunner().invoke(main, ["validate", "-f", "qwen.yaml"])
    assert done.exit_code == 1
    return f"```console\n$ fusioninfer validate -f qwen.yaml\n{done.output}```\n"


def test_a_mistake_is_reported_as_shown(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = README.read_text(encoding="utf-8")
    written = MISTAKE.sub(lambda found: found[1] + mistake(tmp_path) + found[3], text)
    if request.config.getoption("--refresh"):
        README.write_text(written, encoding="utf-8")

    assert README.read_text(encoding="utf-8") == written


def test_the_readme_is_short() -> None:
    assert len(README.read_text(encoding="utf-8").splitlines()) <= LONGEST


def test_the_answer_of_the_service_is_that_of_the_quickstart() -> None:
    page = (ROOT / "docs" / "quickstart.md").read_text(encoding="utf-8")

    (answer,) = re.findall(r'^{"object".*', README.read_text(encoding="utf-8"), re.MULTILINE)

    assert answer in page


def test_before_and_after_are_what_the_command_prints() -> None:
    read = documents.read([str(EXAMPLE)])
    printed = [read[0].object, *offline.compose(read, Settings()).objects]

    shown = blocks("What you see")

    assert [is_part(*pair) for pair in zip(shown, printed, strict=True)] == [True] * 4


def test_the_lines_of_the_examples_are_counted() -> None:
    files = [ROOT / "docs" / "examples" / f"{name}.yaml" for name in ("prefill", "decode")]
    written = sum(not line.startswith("#") for file in files for line in file.read_text().splitlines())
    stored = offline.compose(documents.read([str(file) for file in files]), Settings()).objects

    counted = re.findall(r"is (\d+) lines that you write, and (\d+) that", README.read_text(encoding="utf-8"))

    assert counted == [(str(written), str(len(documents.write_yaml(stored).splitlines())))]


@pytest.mark.parametrize(
    "target", sorted(set(re.findall(r"make ([a-z-]+)", README.read_text(encoding="utf-8"))))
)
def test_every_target_that_the_readme_names_can_be_made(target: str) -> None:
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize(
    "verb", sorted(set(re.findall(r"`fusioninfer ([a-z]+)", README.read_text(encoding="utf-8"))))
)
def test_every_verb_that_the_readme_names_exists(verb: str) -> None:
    assert CliRunner().invoke(main, [verb, "--help"]).exit_code == 0


@pytest.mark.parametrize(
    "path", sorted(set(re.findall(r"`((?:docs|manifests)/[^`*]*)`", README.read_text(encoding="utf-8"))))
)
def test_every_file_that_the_readme_names_is_there(path: str) -> None:
    assert (ROOT / path).exists()
