"""Everything that a cluster holds, by kind, namespace and name."""

from typing import Final

from tests.cluster.testbed.cluster import Cluster, kubectl

EACH: Final = '{range .items[*]}{.kind}/{.metadata.namespace}/{.metadata.name}{"\\n"}{end}'
FLEETING: Final = frozenset(
    {"APIService", "ControllerRevision", "Endpoints", "EndpointSlice", "Event", "Pod", "ReplicaSet"}
)
"""What others make of what is there, and take away with it."""


def inventory(cluster: Cluster) -> frozenset[str]:
    """List every object of every kind, but those that come and go with another."""
    kinds = kubectl(cluster, "api-resources", "--verbs=list", "--output=name").split()
    words = ("--all-namespaces", f"--output=jsonpath={EACH}", "--ignore-not-found")
    found = kubectl(cluster, "get", ",".join(kinds), *words).split()
    return frozenset(name for name in found if name.partition("/")[0] not in FLEETING)
