"""How what is made is named, and how long that may be."""

from typing import Final

LABEL: Final = 63
"""The value of a label, and the name of a Service."""
HASH: Final = len("-") + 10
"""Pods carry `controller-revision-hash: <StatefulSet>-<hash>`, a 32-bit number encoded digit by digit
(`k8s.io/kubernetes` `pkg/controller/history`)."""
PICKER_ENDING: Final = "-epp"
WAIT_FOR_LEADER: Final = "wait-for-leader"
"""The init container that waits until the leader's name resolves."""


def picker_name(service: str) -> str:
    """Name the endpoint picker: its ServiceAccount, Role, RoleBinding, Deployment and Service."""
    return service + PICKER_ENDING


def longest_name(size: int, replicas: int) -> int:
    """Give the longest name of a LeaderWorkerSet with which LWS can create every pod.

    Workers' StatefulSets add their group's index.
    """
    group = len(f"-{max(replicas - 1, 0)}") if size > 1 else 0
    return LABEL - HASH - group
