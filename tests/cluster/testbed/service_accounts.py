"""Processes that are a service account: a token from the API server, and a kubeconfig that holds it."""

import json
from pathlib import Path
from typing import Final

from tests.cluster.testbed.api import create, path
from tests.cluster.testbed.cluster import Cluster, kubeconfig_for

SECONDS: Final = 3600


def token(cluster: Cluster, namespace: str, name: str) -> str:
    """Have the API server issue a token of a service account, as the kubelet does for its pods."""
    request = {"spec": {"expirationSeconds": SECONDS}}
    issued = create(cluster.api, path("serviceaccounts", namespace, name, "token"), request)
    return str(issued["status"]["token"])


def kubeconfig_of(cluster: Cluster, server: str, namespace: str, name: str) -> Path:
    """Write a kubeconfig of a service account for a server's address; one before it may be being read."""
    file = cluster.directory / f"{namespace}-{name}.kubeconfig"
    next_one = file.with_suffix(".next")
    next_one.write_text(json.dumps(kubeconfig_for(cluster, server, name, token(cluster, namespace, name))))
    return next_one.replace(file)
