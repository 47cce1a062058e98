"""The first page of the loop's code names every module of it."""

import pkgutil

import pytest

import sync

MODULES = [module.name for module in pkgutil.iter_modules(sync.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_the_page_names_every_module(name: str) -> None:
    assert f"`{name}`" in (sync.__doc__ or "")
