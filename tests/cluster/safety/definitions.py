"""The fault that a definition is deleted with all its objects, and created again."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from random import Random
from typing import Final

from tests.cluster.chaos.people import Service
from tests.cluster.safety.scene import LIVE, Scene, until
from tests.cluster.safety.witness import OWNED
from tests.cluster.testbed.api import create, delete, get, items, path
from tests.cluster.testbed.control_plane import log_of
from tests.cluster.testbed.install import all_established

DEFINITIONS: Final[Mapping[str, str]] = {
    "podgroups": "podgroups.scheduling.volcano.sh",
    "inferencepools": "inferencepools.inference.networking.k8s.io",
    "inferenceservices": "inferenceservices.fusioninfer.io",
}
"""Definitions by resource. LeaderWorkerSets are not among them: without these nothing runs."""
AUTHORED: Final[Mapping[str, Service]] = {"inferenceservices": LIVE[1]}
"""Services whose files hold objects of such a resource; the controller makes those of the others."""
COLLECTED: Final = 120.0
"""Seconds in which the garbage collector deletes what they owned; it looks for new kinds each 30 s."""
NOTICED: Final = 15.0
"""Seconds in which a controller that is not disturbed otherwise finds that a kind is no longer served."""


@contextmanager
def definition_remade(one: Scene, random: Random, resource: str = "") -> Iterator[str]:
    """Delete a definition with all its objects, and create it again; then these objects are made again.

    The garbage collector deletes what an InferenceService owns, and its author applies it again.
    """
    resource = resource or random.choice(tuple(DEFINITIONS))
    where = path("customresourcedefinitions", "", DEFINITIONS[resource])
    author = AUTHORED.get(resource)
    stored = get(one.cluster.api, where)
    uids = frozenset(_uids_of(one, resource))
    one.spare(*uids, *([author.name] if author else []))
    delete(one.cluster.api, where)
    until(one, lambda: not _is_defined(one, resource), f"the definition of {resource} is gone")
    one.kubelet.tend_until(lambda: _is_known_as_absent(one, resource), NOTICED)
    try:
        yield f"the definition of {resource} deleted"
    finally:
        metadata = {key: stored["metadata"].get(key) for key in ("name", "labels", "annotations")}
        named = {key: value for key, value in metadata.items() if value}
        create(one.cluster.api, where.rpartition("/")[0], {**stored, "metadata": named, "status": {}})
        until(one, lambda: all_established(one.cluster), f"{resource} are served again")
        if author:
            one.apply(author)
            until(one, lambda: not any(_owned_by(one, uids)), "the garbage collector is done", COLLECTED)


def _uids_of(one: Scene, resource: str) -> Iterator[str]:
    for obj in items(one.cluster.api, path(resource, one.namespace)):
        yield obj["metadata"]["uid"]


def _owned_by(one: Scene, uids: frozenset[str]) -> Iterator[str]:
    for resource in OWNED:
        for obj in items(one.cluster.api, path(resource, one.namespace)):
            if any(owner["uid"] in uids for owner in obj["metadata"].get("ownerReferences", ())):
                yield obj["metadata"]["name"]


def _is_defined(one: Scene, resource: str) -> bool:
    there = items(one.cluster.api, path("customresourcedefinitions"))
    return DEFINITIONS[resource] in {obj["metadata"]["name"] for obj in there}


def _is_known_as_absent(one: Scene, resource: str) -> bool:
    """Return whether the leader's last word on a kind is that it is not served."""
    lines = log_of(one.cluster, one.leader).read_text().splitlines()
    said = [line for line in lines if f'"kind":"{resource}"' in line]
    return bool(said) and '"event":"kind not served"' in said[-1]
