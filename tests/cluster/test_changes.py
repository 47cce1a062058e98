"""Events about what the controller does and undoes, as `kubectl describe` shows them."""

from collections.abc import Iterator
from typing import Final

import pytest

from intent import Object
from tests.builders.isvc import decoder, isvc, prefiller, router
from tests.cluster.testbed.api import items, path
from tests.cluster.testbed.cluster import Cluster, kubectl
from tests.cluster.testbed.controllers import apply, becomes
from tests.cluster.testbed.namespaces import new_namespace
from tests.cluster.testbed.services import recorded_events
from tests.cluster.testbed.wait import until

NAME: Final = "chat"
ROUTER: Final = router(strategy="pd-disaggregation", httproute={"parentRefs": [{"name": "shared"}]})
SERVICE: Final = isvc(ROUTER, prefiller(replicas=1), decoder(replicas=1), name=NAME)


@pytest.fixture(scope="module")
def made(served: Cluster) -> Iterator[str]:
    """A namespace with a service that has all its objects."""
    with new_namespace(served) as namespace:
        apply(served, namespace, SERVICE)
        until(lambda: told(served, namespace, "RoutesCreated"), "its routes are made")
        yield namespace


def told(cluster: Cluster, namespace: str, reason: str) -> list[Object]:
    return [each for each in recorded_events(cluster, namespace, NAME) if each["reason"] == reason]


def undone(cluster: Cluster, namespace: str, start: str) -> list[str]:
    """Return the messages about undone changes of one object."""
    messages = [each["message"] for each in told(cluster, namespace, "ChangeReverted")]
    return [message for message in messages if message.startswith(start)]


def test_a_new_service_is_told_what_was_made(served: Cluster, made: str) -> None:
    def words(reason: str) -> set[str]:
        messages = (each["message"] for each in told(served, made, reason))
        return set(" ".join(messages).replace(",", "").split())

    opened = f"created PodGroup {NAME}: the required roles exist (decode, prefill); 4 pods start together"
    until(lambda: {f"{NAME}-prefill", f"{NAME}-decode"} <= words("Created"), "both roles are told")
    until(lambda: {"HTTPRoute", f"{NAME}-httproute", f"{NAME}-pool"} <= words("RoutesCreated"), "routes, too")
    until(lambda: [one["message"] for one in told(served, made, "GangOpened")] == [opened], "and the gang")


def test_kubectl_describe_shows_them(served: Cluster, made: str) -> None:
    shown = kubectl(served, "describe", "inferenceservice", NAME, "--namespace", made)

    assert "GangOpened" in shown
    assert "fusioninfer-sync" in shown


@pytest.mark.parametrize(
    ("words", "start"),
    [
        (
            ("patch", "podgroup", NAME, "--type=merge", '--patch={"spec":{"minMember":9}}'),
            f"PodGroup {NAME} was changed by kubectl-patch (spec.minMember), and the change was undone; ",
        ),
        (
            ("scale", "leaderworkerset", f"{NAME}-decode", "--replicas=3"),
            f"LeaderWorkerSet {NAME}-decode was changed by kubectl (spec.replicas), and the change was ",
        ),
        (
            ("label", "deployment", f"{NAME}-epp", "fusioninfer.io/service-"),
            f"Deployment {NAME}-epp was changed by another client (metadata.labels.fusioninfer.io/service), ",
        ),
        (
            ("delete", "httproute", f"{NAME}-httproute"),
            f"HTTPRoute {NAME}-httproute was deleted by another client, and was created again; ",
        ),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else None,
)
def test_a_change_that_is_undone_is_told(
    served: Cluster, made: str, words: tuple[str, ...], start: str
) -> None:
    kubectl(served, *words, "--namespace", made)

    def said() -> list[str]:
        return undone(served, made, start)

    try:
        (message,) = until(said, "an Event says so")
    except TimeoutError as error:
        raise AssertionError([one["message"] for one in told(served, made, "ChangeReverted")]) from error
    assert message.endswith(
        f'change InferenceService {NAME} instead, or set fusioninfer.io/paused: "true" there first'
    )


def test_a_repaired_object_has_the_event_too(served: Cluster, made: str) -> None:
    kubectl(served, "label", "deployment", f"{NAME}-epp", "fusioninfer.io/service-", "--namespace", made)

    def reasons() -> set[str]:
        events = items(served.api, path("events", made), fieldSelector="involvedObject.kind=Deployment")
        return {each["reason"] for each in events if each["source"].get("component") == "fusioninfer-sync"}

    assert becomes(reasons, {"ChangeReverted"}) == {"ChangeReverted"}
