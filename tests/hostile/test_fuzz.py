"""Every body gets a review or a refusal: a short run of the fuzzer; `make fuzz` is the long one."""

from base64 import b64encode
from collections import Counter
from collections.abc import Iterator
from itertools import cycle
from typing import Any, Final

import orjson
import pytest
from hypothesis import HealthCheck, given, settings

from intent import Object
from tests.builders.lws import container, lws, put, template
from tests.builders.reviews import review
from tests.hostile.fuzz import PATHS, bodies, holds, outcome
from tests.hostile.objects import Path, files, paths, replaced, without
from tests.tiers import count, some


def with_env(*env: Any, args: tuple[str, ...] = ("$(M)",)) -> Object:
    """Return an object whose engine has these variables and uses one of them."""
    return lws(worker=template(container(args=list(args), env=list(env))))


STRANGE: Final[dict[str, Object]] = {
    "a variable whose name is a map": with_env({"name": {}}),
    "a variable whose name is a list": with_env({"name": []}),
    "a variable whose value is a map": with_env({"name": "M", "value": {}}),
    "variables that multiply to half a terabyte": with_env(
        {"name": "A", "value": "x" * 1_500_000}, args=("m", "--kv-transfer-config", "$(A)" * 350_000)
    ),
}
FEW: Final = settings(max_examples=count("FUZZED_BODIES"), suppress_health_check=list(HealthCheck))


def _form(path: Path) -> tuple[str, ...]:
    """Return a path without its positions in lists."""
    return tuple("" if isinstance(step, int) else step for step in path)


OF_THE_REQUEST: Final = (("metadata",), ("metadata", "namespace"))
"""What an API server compares with the request before it asks; otherwise the review is malformed."""


def _harmed() -> Iterator[tuple[Object, Path, Any]]:
    """Yield stored objects, each with one of its fields and a value of another type."""
    seen = set[tuple[str, ...]]()
    types: Iterator[Any] = cycle((7, "", [], {}, [{}], [7], None))
    for stored in map(put, files()):
        new = {_form(at): at for at in paths(stored) if at not in OF_THE_REQUEST}
        for form in sorted(new.keys() - seen):
            yield stored, new[form], next(types)
        seen |= new.keys()


def test_an_update_that_loses_or_retypes_any_field_has_an_answer() -> None:
    failed = dict[str, str]()

    for whole, at, other in some([*_harmed()], "HARMED_FIELDS"):
        for harmed in (without(whole, at), replaced(whole, at, other)):
            for live, old in ((harmed, whole), (whole, harmed)):
                body = orjson.dumps(review(live, old))
                for path, answer in PATHS.items():
                    try:
                        answer(body)
                    except Exception as error:  # noqa: BLE001 - whatever it is, the server would answer 500
                        failed.setdefault(repr(error), f"{path} {b64encode(body).decode()}")

    assert failed == {}


@pytest.mark.parametrize("path", PATHS)
def test_every_body_has_an_answer(path: str) -> None:
    outcomes: Counter[str] = Counter()

    @FEW
    @given(body=bodies())
    def run(body: bytes) -> None:
        outcomes[holds(path, body)] += 1

    run()
    assert len(outcomes) >= 3  # most bodies are valid, but not all


@pytest.mark.parametrize("name", STRANGE)
def test_strange_variables_have_an_answer(name: str) -> None:
    body = orjson.dumps(review(STRANGE[name], STRANGE[name]))

    assert {outcome(path, body) for path in PATHS}.isdisjoint({"malformed"})
