"""docs/migrate.md: each command prints what the page shows, without a loss of the example; it is valid."""

import json
import shlex
from contextlib import chdir
from itertools import pairwise
from pathlib import Path
from typing import Final

import pytest
import yaml
from click.testing import CliRunner

from fusioninfer.cli import main
from fusioninfer.lint.documents import write_yaml
from tests.builders.imported import errors
from tests.importer.kserve.bases import PRESETS
from tests.manifests.pages import commands, files

PAGE: Final = Path(__file__).parents[2] / "docs" / "migrate.md"
CHAPTERS: Final = ("KServe: LLMInferenceService", "LeaderWorkerSet and DisaggregatedSet")


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_command_prints_what_the_page_shows(chapter: str, tmp_path: Path) -> None:
    before, after = files(PAGE, chapter)[:2]
    command = next(one for one in commands(PAGE)[chapter] if one.startswith("fusioninfer import "))
    arguments = shlex.split(command.partition(" > ")[0])[2:]
    given, *others = (name for flag, name in pairwise(arguments) if flag == "-f")
    (tmp_path / given).write_text(before)
    for name in others:
        (tmp_path / name).write_text(write_yaml(PRESETS))

    with chdir(tmp_path):
        result = CliRunner().invoke(main, ["import", *arguments, "-o", "json"])

    made = list(yaml.safe_load_all(result.stdout))
    report = json.loads(result.stderr)
    lost = [line["field"] for line in report["fields"] if line["lost"] and line["file"].startswith(given)]
    assert (made, lost, report["errors"]) == (list(yaml.safe_load_all(after)), [], [])
    assert errors(made) == []
