"""`catalog/schemas.json` is what upstream's Go modules define."""

import re
from pathlib import Path
from typing import Final

import pytest

from tests.catalog.upstream import generated
from tests.cluster.testbed.build import COMPONENTS, Built

FILE: Final = Path(__file__).parents[2] / "catalog" / "schemas.json"


def version(component: str, module: str) -> str:
    """Return the version of a module that a component's go.mod requires."""
    required = (COMPONENTS / component / "go.mod").read_text(encoding="utf-8")
    (found,) = re.findall(rf"^(?:require )?\s*{re.escape(module)} (v\S+)$", required, re.MULTILINE)
    return str(found)


def test_the_schemas_are_those_of_upstream(request: pytest.FixtureRequest, upstream: Built) -> None:
    written = generated(upstream.source, version)
    if request.config.getoption("--refresh"):
        FILE.write_text(written, encoding="utf-8")

    assert FILE.read_text(encoding="utf-8") == written
