"""The build: where binaries are kept, and what it says while it works."""

from io import StringIO
from pathlib import Path

import pytest

from tests.cluster.testbed.build import cache_directory, called
from tests.cluster.testbed.cuts import CutMissedError, copy_cut
from tests.cluster.testbed.modules import Cut, Module
from tests.cluster.testbed.progress import build_progress


def test_binaries_are_kept_below_the_cache_folder_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FUSIONINFER_TESTBED_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")

    assert cache_directory() == Path("/cache/fusioninfer/testbed")


def test_an_environment_variable_moves_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FUSIONINFER_TESTBED_CACHE", "/elsewhere")

    assert cache_directory() == Path("/elsewhere")


def test_off_a_terminal_plain_lines_list_the_remaining_builds() -> None:
    stream = StringIO()

    with build_progress(["etcd", "kubectl", "kwok"], stream) as progress:
        for done in range(3):
            progress("etcd", done, 2)

    assert stream.getvalue() == (
        "building etcd: 0 of 2 packages; then left: kubectl, kwok\n"
        "building etcd: 2 of 2 packages; then left: kubectl, kwok\n"
    )


@pytest.mark.parametrize(
    ("package", "name"),
    [("k8s.io/kubernetes/cmd/kubectl", "kubectl"), ("go.etcd.io/etcd/server/v3", "server")],
)
def test_a_binary_is_searched_where_go_installs_it(package: str, name: str) -> None:
    assert called(package) == name


def test_a_module_is_copied_without_its_cuts(tmp_path: Path) -> None:
    cuts = (Cut("gone.go"), Cut("folder"), Cut("kept.go", "Gone"))

    copy_cut(Module("m", "example.com/m", cuts=cuts), written(tmp_path / "source"), tmp_path / "copy")

    left = {str(file.relative_to(tmp_path / "copy")): file.read_text() for file in files(tmp_path / "copy")}
    assert left == {"kept.go": "Add(Kept)\n", "other/other.go": "Other\n"}


@pytest.mark.parametrize("cut", [Cut("elsewhere.go"), Cut("kept.go", "Elsewhere")])
def test_a_cut_that_finds_nothing_is_an_error(tmp_path: Path, cut: Cut) -> None:
    module = Module("m", "example.com/m", cuts=(cut,))

    with pytest.raises(CutMissedError):
        copy_cut(module, written(tmp_path / "source"), tmp_path / "copy")


def written(source: Path) -> Path:
    """Write a module's source, which cannot be changed, as in the module cache."""
    texts = {
        "gone.go": "Gone\n",
        "folder/gone.go": "Gone\n",
        "kept.go": "Add(Kept)\nAdd(Gone)\n",
        "other/other.go": "Other\n",
        "other/other_test.go": "Test\n",
    }
    for name, text in texts.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(text)
        (source / name).chmod(0o444)
    return source


def files(folder: Path) -> list[Path]:
    return [file for file in folder.rglob("*") if file.is_file()]
