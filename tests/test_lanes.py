"""Lanes: which tests run in one process where several run at once."""

from tests.lanes import lanes_of, place


def test_a_file_is_a_lane() -> None:
    files: dict[str, set[str]] = {"test_a.py": set(), "test_b.py": {"tmp_path"}}

    assert lanes_of(files) == {"test_a.py": "test_a.py", "test_b.py": "test_b.py"}


def test_files_that_use_a_cluster_share_its_lane() -> None:
    files = {"test_a.py": {"routed", "served"}, "test_b.py": {"routed"}}

    assert set(lanes_of(files).values()) == {"routed"}


def test_lanes_of_one_cluster_are_given_in_turn() -> None:
    files = {f"test_{name}.py": {"cluster"} for name in "abcd"}

    assert list(lanes_of(files).values()) == ["cluster 1", "cluster 2"] * 2


def test_what_waits_starts_before_what_computes() -> None:
    lanes = [
        "tests/intent/test_read.py",
        "tests/checks/test_checks.py",
        "tests/cluster/test_loop.py",
        "routed",
    ]

    assert sorted(lanes, key=place) == lanes[::-1]
