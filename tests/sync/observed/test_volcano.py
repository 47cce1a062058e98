"""Which versions of Volcano schedule gangs."""

import pytest

from sync.observed.volcano import contains, too_old


@pytest.mark.parametrize("version", ["1.14.1", "v1.14.1", "v1.15.0", "2.0.0", "", "latest", "main-abc"])
def test_a_version_that_is_supported(version: str) -> None:
    assert too_old(version) == ""


@pytest.mark.parametrize("version", ["1.14.0", "v1.13.9", "v1.14", "1.9.0"])
def test_a_version_that_is_too_old(version: str) -> None:
    assert version in too_old(version)


@pytest.mark.parametrize(
    ("value", "part", "expected"),
    [
        ({"a": 1, "b": 2}, {"a": 1}, True),
        ({"b": 2}, {"a": 1}, False),
        ([{"a": 1, "b": 2}], [{"a": 1}], True),
        ([{"a": 1}, {"a": 2}], [{"a": 1}], False),
        (None, [{"a": 1}], False),
    ],
)
def test_maps_may_have_more_keys_lists_no_more_items(
    value: object,
    part: object,
    expected: bool,  # noqa: FBT001 - a case
) -> None:
    assert contains(value, part) is expected
