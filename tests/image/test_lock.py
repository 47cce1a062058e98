"""requirements.lock holds all that pyproject.toml asks for, by its hashes, and names no index."""

import tomllib
from typing import Final

import pytest
from packaging.requirements import Requirement

from hack.image.lock import LOCK, ROOT, Locked, locked
from hack.image.sbom import sbom

ROWS: Final = tuple(locked(LOCK.read_text()))


def asked() -> list[Requirement]:
    """Return what the project depends on, and the extra that the image has."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [
        Requirement(text) for text in (*project["dependencies"], *project["optional-dependencies"]["fast"])
    ]


@pytest.mark.parametrize("requirement", asked(), ids=str)
def test_every_dependency_is_locked_within_its_bounds(requirement: Requirement) -> None:
    versions = {row.name: row.version for row in ROWS}

    assert requirement.specifier.contains(versions[requirement.name.lower()])


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_every_row_has_hashes_and_is_required_by_another(row: Locked) -> None:
    assert row.hashes
    assert set(row.via) <= {"fusioninfer", *(one.name for one in ROWS)}
    assert row.via


def test_every_line_with_a_version_is_read() -> None:
    assert len(ROWS) == LOCK.read_text().count("==")


def test_no_index_is_named() -> None:
    text = LOCK.read_text()

    assert "://" not in text
    assert "--index" not in text


def test_every_component_is_reached_from_ours() -> None:
    edges = {one["ref"]: one["dependsOn"] for one in sbom(ROWS)["dependencies"]}
    reached, new = set[str](), {"fusioninfer"}
    while new:
        reached |= new
        new = {name for ref in new for name in edges[ref]} - reached

    assert reached == edges.keys()
