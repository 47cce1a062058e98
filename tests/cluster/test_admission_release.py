"""A next release with other rules, digests and checks, and the way back: unnoticed where nobody changes."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.namespaces import add_namespace, empty_namespace
from tests.cluster.testbed.ours import ROOT
from tests.cluster.testbed.releases import release
from tests.cluster.testbed.rollouts import started
from tests.cluster.testbed.upgrades import (
    ALL_IN_TURN,
    ANNOTATED,
    FIRST_WRITES,
    NEW_WORD,
    OTHERS,
    Upgraded,
    engine_args,
    file_of,
    labelled,
    not_as_before,
    restarted,
    spec_of,
    take_over,
    with_image,
    written,
)
from tests.cluster.testbed.wait import until
from tests.cluster.testbed.written import CLIENT_SIDE, SERVER_SIDE, Words, expanded_offline, named, put


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Hold the source of the next release."""
    return release(tmp_path_factory.mktemp("release"))


@pytest.fixture(scope="module")
def upgraded(admission: Cluster, source: Path) -> Iterator[Upgraded]:
    """Write every object, then have the next release's webhook take over; this one's is back afterwards."""
    namespace = add_namespace(admission)
    (offline,) = expanded_offline("-", stdin=json.dumps(file_of("offline")))
    words = {name: first for name, (first, _) in FIRST_WRITES.items()} | dict.fromkeys(OTHERS, CLIENT_SIDE)
    for name, first in words.items():
        put(admission, namespace, first, offline if name == "offline" else file_of(name))
    before = {name: started(admission, namespace, name) for name in words}
    specs = {name: spec_of(admission, namespace, name) for name in words}
    try:
        take_over(admission, source)
        yield Upgraded(admission, namespace, before, specs, offline)
    finally:
        take_over(admission, ROOT)
        empty_namespace(admission, namespace)


# --- the next release -------------------------------------------------------------------------------


def test_the_first_write_without_a_change_is_allowed_and_restarts_nothing(upgraded: Upgraded) -> None:
    said = {name: write(upgraded, name) for name, (_, write) in FIRST_WRITES.items()}

    assert [name for name, text in said.items() if "FI9" in text] == []
    assert not_as_before(upgraded, *FIRST_WRITES) == []


def test_write_after_write_restarts_nothing(upgraded: Upgraded) -> None:
    said = [write(upgraded, "all") for write in ALL_IN_TURN]

    assert "FI9" not in "".join(said)
    assert not_as_before(upgraded, "all") == []


def test_a_refresh_runs_the_new_rules_and_restarts_the_pods(upgraded: Upgraded) -> None:
    first = upgraded.rollouts["refreshed"]

    lws = with_image(named(ANNOTATED, "refreshed", refresh="1"))
    changed = put(upgraded.cluster, upgraded.namespace, CLIENT_SIDE, lws)

    assert [NEW_WORD in each for each in engine_args(changed)] == [True, True]
    assert until(lambda: restarted(upgraded, "refreshed", first), "another revision, and every pod anew")


# --- and back ---------------------------------------------------------------------------------------

UNDER_THE_NEXT: Final[dict[str, Words]] = {"newer": CLIENT_SIDE, "newer-server": SERVER_SIDE}
"""Objects that the next release expanded first, and how they were written."""


@pytest.fixture(scope="module")
def returned(upgraded: Upgraded) -> Upgraded:
    """Write some more under the next release, then have this one's webhook back."""
    cluster, namespace = upgraded.cluster, upgraded.namespace
    for name, words in {**UNDER_THE_NEXT, "changed": CLIENT_SIDE}.items():
        put(cluster, namespace, words, with_image(file_of(name)))
    until(lambda: restarted(upgraded, "changed", upgraded.rollouts["changed"]), "every pod is another one")
    names = (*FIRST_WRITES, *UNDER_THE_NEXT, "changed")
    rollouts = {name: started(cluster, namespace, name) for name in names}
    specs = {name: spec_of(cluster, namespace, name) for name in names}
    take_over(cluster, ROOT)
    return Upgraded(cluster, namespace, rollouts, specs, upgraded.offline)


def test_an_expansion_of_the_next_release_stays_after_a_rollback(returned: Upgraded) -> None:
    names = {**UNDER_THE_NEXT, "changed": CLIENT_SIDE}

    said = [written(returned, words, with_image(file_of(name))) for name, words in names.items()]
    said += [labelled(returned, name) for name in names]

    assert "FI9" not in "".join(said)
    assert [NEW_WORD in engine_args({"spec": returned.specs[name]})[0] for name in names] == [True] * 3
    assert not_as_before(returned, *names) == []


def test_what_was_there_before_stays_on_the_way_back(returned: Upgraded) -> None:
    said = {name: write(returned, name) for name, (_, write) in FIRST_WRITES.items()}

    assert [name for name, text in said.items() if "FI9" in text] == []
    assert not_as_before(returned, *FIRST_WRITES) == []
