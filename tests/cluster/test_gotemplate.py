"""Templates beside Go's `text/template`: KServe's own render the same, and random ones never differently."""

import json
import random
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from importer.gotemplate import TemplateError, Value, render
from tests.cluster.gotemplates import DATA, OURS, edited, in_go, service, sources, template
from tests.tiers import count

SEED: Final = 20261123
SERVICES: Final = 10
"""Random services with which each of KServe's templates is rendered."""
RANDOM: Final = count("GO_TEMPLATES")
Question = tuple[str, Value]


def in_go_itself(program: Path, asked: Sequence[Question]) -> list[str | None]:
    """Return the text of each template with its data; None for an error."""
    lines = "".join(json.dumps({"source": text, "data": in_go(data)}) + "\n" for text, data in asked)
    done = subprocess.run([program], input=lines, capture_output=True, text=True, check=True)
    answers: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]
    return [one.get("text") for one in answers]


def ours(text: str, data: Value) -> str | None:
    try:
        return render(text, data, OURS)
    except TemplateError:
        return None


@pytest.fixture(scope="module")
def templates(source_of: Callable[[str], Path]) -> list[str]:
    """The templates of KServe's presets, samples and fixtures."""
    return list(sources(source_of("kserve")))


def test_templates_of_kserve_render_as_in_go(go_template: Path, templates: list[str]) -> None:
    source = random.Random(SEED)  # noqa: S311 - it chooses test data
    asked = [(text, service(source)) for text in templates for _ in range(SERVICES)]

    answers = in_go_itself(go_template, asked)

    assert len(templates) > 40
    for (text, data), answer in zip(asked, answers, strict=True):
        assert ours(text, data) == answer, (text[:200], data)
    assert sum(one is not None for one in answers) > len(asked) / 2


def test_random_templates_render_as_in_go_or_are_refused(go_template: Path) -> None:
    source = random.Random(SEED)  # noqa: S311 - it chooses test data
    made = [template(source) for _ in range(RANDOM)]
    asked = [(text, DATA) for text in (*made, *(edited(source, one) for one in made))]

    answers = in_go_itself(go_template, asked)

    found = [ours(text, data) for text, data in asked]
    for (text, _), answer, one in zip(asked, answers, found, strict=True):
        assert one in (answer, None), text
    refused = sum(answer is not None and one is None for answer, one in zip(answers, found, strict=True))
    assert sum(one is not None for one in found) > 4 * refused
