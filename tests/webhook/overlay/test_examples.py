"""The worked examples in the docstrings of the modules."""

import doctest
from types import ModuleType
from typing import Final

import pytest

from intent import tree
from webhook.overlay import arguments, merge3, overlay, patch, put, record

MODULES: Final = (arguments, tree, merge3, overlay, patch, put, record)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_the_example_in_the_docstring_is_true(module: ModuleType) -> None:
    found = doctest.testmod(module)

    assert (found.attempted > 0, found.failed) == (True, 0)
