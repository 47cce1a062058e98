"""Rollouts of a role by its rollout strategy, beside a gang that serves: a canary, an additional replica."""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from intent import Object
from tests.builders.autoscaling import rolling
from tests.builders.isvc import decoder, isvc, prefiller
from tests.builders.lws import container, template
from tests.cluster.testbed.api import items, path
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.controllers import apply, becomes, required
from tests.cluster.testbed.groups import Bound, bound, group_of, settled
from tests.cluster.testbed.namespaces import new_namespace
from tests.cluster.testbed.nodes import add_gpu_nodes
from tests.cluster.testbed.rollouts import started
from tests.cluster.testbed.services import says
from tests.cluster.testbed.wait import until

NAME: Final = "chat"
PREFILL, DECODE = (f"{NAME}-{role}" for role in ("prefill", "decode"))
OLD, NEW = "vllm/vllm-openai:v0.17.1", "vllm/vllm-openai:v0.18.0"
WHOLE: Final = {f"{PREFILL}-0": (2, 2), f"{DECODE}-0": (2, 2), f"{DECODE}-1": (2, 2)}
GANG: Final = (4, {PREFILL: (1, 2), DECODE: (1, 2)})
HEALTHY: Final = {"Failed": ("False", "NothingFailed")}


@pytest.fixture
def serving(served: Cluster) -> Iterator[str]:
    """A namespace with a prefiller and two decoders on six nodes."""
    with new_namespace(served) as namespace:
        apply(served, namespace, asking())
        started(served, namespace, DECODE)
        started(served, namespace, PREFILL)
        add_gpu_nodes(served, 6)
        until(lambda: bound(served, namespace) == WHOLE, "the gang is on nodes")
        yield namespace


def asking(image: str = OLD, **configuration: Any) -> Object:
    """Return a service with two decoders of an image, and the strategy of their rollout."""
    strategy = {"rolloutStrategy": rolling(**configuration)} if configuration else {}
    decoders = decoder(replicas=2, template=template(container(image=image)), **strategy)
    return isvc(prefiller(replicas=1), decoders, name=NAME)


def images(cluster: Cluster, namespace: str) -> dict[str, set[str]]:
    """Return the images that run in each group of decoders."""
    found: dict[str, set[str]] = {}
    for pod in items(cluster.api, path("pods", namespace)):
        if group_of(pod).startswith(DECODE):
            found.setdefault(group_of(pod), set()).add(pod["spec"]["containers"][0]["image"])
    return found


def pods_of(cluster: Cluster, namespace: str, group: str) -> dict[str, str]:
    """Return the uid of each pod of a group by its name."""
    found = items(cluster.api, path("pods", namespace))
    return {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in found if group_of(pod) == group}


def test_a_partition_makes_a_canary_beside_the_old_revision(served: Cluster, serving: str) -> None:
    """The change of the strategy itself restarts nothing."""
    kept = {group: pods_of(served, serving, group) for group in (f"{PREFILL}-0", f"{DECODE}-0")}
    apply(served, serving, asking(partition=1))

    apply(served, serving, asking(NEW, partition=1))
    both = {f"{DECODE}-0": {OLD}, f"{DECODE}-1": {NEW}}
    canary = becomes(lambda: images(served, serving), both)
    until(lambda: bound(served, serving) == WHOLE, "the canary is on nodes")
    caught_up_images = settled_images(served, serving)
    there = {group: pods_of(served, serving, group) for group in kept}
    gang = required(served, serving, NAME)
    apply(served, serving, asking(NEW, partition=0))
    everywhere = {f"{DECODE}-0": {NEW}, f"{DECODE}-1": {NEW}}
    after = becomes(lambda: images(served, serving), everywhere)

    assert (canary, caught_up_images, after) == (both, both, everywhere)
    assert (there, gang) == (kept, GANG)
    until(lambda: bound(served, serving) == WHOLE, "the gang is whole")
    assert pods_of(served, serving, f"{PREFILL}-0") == kept[f"{PREFILL}-0"]
    says(served, serving, NAME, HEALTHY)


def settled_images(cluster: Cluster, namespace: str) -> dict[str, set[str]]:
    """Return the images once nothing changes any more."""
    settled(cluster, namespace)
    return images(cluster, namespace)


def test_with_a_surge_no_decoder_is_lost_and_without_room_it_waits(served: Cluster, serving: str) -> None:
    least: list[int] = []

    def serve(now: Bound) -> None:
        least.append(sum(one == (2, 2) for group, one in now.items() if group.startswith(DECODE)))

    apply(served, serving, asking(NEW, maxSurge=1, maxUnavailable=0))
    until(lambda: f"{DECODE}-2" in bound(served, serving), "an additional group is made")
    waiting = settled(served, serving, periods=10, watch=serve)
    add_gpu_nodes(served, 2)
    everywhere = {f"{DECODE}-0": {NEW}, f"{DECODE}-1": {NEW}}

    def done() -> bool:
        serve(bound(served, serving))
        return images(served, serving) == everywhere

    until(done, "both are new, and the additional one is gone")

    assert waiting == {**WHOLE, f"{DECODE}-2": (0, 2)}
    assert min(least) == 2
    assert required(served, serving, NAME) == GANG
