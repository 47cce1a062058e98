"""The rights of a picker are enough, and none of them is too much: without any one it never serves."""

from collections.abc import Iterator
from typing import Final

import pytest

from catalog.pickers.generations import PICKERS
from intent import yaml
from sync.parts.strategies import preset
from tests.cluster.testbed.api import create, delete, items, path
from tests.cluster.testbed.flows import namespace_on
from tests.cluster.testbed.network import Network
from tests.cluster.testbed.ours import MANIFESTS
from tests.cluster.testbed.pickers import Picker, serves, start_picker, wait_picker
from tests.cluster.testbed.processes import tail
from tests.cluster.testbed.rendered import routes, store
from tests.cluster.testbed.wait import until

ROWS: Final = ("gie-1.5", "llm-d-0.7")
"""The default one, and the newest for prefill and decode that the testbed has."""
RIGHTS: Final = [
    (row, resource) for row in ROWS for resource in (*(name for _, name in PICKERS[row].rights), "leases")
]
ALL: Final = "all"
ROLES: Final = MANIFESTS / "picker-roles.yaml"


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


def take(there: Network, namespace: str, account: str, lacking: str) -> None:
    """Give an account, in place of what the manifests grant, the same rights but one."""
    api = there.cluster.api
    for binding in items(api, path("rolebindings", namespace)):
        if binding["metadata"]["name"] in {f"{account}-read", f"{account}-election"}:
            delete(api, path("rolebindings", namespace, binding["metadata"]["name"]))
    rules = [
        {**rule, "resources": [name for name in rule["resources"] if name != lacking]}
        for role in yaml.load(ROLES.read_text())
        for rule in role["rules"]
    ]
    group = "rbac.authorization.k8s.io"
    create(
        api,
        path("roles", namespace),
        {"metadata": {"name": account}, "rules": [rule for rule in rules if rule["resources"]]},
    )
    create(
        api,
        path("rolebindings", namespace),
        {
            "metadata": {"name": account},
            "roleRef": {"apiGroup": group, "kind": "Role", "name": account},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
        },
    )


def started(there: Network, namespace: str, row: str, lacking: str) -> Picker:
    """Start a picker that lacks a right, as another service."""
    name = f"{row}-{lacking}".replace(".", "-")
    config = yaml.dump(preset(PICKERS[row], "queue-size"))
    store(there, routes(namespace, name, PICKERS[row], config, picker_replicas=2))
    if lacking != ALL:
        take(there, namespace, f"{name}-epp", lacking)
    return start_picker(there, namespace, f"{name}-epp")
