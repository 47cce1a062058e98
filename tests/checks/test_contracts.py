"""The contracts on imports in `pyproject.toml`: each refuses an import, and a new module needs no line."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
TOOL: Final = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]

# How the name of each contract begins, and imports that it refuses.
REFUSED: Final = {
    "The command and": "certs.new -> sync.kinds, intent.new -> webhook, server.new -> fusioninfer.lint",
    "No two modules": "plan.amounts -> plan.room",
    "Only sync, the": "importer.new -> kube.client",
    "The product needs": "kube.new -> tests, fusioninfer.new -> hack",
    "Pure code": "webhook.new -> time, webhook.overlay.new -> socket, sync.new -> structlog, "
    "sync.parts.new -> kube.client, importer.new -> aiohttp, catalog.codes.new -> os",
    "Rooms of the command": "fusioninfer.lint.new -> fusioninfer.cluster",
    "Rooms of admission": "webhook.launchers.new -> webhook.validate",
    "Mutating concerns": "webhook.mutate.new -> webhook.mutate.launch",
    "Only their table": "webhook.templates.new -> webhook.mutate.launch",
    "Rooms of the controller": "sync.observed.new -> sync.status",
    "The controller parses": "sync.status.new -> intent.launch",
    "Imports of other": "importer.kserve.new -> importer.lws",
}


def lint(folder: Path, imports: list[str]) -> dict[str, str]:
    """Give what is reported of each broken contract, with a module `new` in every room and these imports."""
    shutil.copy(ROOT / "pyproject.toml", folder)
    for package in TOOL["root_packages"]:
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    for room in list(folder.rglob("__init__.py")):
        (room.parent / "new.py").touch()
    for module, name in (line.split(" -> ") for line in imports):
        with (folder / f"{module.replace('.', '/')}.py").open("a") as file:
            file.write(f"import {name}\n")
    command, wide = (
        (Path(sys.executable).parent / "lint-imports", "--no-cache"),
        os.environ | {"COLUMNS": "200"},
    )
    done = subprocess.run(command, cwd=folder, env=wide, capture_output=True, text=True, check=False)
    assert f"Contracts: {'0' if imports else len(REFUSED)} kept, " in done.stdout, done.stdout
    reports = re.split(r"\n(.+)\n-{17,}\n", done.stdout.partition("\nBroken contracts\n")[2])
    return dict(zip(reports[1::2], reports[2::2], strict=True))


def test_each_contract_refuses_an_import(tmp_path: Path) -> None:
    reports = lint(tmp_path, ", ".join(REFUSED.values()).split(", "))

    for name, report in reports.items():
        refused = next(lines for start, lines in REFUSED.items() if name.startswith(start)).split(", ")
        assert [line for line in refused if line.replace("plan.", ".") not in report] == [], name


def test_a_new_module_in_any_room_needs_no_line(tmp_path: Path) -> None:
    assert lint(tmp_path, []) == {}
