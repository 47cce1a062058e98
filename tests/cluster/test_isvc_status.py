"""The status of story 4 through its life: no nodes, some, all; another image, another replica.

One InferenceService lives through it all; what was seen on the way stands in `Life`, and every state that was
stored, of the InferenceService and of its LeaderWorkerSets, in the order of the writes.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import pytest

from intent import Object
from tests.builders.patience import PATIENCE
from tests.cluster.testbed.api import get, items, patch, path
from tests.cluster.testbed.cluster import Cluster, kubectl, run_kubectl
from tests.cluster.testbed.controllers import apply
from tests.cluster.testbed.namespaces import new_namespace
from tests.cluster.testbed.nodes import add_gpu_nodes
from tests.cluster.testbed.services import conditions, says, states, status, story
from tests.cluster.testbed.wait import until
from tests.cluster.testbed.watch import in_order, recorded

NAME: Final = "deepseek-r1-disagg"
PREFILL, DECODE = f"{NAME}-prefill", f"{NAME}-decode"
READY: Final = ("True", "ServiceReady")
NO_ROOM: Final = ("False", "WaitingForResources")
COMPLETE: Final = {
    "Scheduled": ("True", "AllScheduled"),
    "Ready": READY,
    "Active": ("True", "InferenceServiceAvailable"),
    "Progressing": ("False", "Complete"),
}
FIRST_IMAGE: Final = "vllm/vllm-openai:v0.11.0"
IMAGE: Final = "vllm/vllm-openai:v0.11.1"


Act = Callable[[Cluster, str], None]


@dataclass(frozen=True, slots=True)
class Life:
    """The status at each step, what kubectl printed, and all that was stored."""

    steps: dict[str, Object]
    listed: list[str]
    waited: str
    history: list[Object]


@pytest.fixture(scope="module")
def life(fusioninfer: Cluster) -> Iterator[Life]:
    with new_namespace(fusioninfer) as namespace:
        yield lived(fusioninfer, namespace)


def lived(fusioninfer: Cluster, namespace: str) -> Life:
    """Play all steps."""
    collections = [path(resource, namespace) for resource in ("inferenceservices", "leaderworkersets")]
    steps: dict[str, Object] = {}
    with recorded(fusioninfer.api, *collections) as history:
        apply(fusioninfer, namespace, story("story-4"))
        for name, act, expected in STEPS:
            act(fusioninfer, namespace)
            steps[name] = says(fusioninfer, namespace, NAME, expected)
        words = ("--namespace", namespace, f"--timeout={PATIENCE:.0f}s", f"inferenceservice/{NAME}")
        waited = run_kubectl(fusioninfer, "wait", "--for=condition=Ready", *words).stdout
        shown = kubectl(fusioninfer, "get", "isvc", "--namespace", namespace, "--no-headers")
    return Life(steps, shown.split(), waited, in_order(history))


# --- what happens to it -----------------------------------------------------------------------------


def no_nodes(cluster: Cluster, namespace: str) -> None:
    """Wait until the scheduler has said why it places no pod, and the status quotes it."""

    def said() -> bool:
        pods = items(cluster.api, path("pods", namespace))
        return len(pods) == 10 and all(held(pod) for pod in pods)

    def quoted() -> bool:
        scheduled = conditions(status(cluster, namespace, NAME)).get("Scheduled", {"message": ""})
        return "The scheduler says" in scheduled["message"]

    until(said, "no pod fits")
    until(quoted, "the status quotes the scheduler")


def nodes(count: int) -> Act:
    """Add so many nodes."""

    def add(cluster: Cluster, _namespace: str) -> None:
        add_gpu_nodes(cluster, count)

    return add


def another_image(cluster: Cluster, namespace: str) -> None:
    """Change the image of decode: nothing else betrays that something is under way."""
    before, _, after = story("story-4").read_text().rpartition(FIRST_IMAGE)
    kubectl(cluster, "apply", "--namespace", namespace, "--filename=-", stdin=before + IMAGE + after)
    rolled(cluster, namespace)


def one_more(cluster: Cluster, namespace: str) -> None:
    """Ask for a third replica of decode, for which there is no capacity."""
    roles = get(cluster.api, path("inferenceservices", namespace, NAME))["spec"]["roles"]
    roles[1]["replicas"] = 3
    patch(cluster.api, path("inferenceservices", namespace, NAME), {"spec": {"roles": roles}})


def rolled(cluster: Cluster, namespace: str) -> None:
    """Wait until every pod of decode runs the new image."""

    def new() -> bool:
        pods = items(cluster.api, path("pods", namespace))
        return [pod["spec"]["containers"][0]["image"] for pod in pods].count(IMAGE) == 8

    until(new, "every pod of decode runs the new image")


def held(pod: Object) -> bool:
    """Return whether the scheduler has reported a pod as unschedulable."""
    return any(each["type"] == "PodScheduled" for each in pod.get("status", {}).get("conditions", ()))


STEPS: Final[tuple[tuple[str, Act, dict[str, tuple[str, str]]], ...]] = (
    ("no nodes", no_nodes, {"Scheduled": NO_ROOM, "Ready": ("False", "NotScheduled")}),
    ("some nodes", nodes(2 + 4), {"Scheduled": ("True", "PartlyScheduled"), "Ready": READY}),
    ("all nodes", nodes(4), COMPLETE),
    ("another image", another_image, COMPLETE),
    ("one more", one_more, {"Scheduled": ("True", "PartlyScheduled"), "Ready": READY}),
)
"""What is done, and what the status then comes to say."""


# --- what is said -----------------------------------------------------------------------------------


def test_the_status_reports_what_each_role_waits_for(life: Life) -> None:
    message = conditions(life.steps["no nodes"])["Scheduled"]["message"]

    assert message.startswith(
        "role prefill waits for 16 more nvidia.com/gpu (2 pods); "
        "role decode waits for 32 more nvidia.com/gpu (4 pods). The scheduler says: "
    )


@pytest.mark.parametrize(
    ("step", "prefill", "decode"),
    [
        ("no nodes", (0, 0, "Pending"), (0, 0, "Pending")),
        ("some nodes", (1, 2, "Running"), (1, 4, "Deploying")),
        ("all nodes", (1, 2, "Running"), (2, 8, "Running")),
        ("another image", (1, 2, "Running"), (2, 8, "Running")),
        ("one more", (1, 2, "Running"), (2, 8, "Deploying")),
    ],
)
def test_replicas_and_pods_are_counted(
    life: Life, step: str, prefill: tuple[int, int, str], decode: tuple[int, int, str]
) -> None:
    components = life.steps[step]["components"]

    counted = [
        tuple(components[role][key] for key in ("readyReplicas", "readyPods", "phase"))
        for role in ("prefill", "decode")
    ]

    assert counted == [prefill, decode]


def test_kubectl_waits_for_it(life: Life) -> None:
    assert life.waited == f"inferenceservice.fusioninfer.io/{NAME} condition met\n"


def test_kubectl_lists_it(life: Life) -> None:
    assert life.listed[:4] == [NAME, "True", "3/4", "ServiceReady"]


# --- what was ever said -----------------------------------------------------------------------------


def test_it_is_never_complete_before_the_sets_are(life: Life) -> None:
    """Whenever `Active` is said, the status of every LeaderWorkerSet speaks of what it is."""
    assert [before for before in at_active(life) if not all(map(is_current, before))] == []


def test_it_was_complete_with_each_image(life: Life) -> None:
    images = {image(lws) for before in at_active(life) for lws in before if lws["metadata"]["name"] == DECODE}

    assert images == {FIRST_IMAGE, IMAGE}


def services(life: Life) -> list[Object]:
    """Return the states of the InferenceService."""
    return [obj for obj in life.history if obj["kind"] == "InferenceService"]


def at_active(life: Life) -> list[list[Object]]:
    """Return the LeaderWorkerSets as they were at each write that says `Active` of the present generation."""
    sets: dict[str, Object] = {}
    found = []
    for obj in life.history:
        if obj["kind"] == "LeaderWorkerSet":
            sets[obj["metadata"]["name"]] = obj
        elif says_active(obj):
            found.append(list(sets.values()))
    return found


def says_active(service: Object) -> bool:
    """Return whether a status says that its present generation is complete."""
    status = service.get("status", {})
    current = status.get("observedGeneration") == service["metadata"]["generation"]
    return current and states(status, "Active") == {"Active": ("True", "InferenceServiceAvailable")}


def is_current(lws: Object) -> bool:
    """Return whether the status of a LeaderWorkerSet speaks of what it is."""
    return bool(lws["status"].get("observedGeneration") == lws["metadata"]["generation"])


def image(lws: Object) -> str:
    """Return the image of its engine."""
    template = lws["spec"]["leaderWorkerTemplate"]["workerTemplate"]
    return str(template["spec"]["containers"][0]["image"])
