"""The worked examples in the docstrings of the modules."""

import doctest
from types import ModuleType

import pytest

from webhook.overlay import put, record, undo


@pytest.mark.parametrize("module", [put, record, undo], ids=lambda module: module.__name__)
def test_the_example_in_the_docstring_is_true(module: ModuleType) -> None:
    found = doctest.testmod(module)

    assert (found.attempted > 0, found.failed) == (True, 0)
