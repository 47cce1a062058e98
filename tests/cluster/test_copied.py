"""What LWS 0.10 copies to StatefulSets: all labels and annotations of a LeaderWorkerSet, also ours.

It cannot be built here, so the test copies them (kubernetes-sigs/lws#896).
"""

from intent.annotations import EXPANSION
from tests.builders.lws import container, lws, template
from tests.cluster.testbed.api import get, items, patch, path
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.controllers import apply
from tests.cluster.testbed.groups import pods
from tests.cluster.testbed.wait import until
from tests.cluster.testbed.written import named


def test_metadata_on_statefulsets_changes_no_pod(fusioninfer: Cluster, namespace: str) -> None:
    api, where = fusioninfer.api, path("leaderworkersets", namespace, "copied")
    apply(fusioninfer, namespace, named(lws(2, template(container()), service="copied"), "copied"))
    until(lambda: len(pods(fusioninfer, namespace)) == 2, "the pods of a group")
    before, metadata = revisions(fusioninfer, namespace), get(api, where)["metadata"]

    copied = {key: metadata[key] for key in ("labels", "annotations")}
    assert EXPANSION in copied["annotations"]
    for one in items(api, path("statefulsets", namespace)):
        patch(api, path("statefulsets", namespace, one["metadata"]["name"]), {"metadata": copied})
    patch(api, f"{where}/scale", {"spec": {"replicas": 2}})
    until(lambda: len(pods(fusioninfer, namespace)) == 4, "the pods of another group")

    after = revisions(fusioninfer, namespace)
    assert after.items() >= before.items()
    assert after["copied-1"][1] == before["copied-0"][1]


def revisions(cluster: Cluster, namespace: str) -> dict[str, tuple[str, str]]:
    """Return the uid of each pod, and the revision of its StatefulSet."""
    found = [one["metadata"] for one in pods(cluster, namespace)]
    return {one["name"]: (one["uid"], one["labels"]["controller-revision-hash"]) for one in found}
