"""The build: where binaries are kept, and what it says while it works."""

from io import StringIO
from pathlib import Path

import pytest

from tests.cluster.testbed.build import cache_directory
from tests.cluster.testbed.progress import build_progress


def test_binaries_are_kept_below_the_cache_folder_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FUSIONINFER_TESTBED_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")

    assert cache_directory() == Path("/cache/fusioninfer/testbed")


def test_an_environment_variable_moves_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FUSIONINFER_TESTBED_CACHE", "/elsewhere")

    assert cache_directory() == Path("/elsewhere")


def test_off_a_terminal_plain_lines_say_what_is_left_to_build() -> None:
    stream = StringIO()

    with build_progress(["etcd", "kubectl", "kwok"], stream) as progress:
        for done in range(3):
            progress("etcd", done, 2)

    assert stream.getvalue() == (
        "building etcd: 0 of 2 packages; then left: kubectl, kwok\n"
        "building etcd: 2 of 2 packages; then left: kubectl, kwok\n"
    )
