"""Tiers and groups: which tests `make unit` leaves out, and which run in one process."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from tests.tiers import ALONE, EARLY, HERE, SHARED, SLOW, UNIT, groups_of, is_beside, is_left_out, left, place


def test_a_file_is_a_group() -> None:
    files: dict[str, set[str]] = {"test_a.py": set(), "test_b.py": {"tmp_path"}}

    assert groups_of(files) == {"test_a.py": "test_a.py", "test_b.py": "test_b.py"}


def test_files_that_use_a_cluster_share_its_group() -> None:
    files = {"test_a.py": {"routed", "served"}, "test_b.py": {"routed"}}

    assert set(groups_of(files).values()) == {"routed"}


def test_groups_of_one_cluster_are_given_in_turn() -> None:
    files = {f"test_{name}.py": {"cluster"} for name in "abcd"}

    assert list(groups_of(files).values()) == ["cluster-1", "cluster-2"] * 2


@pytest.mark.parametrize(
    ("here", "there", "cluster"),
    [
        ("cluster-1", "routed", "cluster"),
        ("cluster-1", "cluster-2", ""),
        ("routed", "tests/cluster/test_build.py", "routed"),
        ("tests/cluster/test_build.py", "routed", ""),
    ],
)
def test_a_cluster_ends_with_its_last_group(here: str, there: str, cluster: str) -> None:
    assert left(here, there) == cluster


def test_groups_that_take_long_start_first() -> None:
    groups = [
        "tests/intent/test_read.py",
        "tests/checks/test_checks.py",
        "tests/cluster/test_build.py",
        "routed",
    ]

    assert sorted(groups, key=place) == groups[::-1]


@pytest.mark.parametrize(
    "name", sorted({*EARLY, *ALONE} - {group for groups in SHARED.values() for group in groups})
)
def test_what_starts_early_or_alone_exists(name: str) -> None:
    assert (HERE.parent / name).exists()


def test_every_group_of_a_cluster_starts_early() -> None:
    assert {group for groups in SHARED.values() for group in groups} <= set(EARLY)


@pytest.mark.parametrize(
    ("count", "beside"),
    [(2, []), (3, ["gw2"]), (4, ["gw3"])],
)
def test_the_last_of_three_processes_runs_beside_the_others(count: int, beside: list[str]) -> None:
    names = [f"gw{number}" for number in range(count)]

    assert [name for name in names if is_beside({"workercount": count, "workerid": name})] == beside


@pytest.mark.parametrize("path", SLOW, ids=lambda path: path.name)
def test_slow_files_exist_and_unit_runs_do_not_import_them(path: Path) -> None:
    assert path.exists()
    assert is_left_out(path, UNIT)
    assert not is_left_out(path, "")


def test_a_test_of_another_folder_is_not_slow(request: pytest.FixtureRequest) -> None:
    assert "slow" not in {mark.name for mark in request.node.iter_markers()}


@pytest.mark.parametrize(("name", "examples"), [("unit", 15), ("test", 60)])
def test_hypothesis_has_a_profile_for_each_tier(name: str, examples: int) -> None:
    profile = settings.get_profile(name)
    assert profile.max_examples == examples
    assert profile.derandomize == (name != "soak")


@pytest.mark.slow
def test_a_file_runs_in_one_process_and_one_of_three_runs_only_what_needs_no_other(tmp_path: Path) -> None:
    """With the pytest and the pytest-xdist that are installed."""
    alone = ("tests/bench/test_histogram.py", "tests/bench/test_report.py", "tests/image/test_dockerfile.py")
    files = ("tests/certs/test_issue.py", "tests/certs/test_objects.py", "tests/intent/test_image.py")

    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-v", "--numprocesses=3", "-o", f"cache_dir={tmp_path}"),
            *(*alone, *files),
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=HERE.parent,
    )

    ran = set(re.findall(r"\[(gw\d)\] \[ *\d+%\] PASSED ([^:]+)::", done.stdout))
    assert sorted(file for _, file in ran) == sorted((*alone, *files)), done.stdout
    assert {file for process, file in ran if process == "gw2"} <= {*files}
