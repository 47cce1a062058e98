"""The next release of the upgrade tests differs from this one: each change finds its text in the source."""

from pathlib import Path

from tests.cluster.testbed.releases import NEXT, release


def test_each_change_of_the_next_release_finds_its_text(tmp_path: Path) -> None:
    copy = release(tmp_path / "next")

    changed = {
        change: [file for file in copy.rglob("*.py") if change.instead in file.read_text()] for change in NEXT
    }

    assert all(len(files) == 1 for files in changed.values()), changed
