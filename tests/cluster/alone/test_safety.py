"""The safety law: whatever is wrong around them, services that run go on, and innocent tenants are served.

SAFETY_SEED chooses what happens, SAFETY_ROUNDS how long; what fails prints both. `make e2e` runs a short
form, in which every kind of fault comes once; `make soak` runs fifty rounds with several seeds.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from typing import Final

import pytest

from tests.cluster.safety.faults import KINDS
from tests.cluster.safety.proxy import Proxy
from tests.cluster.safety.rounds import Tally, play, rounds
from tests.cluster.safety.scene import controllers, scene
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.nodes import add_gpu_nodes
from tests.tiers import count

SEED: Final = int(os.environ.get("SAFETY_SEED", "2"))
ROUNDS: Final = count("SAFETY_ROUNDS")
NODES: Final = 4


@pytest.fixture(scope="module")
def proxied(admitting: Cluster) -> Iterator[Mapping[str, Proxy]]:
    """Two controllers, each behind a proxy."""
    add_gpu_nodes(admitting, NODES)
    with controllers(admitting) as proxies:
        yield proxies


def test_running_and_new_services_are_served(admitting: Cluster, proxied: Mapping[str, Proxy]) -> None:
    tally = Tally()
    try:
        play_all(admitting, proxied, tally)
    finally:
        say(str(tally))
    assert not tally.violations, "\n".join((f"SAFETY_SEED={SEED} SAFETY_ROUNDS={ROUNDS}", *tally.violations))


def test_the_short_form_has_every_kind_of_fault() -> None:
    found = (one.names for one in rounds(2, ROUNDS))

    assert frozenset().union(*found) == {kind.name for kind in KINDS}


def play_all(cluster: Cluster, proxies: Mapping[str, Proxy], tally: Tally) -> None:
    """Play all rounds. After one that goes wrong the scene is set anew: the next one is not to blame."""
    todo = rounds(SEED, ROUNDS)
    while tally.rounds < ROUNDS:
        with scene(cluster, proxies) as there:
            for one in todo:
                if play(there, one, say, tally):
                    there.start_anew()
                    break
            tally.pods += there.witness.count(pods=True)
            tally.objects += there.witness.count(pods=False)


def say(line: str) -> None:
    """Show how far it is: with `pytest -s`, or if it fails."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
