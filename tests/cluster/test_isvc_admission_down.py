"""While the webhook is down: an InferenceService is refused unless it bypasses it; the controller retries."""

from collections.abc import Iterator
from typing import Final

import pytest

from tests.builders.isvc import isvc, worker
from tests.cluster.testbed.api import delete, path
from tests.cluster.testbed.cluster import Cluster, KubectlError
from tests.cluster.testbed.control_plane import kill_process
from tests.cluster.testbed.controllers import apply
from tests.cluster.testbed.namespaces import new_namespace
from tests.cluster.testbed.ours import start_webhook, wait_admission
from tests.cluster.testbed.rollouts import started
from tests.cluster.testbed.services import conditions, says, told
from tests.cluster.testbed.wait import until

DISABLED: Final = {"fusioninfer.io/inject": "disabled"}


@pytest.fixture(scope="module")
def dead(served: Cluster) -> Iterator[str]:
    """A namespace with an InferenceService whose set is deleted once the webhook is dead."""
    with new_namespace(served) as namespace:
        apply(served, namespace, isvc(worker(), name="chat"))
        started_of(served, namespace, "chat")
        kill_process(served, "webhook")
        try:
            delete(served.api, path("leaderworkersets", namespace, "chat-inference"))
            yield namespace
        finally:
            if "webhook" not in served.processes:
                back(served)


def test_it_is_refused_and_the_dead_webhook_is_named(served: Cluster, dead: str) -> None:
    with pytest.raises(KubectlError, match="failed calling webhook"):
        apply(served, dead, isvc(worker(), name="other"))


def test_one_that_bypasses_admission_is_stored_and_no_object_is_created_unexpanded(
    served: Cluster, dead: str
) -> None:
    apply(served, dead, isvc(worker(), name="alone", annotations=DISABLED))

    events = until(lambda: told(served, dead, "alone"), "an Event says so")
    assert "FI874" in events[0]["message"]


def test_a_refused_write_is_reported_once(served: Cluster, dead: str) -> None:
    events = until(lambda: told(served, dead, "chat"), "an Event says so")

    assert [event["count"] for event in events] == [1]
    assert "LeaderWorkerSet chat-inference is not written: 500 InternalError" in events[0]["message"]


def test_the_status_names_the_obstacle(served: Cluster, dead: str) -> None:
    expected = {"Initialized": ("False", "LeaderWorkerSetMissing"), "Progressing": ("True", "Applying")}
    said = conditions(says(served, dead, "chat", {**expected, "Failed": ("False", "NothingFailed")}))

    assert "failed calling webhook" in said["Progressing"]["message"]


def test_once_it_is_back_everything_is_made(served: Cluster, dead: str) -> None:
    back(served)

    started_of(served, dead, "chat")
    says(served, dead, "chat", {"Initialized": ("True", "InferenceServiceCreating")})


def back(cluster: Cluster) -> None:
    """Start the webhook again."""
    start_webhook(cluster)
    wait_admission(cluster)


def started_of(cluster: Cluster, namespace: str, name: str) -> None:
    """Wait for the pods of a service of one worker."""
    started(cluster, namespace, f"{name}-inference")
