"""A PodGroup that cannot describe a gang is never created: the pods wait, and Events report it."""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from intent import Object
from tests.cluster.testbed.api import create, get, items, path, update
from tests.cluster.testbed.audit import writes
from tests.cluster.testbed.cluster import Cluster, kubectl
from tests.cluster.testbed.controllers import (
    DECODE,
    PREFILL,
    SERVICE,
    apply,
    becomes,
    metric,
    offline,
    pod_group,
    told,
)
from tests.cluster.testbed.wait import until

DEFINITION: Final = path("customresourcedefinitions", "", "podgroups.scheduling.volcano.sh")
TRIAL: Final = {
    "apiVersion": "scheduling.volcano.sh/v1beta1",
    "kind": "PodGroup",
    "metadata": {"name": "trial"},
    "spec": {"minMember": 1, "subGroupPolicy": [{"name": "trial", "subGroupSize": 1}]},
}
TOLD: Final = [(f"{SERVICE}-decode", "FI408"), (f"{SERVICE}-prefill", "FI408")]


def test_no_pod_group_is_made_at_any_moment_until_volcano_is_new_enough(
    fusioninfer: Cluster, namespace: str
) -> None:
    port, before = fusioninfer.ports["sync-metrics"], len(writes(fusioninfer))
    with old_schema(fusioninfer):
        apply(fusioninfer, namespace, PREFILL, DECODE)
        until(lambda: told(fusioninfer, namespace) == TOLD, "both members are told")
        assert becomes(lambda: counted(port), len(TOLD)) == len(TOLD)

        of_pod_groups = [uri for uri in requested(fusioninfer)[before:] if "/podgroups" in uri]
        assert of_pod_groups
        assert all("dryRun=All" in uri for uri in of_pod_groups)
        assert items(fusioninfer.api, path("podgroups", namespace)) == []

    kubectl(fusioninfer, "scale", "-n", namespace, f"leaderworkersets/{SERVICE}-decode", "--replicas=3")

    now = offline(namespace, PREFILL, DECODE)
    assert now == becomes(lambda: pod_group(fusioninfer, namespace), now)
    assert becomes(lambda: counted(port), 0.0) == 0.0


def counted(port: int) -> float:
    """Read how many members the controller has refused a PodGroup."""
    return metric(port, "fusioninfer_sync_findings", code="FI408")


@contextmanager
def old_schema(cluster: Cluster) -> Iterator[None]:
    """Serve PodGroups without `subGroupPolicy` for a while."""
    spec = get(cluster.api, DEFINITION)["spec"]
    old = copy.deepcopy(spec)
    for version in old["versions"]:
        del version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["subGroupPolicy"]
    try:
        serve(cluster, old)
        yield
    finally:
        serve(cluster, spec)


def serve(cluster: Cluster, spec: Object) -> None:
    """Change the definition; wait until the API server works by it."""
    schema = spec["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    update(cluster.api, DEFINITION, {**get(cluster.api, DEFINITION), "spec": spec})
    until(lambda: keeps(cluster) == ("subGroupPolicy" in schema), "the definition is in force")


def keeps(cluster: Cluster) -> bool:
    """Return whether the API server would store `subGroupPolicy`."""
    return "subGroupPolicy" in create(cluster.api, path("podgroups", "default"), TRIAL, dryRun="All")["spec"]


def requested(cluster: Cluster) -> list[str]:
    """Return where the controller wrote, dry runs too."""
    return [each["requestURI"] for each in writes(cluster)]
