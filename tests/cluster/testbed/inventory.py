"""Everything that a cluster holds, by kind, namespace and name."""

from typing import Final

from tests.cluster.testbed.cluster import Cluster, KubectlError, kubectl
from tests.cluster.testbed.wait import until

EACH: Final = '{range .items[*]}{.kind}/{.metadata.namespace}/{.metadata.name}{"\\n"}{end}'
FLEETING: Final = frozenset(
    {"APIService", "ControllerRevision", "Endpoints", "EndpointSlice", "Event", "Pod", "ReplicaSet"}
)
"""What others make of what is there, and take away with it."""


def inventory(cluster: Cluster) -> frozenset[str]:
    """List every object of every kind, but those that come and go with another."""
    found = until(lambda: _listed(cluster), "every kind that the API server names is served").split()
    return frozenset(name for name in found if name.partition("/")[0] not in FLEETING)


def _listed(cluster: Cluster) -> str:
    """Return every object; nothing while a kind is named whose definition was just deleted."""
    kinds = kubectl(cluster, "api-resources", "--verbs=list", "--output=name").split()
    words = ("--all-namespaces", f"--output=jsonpath={EACH}", "--ignore-not-found")
    try:
        return kubectl(cluster, "get", ",".join(kinds), *words)
    except KubectlError as error:
        if "the server doesn't have a resource type" not in str(error):
            raise
        return ""
