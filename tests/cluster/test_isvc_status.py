"""The status of story 4 through its life: no nodes, some, all; another image, another replica.

One InferenceService lives through it all; what was seen on the way stands in `Life`.
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
from tests.cluster.testbed.services import conditions, says, status, story
from tests.cluster.testbed.wait import until

NAME: Final = "deepseek-r1-disagg"
PREFILL, DECODE = f"{NAME}-prefill", f"{NAME}-decode"
READY: Final = ("True", "ServiceReady")
NO_ROOM: Final = ("False", "WaitingForResources")
COMPLETE: Final = {
    "Scheduled": ("True", "AllScheduled"),
    "Ready": READY,
    "Active": ("True", "InferenceServiceAvailable"),
}
FIRST_IMAGE: Final = "vllm/vllm-openai:v0.11.0"
IMAGE: Final = "vllm/vllm-openai:v0.11.1"


Act = Callable[[Cluster, str], None]


@dataclass(frozen=True, slots=True)
class Life:
    """The status at each step, and what kubectl printed."""

    steps: dict[str, Object]
    listed: list[str]
    waited: str


@pytest.fixture(scope="module")
def life(fusioninfer: Cluster) -> Iterator[Life]:
    with new_namespace(fusioninfer) as namespace:
        yield lived(fusioninfer, namespace)


def lived(fusioninfer: Cluster, namespace: str) -> Life:
    """Play all steps."""
    steps: dict[str, Object] = {}
    apply(fusioninfer, namespace, story("story-4"))
    for name, act, expected in STEPS:
        act(fusioninfer, namespace)
        steps[name] = says(fusioninfer, namespace, NAME, expected)
    words = ("--namespace", namespace, f"--timeout={PATIENCE:.0f}s", f"inferenceservice/{NAME}")
    waited = run_kubectl(fusioninfer, "wait", "--for=condition=Ready", *words).stdout
    shown = kubectl(fusioninfer, "get", "isvc", "--namespace", namespace, "--no-headers")
    return Life(steps, shown.split(), waited)


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
