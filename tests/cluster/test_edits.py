"""Edits of expanded objects reach their pods as the author meant them: pods and uids before and after."""

import copy
from collections.abc import Callable
from typing import Any, Final

from intent import Object
from tests.builders.lws import container, lws, template
from tests.cluster.testbed.api import get, items, patch, path
from tests.cluster.testbed.cluster import Cluster, KubectlError, kubectl
from tests.cluster.testbed.rollouts import caught_up, rollout, started
from tests.cluster.testbed.wait import until
from tests.cluster.testbed.written import CLIENT_SIDE, SERVER_SIDE, named, put
from tests.laws.convergence.laws import is_launched

NAME: Final = "x"
TWIN: Final = "twin"
SIZE: Final = 2
LENGTH: Final = ("--max-model-len", "8192")
PROBED: Final = container(readinessProbe={"httpGet": {"path": "/health", "port": 8000}})
OTHER: Final = {**PROBED, "image": "vllm/vllm-openai:v0.19.0", "args": ["org/N", *PROBED["args"][1:]]}
DSHM: Final = {"name": "dshm", "emptyDir": {"medium": "Memory"}}
SHM: Final = {"name": "dshm", "mountPath": "/dev/shm"}  # noqa: S108 - a path in a container
TEMPLATES: Final = ("leaderTemplate", "workerTemplate")
Edit = Callable[[Object], object]
"""Changes a pod template in place."""


def test_after_a_restart_by_hand_a_new_image_and_model_reach_every_pod(
    admission: Cluster, namespace: str
) -> None:
    first = apply(admission, namespace, file(PROBED))
    edit(admission, namespace, restart)
    replaced(admission, namespace, first)

    before = rollout(admission, namespace, NAME)
    put(admission, namespace, CLIENT_SIDE, file(OTHER))

    found = replaced(admission, namespace, before.pods.values())
    assert {engine["image"] for engine in found} == {OTHER["image"]}
    assert "org/N" in words(found[0])
    assert all("org/M" not in words(engine) and is_launched(engine) for engine in found)


def test_an_edit_of_the_leaders_arguments_keeps_every_pod_launched(
    admission: Cluster, namespace: str
) -> None:
    before = apply(admission, namespace, file(PROBED, launcher="vllm-native"))

    edit(admission, namespace, append, TEMPLATES[0])

    found = replaced(admission, namespace, before)
    assert " ".join(LENGTH) in words(found[0])
    assert all(is_launched(engine) and words(engine).count("vllm serve") <= 1 for engine in found)
    assert [engine["volumeMounts"][0]["name"] for engine in found] == ["dshm"] * SIZE


def test_an_edit_of_launched_arguments_equals_the_same_edit_of_the_file(
    admission: Cluster, namespace: str
) -> None:
    before = apply(admission, namespace, file(PROBED))

    edit_and_replace(admission, namespace, append)

    replaced(admission, namespace, before)
    wanted = {**PROBED, "args": [*PROBED["args"], *LENGTH]}
    assert specs(admission, namespace, NAME) == fresh(admission, namespace, file(wanted))


def test_a_leader_template_that_is_added_reaches_the_leader_alone(admission: Cluster, namespace: str) -> None:
    pod = template(container(env=[{"name": "A", "value": "1"}]), nodeSelector={"pool": "x"})
    own = template(container(env=[{"name": "B", "value": "1"}]))
    put(admission, namespace, SERVER_SIDE, named(lws(worker=pod), NAME))
    before = started(admission, namespace, NAME).pods.values()

    wanted = named(lws(worker=pod, leader=own), NAME)
    put(admission, namespace, SERVER_SIDE, wanted)

    replaced(admission, namespace, before)
    assert specs(admission, namespace, NAME) == fresh(admission, namespace, wanted)


def test_labels_replicas_and_volumes_that_the_file_takes_over_restart_no_pod(
    admission: Cluster, namespace: str
) -> None:
    before = set(apply(admission, namespace, file(PROBED)))

    kubectl(admission, "label", "-n", namespace, f"leaderworkersets/{NAME}", "team=a")
    put(admission, namespace, CLIENT_SIDE, with_shm(file(PROBED, skip="shm")))
    kubectl(admission, "scale", "-n", namespace, f"leaderworkersets/{NAME}", "--replicas=2")

    after = started(admission, namespace, NAME).pods.values()
    caught_up(admission, namespace)
    assert (len(after), before <= set(rollout(admission, namespace, NAME).pods.values())) == (2 * SIZE, True)


# --- files and edits ------------------------------------------------------------------------------------


