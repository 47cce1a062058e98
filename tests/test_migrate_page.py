"""docs/migrate.md: each example is imported to what the page shows, without a loss, and is valid."""

from pathlib import Path
from typing import Final

import pytest
import yaml

from fusioninfer.files import offline
from fusioninfer.files.documents import Document
from importer.table import import_all
from intent.settings import Settings
from tests.importer.kserve.bases import PRESETS
from tests.manifests.pages import files

PAGE: Final = Path(__file__).parents[1] / "docs" / "migrate.md"
CHAPTERS: Final = (
    "llm-d: ModelService",
    "FusionInfer: the upstream project",
    "LeaderWorkerSet and DisaggregatedSet",
)


def test_a_service_of_kserve_is_imported_to_what_the_page_shows() -> None:
    before, after = (
        list(yaml.safe_load_all(file)) for file in files(PAGE, "KServe: LLMInferenceService")[:2]
    )

    made = import_all([*before, *PRESETS])
    found = offline.compose([Document("file", at, one) for at, one in enumerate(after)], Settings()).found

    assert list(made.objects) == after
    assert [line.path for line in made.report.lost if line.document < len(before)] == []
    assert [str(one) for one in found] == []


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_an_example_is_imported_to_what_the_page_shows(chapter: str) -> None:
    before, after = (list(yaml.safe_load_all(file)) for file in files(PAGE, chapter)[:2])

    made = import_all(before)
    found = offline.compose([Document("file", at, one) for at, one in enumerate(after)], Settings()).found

    assert list(made.objects) == after
    assert (made.problems, made.report.lost) == ((), ())
    assert [str(one) for one in found if one.error.severity == "error"] == []
