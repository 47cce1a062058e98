"""Findings as text, and suggestions for mistyped names, of which an object may have thousands."""

import pytest

from intent import annotations
from intent.annotations import SERVICE
from intent.errors import SOUGHT, FieldError, nearest


@pytest.mark.parametrize(
    ("wrong", "known", "options", "found"),
    [
        ("servise", ("service", "skip"), {}, "service"),
        ("zzz", ("service", "skip"), {}, ""),
        ("CRITICAL", ("Critical", "Standard"), {}, "Critical"),
        ("servise", ("service",), {"like": 0.9}, ""),
        ("service" + "x" * 14, ("service",), {}, "service"),
        ("service" + "x" * 15, ("service",), {}, ""),
        ("a" * 3_000, ("a" * 2_999,), {}, ""),
        ("a" * 60, ("a" * 3_000,), {}, ""),
    ],
    ids=[
        *("a typing error", "dissimilar", "its case", "a higher threshold", "almost three times as long"),
        *("three times as long", "too long to be compared", "a known one that is"),
    ],
)
def test_a_typing_error_gets_the_most_similar_name(
    wrong: str, known: tuple[str, ...], options: dict[str, float], found: str
) -> None:
    assert nearest(wrong, known, **options) == found


def test_only_the_first_of_many_typing_errors_get_suggestions() -> None:
    wrong = {SERVICE: "svc"} | {f"fusioninfer.io/skipp-{at}": "env" for at in range(500)}

    _wishes, errors = annotations.read(wrong)

    assert (len(errors), sum("did you mean" in one.message for one in errors)) == (500, SOUGHT)


@pytest.mark.parametrize("key", ["skip", "roles", "hostnames"])
def test_an_excessively_long_list_is_not_read(key: str) -> None:
    text = ",".join(f"a-{at}" for at in range(100_000))

    _wishes, errors = annotations.read({SERVICE: "svc", f"fusioninfer.io/{key}": text})

    assert ["4096 characters" in one.message for one in errors] == [True]


@pytest.mark.parametrize("name", ["a\nerror: forged", "a\x1b[31m", "a\x9b1m", "a\u202eb", "a\u2028b"])
def test_a_finding_is_one_line_that_a_terminal_shows_as_it_is(name: str) -> None:
    shown = str(FieldError(f"metadata.labels[{name}]", name, f"{name} is wrong", "FI104"))

    assert shown.isprintable()
    assert shown.startswith("metadata.labels[a\\")


def test_a_finding_without_a_field_is_its_message() -> None:
    assert str(FieldError("", None, "contains no object", "FI104")) == "contains no object (FI104)"
