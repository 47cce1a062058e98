"""Every file of docs/examples: it validates without a finding, and docs/examples.md describes it."""

import re
from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner

from fusioninfer.cli import main
from fusioninfer.lint import documents, offline
from intent import Object
from intent.annotations import SERVICE
from intent.settings import Settings
from tests.builders.examples import FILES, services

CLEAN: Final = re.compile(r"0 errors, 0 warnings\b")


def found(*files: Path) -> str:
    """Return what `fusioninfer validate` prints about files; nothing if there is no error and no warning."""
    names = [word for file in files for word in ("-f", str(file))]
    done = CliRunner().invoke(main, ["validate", *names])
    return "" if CLEAN.match(done.output) and done.exit_code == 0 else done.output


@pytest.mark.parametrize("service", services())
def test_a_service_validates_without_errors_and_warnings(service: str) -> None:
    assert found(*services()[service]) == ""


def test_all_files_validate_together() -> None:
    assert found(*FILES) == ""


@pytest.mark.parametrize("service", services())
def test_each_service_gets_a_service_on_its_leaders(service: str) -> None:
    made = offline.compose(documents.read([str(file) for file in services()[service]]), Settings()).objects

    apis = [one for one in made if one["kind"] == "Service" and _is_api(one)]

    assert [one["metadata"]["name"] for one in apis] == [f"{service}-api"]


def _is_api(obj: Object) -> bool:
    return bool(obj["metadata"]["labels"].get(SERVICE)) and obj["metadata"]["name"].endswith("-api")
