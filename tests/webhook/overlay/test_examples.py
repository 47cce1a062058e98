"""The worked examples in the docstrings of the modules."""

import doctest
from types import ModuleType
from typing import Final

import pytest

from webhook.overlay import arguments, difference, fields, patch, put, record, revert, taken_over

MODULES: Final = (arguments, difference, fields, patch, put, record, revert, taken_over)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_the_example_in_the_docstring_is_true(module: ModuleType) -> None:
    found = doctest.testmod(module)

    assert (found.attempted > 0, found.failed) == (True, 0)
