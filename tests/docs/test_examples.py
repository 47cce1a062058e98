"""Every file of docs/examples: it validates without a finding."""

import re
from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner

from fusioninfer.cli import main
from fusioninfer.lint import offline
from intent import Object
from intent.annotations import SERVICE
from intent.lws import KIND as LWS
from intent.settings import Settings
from tests.builders.documents import read_files
from tests.builders.examples import EXAMPLES, FILES, services

TEMPLATES: Final = tuple(sorted((EXAMPLES / "templates").glob("*.yaml")))
SERVICES: Final = tuple(sorted((EXAMPLES / "templates" / "services").glob("*.yaml")))
CLEAN: Final = re.compile(r"0 errors, 0 warnings\b")


def found(*files: Path) -> str:
    """Return what `fusioninfer validate` prints about files; nothing if there is no error and no warning."""
    names = [word for file in files for word in ("-f", str(file))]
    done = CliRunner().invoke(main, ["validate", *names])
    return "" if CLEAN.match(done.output) and done.exit_code == 0 else done.output


def composed(*files: Path) -> offline.Composition:
    return offline.compose(read_files([str(file) for file in files]), Settings())


@pytest.mark.parametrize("service", services())
def test_a_service_validates_without_errors_and_warnings(service: str) -> None:
    assert found(*services()[service]) == ""


def test_all_files_validate_together() -> None:
    assert found(*FILES) == ""


@pytest.mark.parametrize("service", services())
def test_each_service_gets_a_service_on_its_leaders(service: str) -> None:
    made = composed(*services()[service]).objects

    apis = [one for one in made if one["kind"] == "Service" and _is_api(one)]

    assert [one["metadata"]["name"] for one in apis] == [f"{service}-api"]


def _is_api(obj: Object) -> bool:
    return bool(obj["metadata"]["labels"].get(SERVICE)) and obj["metadata"]["name"].endswith("-api")


@pytest.mark.parametrize("service", SERVICES, ids=lambda file: file.stem)
def test_a_service_of_templates_has_no_findings_and_says_only_what_is_its_own(service: Path) -> None:
    made, text = composed(*TEMPLATES, service), service.read_text()
    groups = [one["spec"]["leaderWorkerTemplate"] for one in made.objects if one["kind"] == LWS]
    engines = [one for each in groups for one in each["workerTemplate"]["spec"]["containers"]]

    assert ([*made.found], "image" in text, "containers" in text) == (
        [],
        False,
        False,
    )
    assert engines
    assert all(one["image"] and one["resources"]["limits"] for one in engines)
