"""What becomes of routes that are stored: edits by hand, parts that are deleted, routers that go."""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from catalog.pickers.generations import PICKERS
from intent import Object
from sync.desired.render.routes import destination_rule
from sync.desired.routes import Routes
from tests.builders.isvc import isvc, router, worker
from tests.builders.lws import container, template
from tests.cluster.testbed.api import ApiError, create, delete, get, items, patch, path
from tests.cluster.testbed.audit import refused, writes
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.controllers import apply, becomes
from tests.cluster.testbed.flows import ROUTE
from tests.cluster.testbed.namespaces import add_namespace, empty_namespace
from tests.cluster.testbed.wait import until

NAME: Final = "demo"
ENGINE: Final = worker(multinode=None, template=template(container(args=["org/M"], resources=None)))
ROUTER: Final = router(strategy="queue-size", httproute=ROUTE)
PARTS: Final = {
    "serviceaccounts": f"{NAME}-epp",
    "rolebindings": f"{NAME}-epp-read",
    "configmaps": f"{NAME}-epp-config",
    "inferencepools": f"{NAME}-pool",
    "deployments": f"{NAME}-epp",
    "services": f"{NAME}-epp",
    "httproutes": f"{NAME}-httproute",
}
EDITS: Final[dict[str, Object]] = {
    "rolebindings": {"subjects": [{"kind": "ServiceAccount", "name": "other", "namespace": "default"}]},
    "configmaps": {"data": {"config.yaml": "a: b"}},
    "inferencepools": {"spec": {"targetPorts": [{"number": 1}]}},
    "deployments": {"spec": {"replicas": 0}},
    "services": {"spec": {"selector": {"app.kubernetes.io/instance": "other"}}},
    "httproutes": {"spec": {"rules": [{"timeouts": {"request": "15s"}}]}},
}


@pytest.fixture
def namespace(served: Cluster) -> Iterator[str]:
    """A namespace with a service that is routed."""
    name = add_namespace(served)
    apply(served, name, isvc(ROUTER, ENGINE, name=NAME))
    until(lambda: there(served, name) == set(PARTS), "all of the routes are there")
    yield name
    empty_namespace(served, name)


@pytest.mark.parametrize("kind", EDITS)
def test_an_edit_by_hand_is_undone(served: Cluster, namespace: str, kind: str) -> None:
    where = path(kind, namespace, PARTS[kind])
    before = written(get(served.api, where))

    edited = written(patch(served.api, where, EDITS[kind]))

    assert edited != before
    assert before == becomes(lambda: written(get(served.api, where)), before)


def test_a_part_that_is_deleted_is_made_again(served: Cluster, namespace: str) -> None:
    for kind, name in PARTS.items():
        delete(served.api, path(kind, namespace, name))

    assert becomes(lambda: there(served, namespace), set(PARTS)) == set(PARTS)


def test_a_removed_router_leaves_no_objects(served: Cluster, namespace: str) -> None:
    apply(served, namespace, isvc(ENGINE, name=NAME))

    assert becomes(lambda: there(served, namespace), set()) == set()
    assert len(items(served.api, path("leaderworkersets", namespace))) == 1


def test_a_second_router_is_refused(served: Cluster, namespace: str) -> None:
    twice = isvc(ROUTER, router(name="second"), ENGINE, name="twice")

    with pytest.raises(ApiError, match="router"):
        create(served.api, path("inferenceservices", namespace), twice)


def test_the_pool_exists_before_its_endpoint_picker(served: Cluster, namespace: str) -> None:
    def parts() -> list[str]:
        made = [
            each["objectRef"]["resource"]
            for each in writes(served)
            if each["objectRef"].get("namespace") == namespace and "dryRun" not in each["requestURI"]
        ]
        return [kind for kind in made if kind in PARTS]

    expected = ["services", *PARTS]
    assert becomes(parts, expected) == expected, "the Service on the leaders is made first"


def test_istio_s_own_schema_accepts_the_rule_for_the_endpoint_picker(served: Cluster) -> None:
    rule = destination_rule(Routes("default", NAME, picker=PICKERS["gie-1.5"], config="", port=1))

    dry = {"dryRun": "All", "fieldValidation": "Strict"}
    stored = create(served.api, path("destinationrules", "default"), rule, **dry)

    assert stored["spec"] == rule["spec"]


def test_nothing_is_forbidden_to_the_controller(served: Cluster, namespace: str) -> None:
    bound = get(served.api, path("rolebindings", namespace, f"{NAME}-epp-read"))["roleRef"]["name"]

    assert (refused(served), bound) == ([], "fusioninfer-endpoint-picker")


def there(cluster: Cluster, namespace: str) -> set[str]:
    """Return the kinds of which there is a part of the routes."""
    return {kind for kind, name in PARTS.items() if name in names(cluster, namespace, kind)}


def names(cluster: Cluster, namespace: str, kind: str) -> set[str]:
    found = (each["metadata"] for each in items(cluster.api, path(kind, namespace)))
    return {each["name"] for each in found if "deletionTimestamp" not in each}


def written(obj: Object) -> Any:
    """Return what an object asks for, whichever field its kind has for that."""
    return next(obj[field] for field in ("spec", "data", "subjects") if field in obj)
