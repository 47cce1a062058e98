"""What a CREATE costs: the functions that it calls, and the modules in which a reader finds them."""

from collections.abc import Callable
from pathlib import Path
from types import CodeType

import orjson
import pytest

from tests.builders.counted import counted
from tests.builders.lws import put
from tests.builders.reviews import review as review_of
from tests.golden.test_golden import CASES, leaderworkersets
from webhook import review

ROOT = Path(__file__).parents[2]
(FILE,) = (
    one.object
    for case in CASES
    if case.name == "engine-01-documents-example-2"
    for one in leaderworkersets(case)
)
"""The example of the documents."""


def function(code: CodeType) -> str:
    """Return the file and the name of a function; empty for comprehensions, and for packages of others."""
    is_ours = code.co_filename.startswith((f"{ROOT}/webhook/", f"{ROOT}/intent/", f"{ROOT}/catalog/"))
    return f"{code.co_filename}:{code.co_qualname}" if is_ours and not code.co_name.startswith("<") else ""


@pytest.mark.parametrize(
    ("answer", "body", "functions", "modules"),
    [
        (review.mutate, orjson.dumps(review_of(FILE)), 134, 32),
        (review.validate, orjson.dumps(review_of(put(FILE))), 217, 43),
    ],
    ids=["mutate", "validate"],
)
def test_a_create_calls_few_functions_of_few_modules(
    answer: Callable[[bytes], object], body: bytes, functions: int, modules: int
) -> None:
    answer(body)  # what is computed once

    with counted(function) as calls:
        answer(body)

    called = calls.keys() - {""}
    assert len(called) <= functions
    assert len({name.partition(":")[0] for name in called}) <= modules
