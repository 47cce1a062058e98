"""InferenceServices become the objects that the command prints, with the API server's defaults.

What the command prints of them is in `tests/golden`: the figures of the documents too.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import pytest

from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.controllers import apply, becomes
from tests.cluster.testbed.differences import differences
from tests.cluster.testbed.namespaces import add_namespace, empty_namespace
from tests.cluster.testbed.services import Objects, made, offline, story

STORIES: Final = ("story-2", "story-4", "readme-monolithic", "readme-disaggregated", "kserve-fields")
"""Several pods without a multi-node group, a gang of groups, routes, both, and the fields that KServe has."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What `fusioninfer expand` says of each story, and what the cluster has of it."""

    offline: dict[str, Objects]
    stored: dict[str, Objects]


@pytest.fixture(scope="module")
def outcome(served: Cluster) -> Iterator[Outcome]:
    namespaces = {name: add_namespace(served) for name in STORIES}
    expected = {name: of_controller(offline(served, at, story(name))) for name, at in namespaces.items()}
    for name, at in namespaces.items():
        apply(served, at, story(name))
    stored = {
        name: becomes(lambda at=at: made(served, at), expected[name])  # type: ignore[misc] # mypy cannot infer a lambda with a default
        for name, at in namespaces.items()
    }
    yield Outcome(expected, stored)
    for namespace in namespaces.values():
        empty_namespace(served, namespace)


def of_controller(objects: Objects) -> Objects:
    """Leave out the ConfigMap of an author."""
    return {key: one for key, one in objects.items() if key != ("configmaps", "routing")}


@pytest.mark.parametrize("name", STORIES)
def test_stored_objects_equal_the_output_of_the_command(outcome: Outcome, name: str) -> None:
    assert outcome.stored[name]
    assert differences(outcome.offline[name], outcome.stored[name]) == {}
