"""The templates of docs/examples/templates, and the services that use them."""

from pathlib import Path
from typing import Final

import pytest

from fusioninfer.lint import documents, offline
from intent import Object
from intent.settings import Settings
from tests.builders.examples import EXAMPLES

FOLDER: Final = EXAMPLES / "templates"
TEMPLATES: Final = tuple(sorted(FOLDER.glob("*.yaml")))
SERVICES: Final = tuple(sorted((FOLDER / "services").glob("*.yaml")))


def composed(*files: Path) -> offline.Composition:
    return offline.compose(documents.read([str(file) for file in files]), Settings())


def engines(service: Path) -> list[Object]:
    """Return the containers of the workers, as they are expanded."""
    made = [one for one in composed(*TEMPLATES, service).objects if one["kind"] == "LeaderWorkerSet"]
    groups = [one["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"] for one in made]
    return [container for pod in groups for container in pod["containers"]]


@pytest.mark.parametrize("service", SERVICES, ids=lambda file: file.stem)
def test_a_service_and_its_templates_have_no_findings(service: Path) -> None:
    assert [str(one) for one in composed(*TEMPLATES, service).found] == []


@pytest.mark.parametrize("service", SERVICES, ids=lambda file: file.stem)
def test_a_service_says_only_what_is_its_own(service: Path) -> None:
    text = service.read_text()

    assert "image" not in text
    assert "containers" not in text
    assert all(one["image"] and one["resources"]["limits"] for one in engines(service))
