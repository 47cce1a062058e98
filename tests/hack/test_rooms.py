"""No room has more lines than it may."""

from pathlib import Path

from hack.rooms import ROOMS, ROOT, Room, crowded, table


def test_no_room_has_more_lines_than_it_may() -> None:
    assert not (found := list(crowded())), found


def test_each_package_of_the_product_is_in_one_room() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    found = [package for room in ROOMS.values() for package in room.packages]

    assert sorted(found) == sorted({*packages, "tests", "hack"})


def test_a_room_with_a_line_too_many_is_named(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/b.py").write_text("1\n2\n3\n")
    rooms = {"full": Room(("a",), 2, 1), "empty": Room(("none",), 2, 1)}

    (found,) = crowded(rooms, tmp_path)

    assert found.startswith("full has 1 lines too many")
    assert table(rooms, tmp_path).splitlines()[1] == "full             3       2       1"
