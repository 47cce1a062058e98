"""The reviews that the webhook answers before it is ready."""

import gc
from collections.abc import Iterator
from typing import Final

import pytest

from catalog.flags import flag_tables
from intent.settings import Settings
from server import admission
from server.admission import BODY, PATHS, warm_up

REVIEWS: Final = admission.reviews(Settings())


@pytest.fixture(autouse=True)
def cold() -> Iterator[None]:
    flag_tables.cache_clear()  # as in a new process
    yield
    gc.unfreeze()


def test_the_first_object_finds_the_tables_of_flags_read() -> None:
    warm_up(REVIEWS)
    assert flag_tables.cache_info().misses == 1

    outcomes = {path: answer(BODY).outcome for path, answer in REVIEWS.items() if path in PATHS}

    assert outcomes == {"/mutate": "patched", "/validate": "denied"}
    assert flag_tables.cache_info().misses == 1
