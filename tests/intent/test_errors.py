"""What a mistyped name was meant to be is told, but not of thousands."""

import pytest

from intent import annotations
from intent.annotations import SERVICE
from intent.errors import SOUGHT, each_nearest, nearest


def test_a_typo_is_told_with_the_name_it_is_like() -> None:
    assert nearest("servise", ("service", "skip")) == "service"


def test_a_name_like_no_other_is_told_with_none() -> None:
    assert nearest("zzz", ("service", "skip")) == ""


def test_what_must_be_more_alike_is_told_with_none() -> None:
    assert nearest("servise", ("service",), like=0.9) == ""


def test_what_is_more_than_three_times_as_long_is_like_no_other() -> None:
    assert nearest("service" + "x" * 14, ("service",)) == "service"
    assert nearest("service" + "x" * 15, ("service",)) == ""


def test_what_is_known_is_that_of_the_place() -> None:
    assert list(each_nearest([("nam", ("name",)), ("nam", ("nan",))])) == ["name", "nan"]


def test_of_many_names_only_the_first_are_compared() -> None:
    many = [("servise", ("service",))] * (SOUGHT + 2)

    assert list(each_nearest(many)) == ["service"] * SOUGHT + ["", ""]


@pytest.mark.parametrize(
    "wrong",
    [
        {SERVICE: "svc"} | {f"fusioninfer.io/skipp-{at}": "env" for at in range(500)},
        {SERVICE: "svc", "fusioninfer.io/skip": ",".join(f"shm-{at}" for at in range(500))},
    ],
    ids=["keys", "parts"],
)
def test_of_an_object_with_hundreds_of_typos_all_are_told_and_the_first_explained(
    wrong: dict[str, str],
) -> None:
    _wishes, errors = annotations.read(wrong)

    assert (len(errors), sum("did you mean" in one.message for one in errors)) == (500, SOUGHT)


@pytest.mark.parametrize("key", ["skip", "roles", "hostnames"])
def test_a_list_that_nobody_can_have_written_is_not_read(key: str) -> None:
    text = ",".join(f"a-{at}" for at in range(100_000))

    _wishes, errors = annotations.read({SERVICE: "svc", f"fusioninfer.io/{key}": text})

    assert ["4096 characters" in one.message for one in errors] == [True]


def test_what_is_longer_than_any_name_is_not_compared() -> None:
    assert nearest("a" * 3_000, ["a" * 2_999]) == ""
    assert nearest("a" * 60, ["a" * 3_000]) == ""
