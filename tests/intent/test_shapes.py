"""Quantities as Kubernetes parses them, and invalid ones."""

from decimal import Decimal
from typing import Any

import pytest

from intent.shapes import quantity, whole


@pytest.mark.parametrize(
    ("value", "number"),
    [
        *(
            ("8", 8),
            (8, 8),
            ("8e0", 8),
            ("1Gi", 2**30),
            ("500m", Decimal("0.5")),
            ("-1", -1),
            ("+.5", Decimal("0.5")),
        ),
        *(("1E", 10**18), ("1e3", 1000), ("5.", 5), (0.5, Decimal("0.5"))),
    ],
)
def test_a_quantity_is_a_number(value: Any, number: Any) -> None:
    assert quantity(value) == number


@pytest.mark.parametrize(
    "value",
    [
        *("1e999999E", "1e999999", "1e-999999", "9" * 5_000, "1" * 41, 10**50, -(10**50), float("inf")),
        *(
            "NaN",
            "nan",
            "sNaN",
            "Infinity",
            "-inf",
            float("nan"),
            "1_000",
            " 1",
            "1 ",
            "",
            "m",
            "\u0661",
            "0x10",
        ),
        *(None, True, [], {}, "1ee1", "1e", "."),
    ],
)
def test_an_invalid_quantity_is_none(value: Any) -> None:
    assert (quantity(value), whole(value)) == (None, None)


def test_an_integer_too_long_to_print_is_none() -> None:
    assert (quantity(10**5_000), whole(-(10**5_000))) == (None, None)
