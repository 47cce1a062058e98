"""Laws of the InferenceService: any JSON is answered, and a valid one renders valid LeaderWorkerSets."""

import copy
from pathlib import Path
from typing import Any, Final

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from intent import Object
from intent.inferenceservice.members import leader_worker_sets
from intent.inferenceservice.read import read
from tests.builders.documents import read_files
from tests.builders.isvc import decoder, isvc, prefiller, router, worker
from tests.builders.reviews import UID
from tests.builders.reviews import review as sent
from tests.laws.strategies import JSON
from webhook import review
from webhook.check import check
from webhook.inferenceservice import check as check_inferenceservice

GOLDEN: Final = Path(__file__).parents[1] / "golden"
STORIES: Final = sorted(GOLDEN.glob("isvc-*/expected.yaml"))
GOOD: Final = (
    isvc(router(), worker()),
    isvc(router(strategy="pd-disaggregation"), prefiller(), decoder()),
    isvc(annotations={"fusioninfer.io/launcher": "auto"}, schedulingStrategy={"schedulerName": "volcano"}),
)


def paths(value: Any) -> list[tuple[Any, ...]]:
    """Return every path into a value."""
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [(), *((key, *below) for key, item in steps for below in paths(item))]


def replaced(value: Any, path: tuple[Any, ...], by: Any) -> Any:
    """Return a copy with another value at a path."""
    if not path:
        return by
    whole = copy.copy(value)
    whole[path[0]] = replaced(value[path[0]], path[1:], by)
    return whole


@st.composite
def almost_good(draw: st.DrawFn) -> Any:
    """Draw an InferenceService in which some values are any JSON."""
    obj: Any = draw(st.sampled_from(GOOD))
    for _ in range(draw(st.integers(0, 3))):
        obj = replaced(obj, draw(st.sampled_from(paths(obj))), draw(JSON))
    return obj


@given(JSON | almost_good())
def test_any_json_is_read_or_refused_with_a_reason(obj: Any) -> None:
    before = copy.deepcopy(obj)

    service, errors = read(obj)

    assert service is not None or errors
    assert all(isinstance(str(error), str) for error in errors)
    assert obj == before


def _is_sent(obj: Any) -> bool:
    """Return whether an API server could send the object, since it validates the metadata itself."""
    return isinstance(obj, dict) and isinstance(obj.get("metadata", {}), dict)


@given(almost_good().filter(_is_sent), almost_good().filter(_is_sent))
def test_any_object_is_answered(live: Object, old: Object) -> None:
    body = orjson.dumps(sent(live | {"kind": "InferenceService"}, old, operation="UPDATE"))

    assert orjson.loads(review.validate(body).body)["response"]["uid"] == UID


@given(almost_good())
def test_rendering_does_not_change_the_input(obj: Any) -> None:
    service, _ = read(obj)
    before = copy.deepcopy(service)

    made = [] if service is None else leader_worker_sets(service)

    assert service == before
    assert len(made) == (len(service.roles) if service else 0)


@given(almost_good().filter(lambda obj: isinstance(obj, dict)))
def test_the_roles_of_an_accepted_service_are_accepted(obj: Object) -> None:
    service, _ = read(obj)

    if all(one.severity == "warning" for one in check_inferenceservice(obj)):
        assert service is not None
        for lws in leader_worker_sets(service):
            assert [one for one in check(lws, mutated=False) if one.severity == "error"] == []


@pytest.mark.parametrize("story", STORIES, ids=lambda path: path.parent.name)
def test_every_story_gives_leader_worker_sets_that_are_accepted(story: Path) -> None:
    written = read_files([str(story.parent / "input.yaml")])
    (document,) = (one for one in written if one.object["kind"] == "InferenceService")

    service, _ = read(document.object)

    assert service is not None
    for lws in leader_worker_sets(service):
        assert [one for one in check(lws, mutated=False) if one.severity == "error"] == []
