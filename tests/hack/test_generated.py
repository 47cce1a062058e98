"""The generated files are what their generators give, and a file that is not is shown with the remedy."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from hack import __main__ as command
from hack.generated import Generator, differences, named, report, write
from hack.markdown import filled

TEXTS = {"changed": "1\n2\n", "new/file": "1\n", "same": "1\n", "gone": ""}


@pytest.mark.parametrize(
    "row", [row for row in named(()) if row.name not in {"golden", "transcripts"}], ids=lambda row: row.name
)
def test_the_files_are_up_to_date(row: Generator) -> None:
    assert not (found := report([row])), found


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("changed", "same", "gone"):
        (tmp_path / name).write_text("1\n")
    return tmp_path


def test_every_file_that_differs_is_shown_and_written(root: Path) -> None:
    assert list(differences(TEXTS, root)) == [
        "--- changed\n+++ generated\n@@ -1 +1,2 @@\n 1\n+2",
        "--- new/file\n+++ generated\n@@ -0,0 +1 @@\n+1",
        "--- gone\n+++ generated\n@@ -1 +0,0 @@\n-1",
    ]

    assert write(TEXTS, root) == ["changed", "new/file", "gone"]
    assert list(differences(TEXTS, root)) == []
    assert not (root / "gone").exists()


def test_verify_fails_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    stale = Generator("version", lambda: {"no-such-file": "1\n"})
    monkeypatch.setattr(command, "named", lambda _: [stale, Generator("none", dict)])

    done = CliRunner().invoke(command.main, ["verify", "sbom"])

    assert done.exit_code == 1
    assert done.output.endswith(
        '+1\nNot up to date: run make generate NAME="version", and read the difference.\n'
    )


def test_without_names_only_what_needs_nothing_but_python_is_chosen() -> None:
    assert {row.needs for row in named(())} == {"python"}
    assert [row.name for row in named(("crds",))] == ["crds"]


PAGE = "a\n<!-- one: made from x -->\nold\n<!-- end -->\nb\n"


def test_a_block_of_a_page_is_written_anew() -> None:
    assert filled("a.md", PAGE, {"one": "new\n"}) == PAGE.replace("old", "new")


@pytest.mark.parametrize("names", [(), ("two",), ("one", "two")])
def test_a_page_has_just_the_blocks_that_are_made(names: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="has the blocks one, not"):
        filled("a.md", PAGE, dict.fromkeys(names, ""))
