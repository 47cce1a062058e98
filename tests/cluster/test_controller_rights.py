"""The audit log of the API server shows that the controller uses the rights of its manifests and no other.

The log is that of the whole run so far: what earlier files had the controller do counts too.
"""

from collections.abc import Iterator

import pytest

from sync.kinds import WATCHED
from tests.cluster.testbed.audit import refused, requests, words
from tests.cluster.testbed.cluster import IDENTITIES, Cluster
from tests.cluster.testbed.controllers import DECODE, PREFILL, SERVICE, apply, pod_group, told
from tests.cluster.testbed.namespaces import add_namespace, empty_namespace
from tests.cluster.testbed.rights import rights
from tests.cluster.testbed.wait import until
from tests.cluster.testbed.written import named, read


@pytest.fixture(scope="module")
def whole_life(fusioninfer: Cluster) -> Iterator[Cluster]:
    """A service that waits, has a PodGroup, and has none any more, for it gives up its gang."""
    namespace = add_namespace(fusioninfer)
    apply(fusioninfer, namespace, PREFILL)
    until(lambda: told(fusioninfer, namespace), "it is told that it waits")
    apply(fusioninfer, namespace, DECODE)
    until(lambda: pod_group(fusioninfer, namespace), "the PodGroup is made")
    without = {"scheduler_name": "default-scheduler"}
    apply(fusioninfer, namespace, named(read(PREFILL), f"{SERVICE}-prefill", **without))
    apply(fusioninfer, namespace, named(read(DECODE), f"{SERVICE}-decode", **without))
    until(lambda: not pod_group(fusioninfer, namespace), "the PodGroup is deleted")
    yield fusioninfer
    empty_namespace(fusioninfer, namespace)


def test_nothing_was_forbidden(whole_life: Cluster) -> None:
    forbidden = refused(whole_life)

    assert forbidden == []


def test_every_request_was_made_as_its_service_account(whole_life: Cluster) -> None:
    users = {request["user"]["username"] for request in requests(whole_life)}

    assert users == {IDENTITIES["sync"].user}


def test_it_uses_no_right_beyond_its_manifests(whole_life: Cluster) -> None:
    expected = {("patch", "podgroups"), ("delete", "podgroups"), ("create", "events")}

    until(lambda: expected <= asked(whole_life), "the API server has logged them")
    assert asked(whole_life) <= rights()


def test_it_polls_for_every_kind_that_it_knows(whole_life: Cluster) -> None:
    expected = {("list", kind.resource.plural) for kind in WATCHED}

    until(lambda: expected <= asked(whole_life), "the API server has logged them")


def asked(cluster: Cluster) -> set[tuple[str, str]]:
    """Return verb and resource of each request of the controller."""
    return {words(request) for request in requests(cluster)}
