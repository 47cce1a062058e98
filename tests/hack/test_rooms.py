"""No room has more lines than it may."""

from hack.rooms import ROOMS, ROOT, crowded


def test_no_room_has_more_lines_than_it_may() -> None:
    assert not (found := list(crowded())), found


def test_each_package_of_the_product_is_in_one_room() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    found = [package for room in ROOMS.values() for package in room.packages]

    assert sorted(found) == sorted({*packages, "tests", "hack"})
