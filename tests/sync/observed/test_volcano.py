"""Which versions of Volcano schedule gangs."""

import pytest

from sync.observed.volcano import too_old


@pytest.mark.parametrize("version", ["1.14.1", "v1.14.1", "v1.15.0", "2.0.0", "", "latest", "main-abc"])
def test_a_version_that_is_supported(version: str) -> None:
    assert too_old(version) == ""


@pytest.mark.parametrize("version", ["1.14.0", "v1.13.9", "v1.14", "1.9.0"])
def test_a_version_that_is_too_old(version: str) -> None:
    assert version in too_old(version)