def file(engine: Object, **annotations: str) -> Object:
    """Return a file with one template of this engine."""
    return named(lws(SIZE, template(engine), None, **annotations), NAME)


def with_shm(live: Object) -> Object:
    """Return a file with the volume and the mount that are injected otherwise."""
    whole = copy.deepcopy(live)
    spec = whole["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]
    spec["volumes"], spec["containers"][0]["volumeMounts"] = [dict(DSHM)], [dict(SHM)]
    return whole


def restart(pod: Object) -> None:
    """Restart by an annotation, as `kubectl rollout restart` does."""
    pod.setdefault("metadata", {}).setdefault("annotations", {})["kubectl.kubernetes.io/restartedAt"] = "now"


def append(pod: Object) -> None:
    """Add a flag to the engine's arguments."""
    pod["spec"]["containers"][0]["args"].extend(LENGTH)


# --- writes ---------------------------------------------------------------------------------------------


def apply(cluster: Cluster, namespace: str, live: Object) -> list[str]:
    """Apply a file; return the uids of its pods."""
    put(cluster, namespace, CLIENT_SIDE, live)
    return list(started(cluster, namespace, live["metadata"]["name"]).pods.values())


def edit(cluster: Cluster, namespace: str, change: Edit, *fields: str) -> None:
    """Edit the stored templates as `kubectl edit` does, by a merge patch."""
    group = _edited(cluster, namespace, change, *fields)["spec"]["leaderWorkerTemplate"]
    templates = {field: group[field] for field in TEMPLATES if field in group}
    patch(
        cluster.api, path("leaderworkersets", namespace, NAME), {"spec": {"leaderWorkerTemplate": templates}}
    )


def edit_and_replace(cluster: Cluster, namespace: str, change: Edit) -> None:
    """Export the stored object, edit the file, and have kubectl replace the object, which renews its note.

    LWS may write the status in between; then a new export is edited.
    """

    def is_replaced() -> bool:
        try:
            put(cluster, namespace, ("replace",), _edited(cluster, namespace, change))
        except KubectlError as error:
            assert "the object has been modified" in str(error)  # noqa: PT017 - any other error is one
            return False
        return True

    until(is_replaced, "the export is up to date")


def _edited(cluster: Cluster, namespace: str, change: Edit, *fields: str) -> Object:
    live = get(cluster.api, path("leaderworkersets", namespace, NAME))
    templates = live["spec"]["leaderWorkerTemplate"]
    for field in fields or TEMPLATES:
        if field in templates:
            change(templates[field])
    return live


# --- pods -----------------------------------------------------------------------------------------------


def replaced(cluster: Cluster, namespace: str, before: Any) -> list[Object]:
    """Wait until all pods are others than before; return their engines, the leader's first."""

    def others() -> bool:
        now = rollout(cluster, namespace, NAME).pods.values()
        return len(now) == SIZE and set(before).isdisjoint(now)

    until(others, "every pod is replaced")
    return [spec["containers"][0] for spec in specs(cluster, namespace, NAME)]


def fresh(cluster: Cluster, namespace: str, live: Object) -> list[Object]:
    """Create a file under another name; return the specs of its pods."""
    apply(cluster, namespace, named(live, TWIN))
    return specs(cluster, namespace, TWIN)


def specs(cluster: Cluster, namespace: str, name: str) -> list[Object]:
    """Return the specs of the pods, the leader's first, without names of pods and of the set."""
    selector = f"leaderworkerset.sigs.k8s.io/name={name}"
    pods = items(cluster.api, path("pods", namespace), labelSelector=selector)
    pods.sort(key=lambda pod: pod["metadata"]["name"])
    return [_of_template(pod["spec"]) for pod in pods]


def _of_template(spec: Object) -> Object:
    """Return what the templates say of a pod: LWS and Kubernetes add host names, variables and tokens."""
    parts = {
        key: [_own(each) for each in spec.get(key, ())] for key in ("initContainers", "containers", "volumes")
    }
    rest = {key: spec.get(key) for key in ("nodeSelector", "schedulerName")}
    return {**parts, **rest}


def _own(item: Object) -> Object:
    lists = {
        "env": lambda each: not each["name"].startswith("LWS_"),
        "volumeMounts": lambda each: "serviceaccount" not in each["mountPath"],
    }
    return {
        key: [each for each in value if lists[key](each)] if key in lists else value
        for key, value in item.items()
    }


def words(engine: Object) -> str:
    """Return command and arguments in one line."""
    return " ".join([*engine.get("command", ()), *engine.get("args", ())])
