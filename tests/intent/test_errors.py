"""Findings as text, and suggestions for mistyped names, of which an object may have thousands."""

import pytest

from intent import annotations
from intent.annotations import SERVICE
from intent.errors import SOUGHT, FieldError, each_nearest, nearest


def test_a_typing_error_gets_the_most_similar_name() -> None:
    assert nearest("servise", ("service", "skip")) == "service"


def test_a_dissimilar_name_gets_no_suggestion() -> None:
    assert nearest("zzz", ("service", "skip")) == ""
    assert nearest("CRITICAL", ("Critical", "Standard")) == "Critical"


def test_a_higher_threshold_gives_fewer_suggestions() -> None:
    assert nearest("servise", ("service",), like=0.9) == ""


def test_a_name_three_times_as_long_is_not_similar() -> None:
    assert nearest("service" + "x" * 14, ("service",)) == "service"
    assert nearest("service" + "x" * 15, ("service",)) == ""


def test_suggestions_come_from_the_names_of_the_same_object() -> None:
    assert list(each_nearest([("nam", ("name",)), ("nam", ("nan",))])) == ["name", "nan"]


def test_only_the_first_known_names_are_compared() -> None:
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
def test_only_the_first_of_many_typing_errors_get_suggestions(
    wrong: dict[str, str],
) -> None:
    _wishes, errors = annotations.read(wrong)

    assert (len(errors), sum("did you mean" in one.message for one in errors)) == (500, SOUGHT)


@pytest.mark.parametrize("key", ["skip", "roles", "hostnames"])
def test_an_excessively_long_list_is_not_read(key: str) -> None:
    text = ",".join(f"a-{at}" for at in range(100_000))

    _wishes, errors = annotations.read({SERVICE: "svc", f"fusioninfer.io/{key}": text})

    assert ["4096 characters" in one.message for one in errors] == [True]


def test_a_very_long_name_is_not_compared() -> None:
    assert nearest("a" * 3_000, ["a" * 2_999]) == ""
    assert nearest("a" * 60, ["a" * 3_000]) == ""


@pytest.mark.parametrize("name", ["a\nerror: forged", "a\x1b[31m", "a\x9b1m", "a\u202eb", "a\u2028b"])
def test_a_finding_is_one_line_that_a_terminal_shows_as_it_is(name: str) -> None:
    shown = str(FieldError(f"metadata.labels[{name}]", name, f"{name} is wrong", "FI104"))

    assert shown.isprintable()
    assert shown.startswith("metadata.labels[a\\")


def test_a_finding_without_a_field_is_its_message() -> None:
    assert str(FieldError("", None, "contains no object", "FI104")) == "contains no object (FI104)"
