"""The package docstring names the controller's modules."""

import pkgutil
import re
from importlib.util import find_spec

import pytest

import sync

MODULES = [module.name for module in pkgutil.iter_modules(sync.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_the_package_docstring_names_every_module(name: str) -> None:
    assert f"`{name}`" in (sync.__doc__ or "")


@pytest.mark.parametrize("name", re.findall(r"`([a-z_]+\.[a-z_]+)`", sync.__doc__ or ""))
def test_the_package_docstring_names_modules_that_exist(name: str) -> None:
    assert find_spec(f"sync.{name}")
