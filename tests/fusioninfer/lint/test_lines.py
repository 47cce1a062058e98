"""The lines of fields, found by the paths of findings."""

from pathlib import Path
from typing import Final

import pytest

from fusioninfer.lint import documents
from tests.builders.documents import read_files

TEXT: Final = """\
# a comment
kind: LeaderWorkerSet
metadata:
  name: a
  annotations:
    fusioninfer.io/service: a
    a.b: c
    a: d
spec:
  leaderWorkerTemplate:
    workerTemplate:
      spec:
        containers:
        - name: vllm
          args:
          - --model
          - m
        - {name: other,
           image: x}
---
kind: List
items:
- kind: A
- metadata:
    name: b
"""
CONTAINERS: Final = "spec.leaderWorkerTemplate.workerTemplate.spec.containers"


@pytest.fixture
def read(tmp_path: Path) -> list[documents.Document]:
    (tmp_path / "a.yaml").write_text(TEXT)
    return read_files([str(tmp_path / "a.yaml")])


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("kind", 2),
        ("", 2),
        ("metadata.annotations[fusioninfer.io/service]", 6),
        ("metadata.annotations[a.b]", 7),
        ("metadata.annotations[a]", 8),
        ("metadata.annotations.a.b", 7),
        (f"{CONTAINERS}[0].args[1]", 17),
        (f"{CONTAINERS}[0].args[7]", 15),
        (f"{CONTAINERS}[1].name", 18),
        (f"{CONTAINERS}[1].image", 19),
        (f"{CONTAINERS}[2]", 13),
    ],
)
def test_a_field_has_its_line(read: list[documents.Document], path: str, line: int) -> None:
    assert read[0].line(path) == line


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("spec.leaderWorkerTemplate.size", 10),
        ("spec.leaderWorkerTemplates.size", 9),
        ("metadata.namespace", 3),
        ("status", 2),
    ],
)
def test_an_absent_field_has_the_line_of_its_nearest_parent(
    read: list[documents.Document], path: str, line: int
) -> None:
    assert read[0].line(path) == line


def test_items_of_a_list_have_their_own_lines(read: list[documents.Document]) -> None:
    assert [one.line("metadata.name") for one in read[1:]] == [23, 25]


def test_a_merged_field_has_the_line_of_the_text_that_it_comes_from(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("a: &a\n  x: 1\n  y: 2\nb:\n  <<: *a\n  x: 3\n")
    (one,) = read_files([str(tmp_path / "a.yaml")])

    assert [one.line("b.x"), one.line("b.y")] == [6, 3]
