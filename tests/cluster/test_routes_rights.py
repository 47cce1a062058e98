"""The rights of a picker are enough, and none of them is too much: without any one it never serves."""

from collections.abc import Iterator
from typing import Final

import pytest

from catalog.pickers.generations import PICKERS
from intent import yaml
from sync.desired.strategies import preset
from tests.cluster.testbed.api import get, patch, path
from tests.cluster.testbed.flows import namespace_on
from tests.cluster.testbed.network import Network
from tests.cluster.testbed.pickers import Picker, serves, start_picker, wait_picker
from tests.cluster.testbed.processes import tail
from tests.cluster.testbed.rendered import routes, store
from tests.cluster.testbed.wait import until

ROWS: Final = ("gie-1.5", "llm-d-0.7")
"""Both that are used where nobody chooses."""
RIGHTS: Final = [
    (row, resource) for row in ROWS for resource in (*(name for _, name in PICKERS[row].rights), "leases")
]
ALL: Final = "all"


@pytest.fixture(scope="module")
def pickers(served_network: Network) -> Iterator[dict[tuple[str, str], Picker]]:
    """A picker of each generation with all of its rights, and those that lack one."""
    with namespace_on(served_network) as namespace:
        wanted = [*((row, ALL) for row in ROWS), *RIGHTS]
        yield {one: started(served_network, namespace, *one) for one in wanted}


@pytest.mark.parametrize("row", ROWS)
def test_its_rights_are_enough(
    served_network: Network, pickers: dict[tuple[str, str], Picker], row: str
) -> None:
    wait_picker(served_network, pickers[row, ALL])


@pytest.mark.parametrize(("row", "resource"), RIGHTS)
def test_it_needs_each_of_its_rights(
    served_network: Network, pickers: dict[tuple[str, str], Picker], row: str, resource: str
) -> None:
    picker = pickers[row, resource]

    until(lambda: f'resource \\"{resource}\\"' in tail(picker.process, 60_000), "it says so")

    assert not serves(served_network, picker)


def started(there: Network, namespace: str, row: str, lacking: str) -> Picker:
    """Start a picker that lacks a right, as another service."""
    name = f"{row}-{lacking}".replace(".", "-")
    config = yaml.dump(preset(PICKERS[row], "queue-size"))
    store(there, routes(namespace, name, PICKERS[row], config, replicas=2))
    role = path("roles", namespace, f"{name}-epp")
    rules = [rule for rule in get(there.cluster.api, role)["rules"] if lacking not in rule["resources"]]
    patch(there.cluster.api, role, {"rules": rules})
    return start_picker(there, namespace, f"{name}-epp")
