"""A time in which nobody checks InferenceServices: what is stored then may break any rule of the webhook."""

from collections.abc import Iterator
from contextlib import contextmanager

from intent import Object
from tests.cluster.testbed.api import ApiError, create, delete, path
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.ours import install_manifests
from tests.cluster.testbed.wait import until


@contextmanager
def unchecked(cluster: Cluster, namespace: str, mistaken: Object) -> Iterator[None]:
    """Delete our validating webhooks for a while; a refusal of `mistaken` shows when they are back."""
    delete(cluster.api, path("validatingwebhookconfigurations", "", "validate.fusioninfer.io"))
    until(lambda: _is_accepted(cluster, namespace, mistaken), "nobody checks InferenceServices")
    try:
        yield
    finally:
        install_manifests(cluster)
        until(lambda: not _is_accepted(cluster, namespace, mistaken), "InferenceServices are checked again")


def _is_accepted(cluster: Cluster, namespace: str, obj: Object) -> bool:
    trial = {**obj, "metadata": {**obj["metadata"], "name": "trial"}}
    try:
        create(cluster.api, path("inferenceservices", namespace), trial, dryRun="All")
    except ApiError:
        return False
    return True
