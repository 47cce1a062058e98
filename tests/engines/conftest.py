"""What the tests on real engines need."""

import pytest

from tests.builders.netns import NamespacesUnavailableError, require_namespaces


@pytest.fixture(scope="module", autouse=True)
def namespaces() -> None:
    """Fail where there can be no network namespaces."""
    try:
        require_namespaces()
    except NamespacesUnavailableError as error:
        pytest.fail(f"no engine can run here: {error}", pytrace=False)
