"""The reviews that the webhook answers before it is ready."""

import gc
from collections.abc import Iterator
from typing import Final

import pytest

from catalog.flags import flag_tables
from intent.command_line import spelling
from intent.settings import Settings
from server import admission
from server.warm_up import BODY, PATHS, warm_up

REVIEWS: Final = admission.reviews(Settings())


@pytest.fixture(autouse=True)
def cold() -> Iterator[None]:
    for cached in (flag_tables, spelling._spelling):  # noqa: SLF001 - as in a new process
        cached.cache_clear()
    yield
    gc.unfreeze()


def test_the_first_object_finds_the_tables_of_flags_read() -> None:
    warm_up(REVIEWS)
    assert flag_tables.cache_info().misses == 1

    outcomes = {path: answer(BODY).outcome for path, answer in REVIEWS.items() if path in PATHS}

    assert outcomes == {"/mutate": "patched", "/validate": "denied"}
    assert flag_tables.cache_info().misses == 1
