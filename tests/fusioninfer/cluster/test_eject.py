"""Ejected manifests: what they leave out, and that applying them changes nothing."""

import copy
from collections.abc import Callable
from typing import Any, Final

import pytest

from fusioninfer.cluster.eject import LiveService, manifests, plain, problems_of, steps
from intent import Object
from intent.annotations import EXPANSION, PREFIX
from intent.service.member import member
from sync.preview import preview
from tests.laws.convergence import clients
from tests.laws.convergence.files import File, Pod, manifest
from tests.laws.convergence.managed import LAST_APPLIED, without_managers
from tests.laws.convergence.server import Engine, Server
from tests.sync.samples import APPLIED, SETTINGS

SERVER: Final = Server(Engine())
FILES: Final = {
    "one template": File(),
    "split by the launcher": File(launcher="ray-start"),
    "split by probes": File(worker=Pod(probes=("readinessProbe",))),
    "its own leader": File(leader=Pod(env=(("A", "b"),))),
    "its own scheduler": File(worker=Pod(scheduler="volcano")),
    "without a launcher": File(launcher="none"),
    "one pod": File(size=1),
    "prefiller": File(component="prefiller"),
}
Client = Callable[[Object | None, Object], Object | None]


PLAIN: Final = File()


def stored(file: File = PLAIN, client: Client = clients.client_side_apply) -> Object:
    """Return the object that the cluster holds after a file was created."""
    created = client(None, manifest(file))
    assert created is not None
    live = SERVER.admit(created)
    live["metadata"] |= {"uid": "uid-x", "resourceVersion": "7", "generation": 1}
    live["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    return live | {"status": {"replicas": 1}}


def service(*sets: Object, **more: Any) -> LiveService:
    """Return a service with the PodGroup and the routes that the controller made for these members."""
    members = [found for lws in sets if (found := member(lws))]
    made = [copy.deepcopy(obj) for obj in preview(members, SETTINGS).objects]
    for obj in made:
        owners = [
            {"kind": "LeaderWorkerSet", "name": lws["metadata"]["name"], "uid": "uid-x"} for lws in sets
        ]
        obj["metadata"] |= {
            "ownerReferences": owners,
            "managedFields": APPLIED,
            "uid": obj["metadata"]["name"],
        }
    return LiveService("llm", "svc", members=sets, **({"others": tuple(made)} | more))


def routed() -> Object:
    """Return a stored object that asks for routes."""
    live = stored()
    live["metadata"]["annotations"] |= {PREFIX + "strategy": "queue-size", PREFIX + "gateway": "shared"}
    return live


# --- manifests ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", FILES.values(), ids=FILES.keys())
def test_a_leaderworkerset_keeps_everything_but_our_annotations(file: File) -> None:
    live = stored(file)

    (found,) = [obj for obj in manifests(service(live)) if obj["kind"] == "LeaderWorkerSet"]

    assert found["spec"] == live["spec"]
    assert found["metadata"] == {
        "name": "x",
        "namespace": "llm",
        "annotations": {"team": "a"},
        "labels": live["metadata"]["labels"],
    }
    assert "status" not in found


def test_the_order_is_pod_group_routes_leaderworkersets() -> None:
    kinds = [obj["kind"] for obj in manifests(service(routed()))]

    assert kinds == [
        *("PodGroup", "Service", "ServiceAccount", "RoleBinding", "ConfigMap", "InferencePool"),
        *("Deployment", "Service", "HTTPRoute", "LeaderWorkerSet"),
    ]


def test_no_object_of_the_controller_keeps_a_mark_of_ownership() -> None:
    for obj in manifests(service(routed()))[:-1]:
        metadata = obj["metadata"]
        assert metadata.keys() <= {"name", "namespace"}, obj["kind"]


def test_the_template_of_the_endpoint_picker_stays() -> None:
    live = service(routed())

    (ejected,) = [obj for obj in manifests(live) if obj["kind"] == "Deployment"]
    (deployment,) = [obj for obj in live.others if obj["kind"] == "Deployment"]

    assert ejected["spec"] == deployment["spec"]
    assert ejected["spec"]["template"]["metadata"]["annotations"]


def test_other_owners_labels_and_annotations_stay() -> None:
    theirs = {"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "c"}
    metadata = {
        "name": "svc-epp",
        "labels": {"team": "a", PREFIX + "service": "svc"},
        "annotations": {"note": "b", LAST_APPLIED: "{}"},
        "ownerReferences": [theirs, {"kind": "LeaderWorkerSet", "uid": "uid-x"}],
        "finalizers": ["example.org/wait"],
    }

    found = plain({"kind": "Role", "metadata": metadata})

    assert found["metadata"] == {
        "name": "svc-epp",
        "labels": {"team": "a"},
        "annotations": {"note": "b"},
        "ownerReferences": [theirs],
        "finalizers": ["example.org/wait"],
    }


def test_addresses_of_a_service_are_not_printed() -> None:
    spec = {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "ports": [{"port": 1}]}

    assert plain({"kind": "Service", "metadata": {"name": "s"}, "spec": spec})["spec"] == {
        "ports": [{"port": 1}]
    }


def test_objects_of_others_are_not_printed() -> None:
    live = service(stored())
    for other in live.others:
        other["metadata"]["managedFields"] = [{"manager": "kubectl", "operation": "Apply", "fieldsV1": {}}]

    assert [obj["kind"] for obj in manifests(live)] == ["LeaderWorkerSet"]


# --- problems -----------------------------------------------------------------------------------------


NO_POD_GROUP: Final = (
    "LeaderWorkerSet llm/x: its pods wait for PodGroup svc, which does not exist; "
    "eject it once its Events no longer name a missing role"
)
PROBLEMS: Final[dict[str, tuple[LiveService, str]]] = {
    "no record": (
        LiveService("llm", "svc"),
        "service llm/svc: no LeaderWorkerSet has a record of an expansion: there is nothing to eject",
    ),
    "no pod group": (service(stored(), others=()), NO_POD_GROUP),
    "another controller": (
        service(
            clients.merge_patch(
                stored(),
                {
                    "metadata": {
                        "ownerReferences": [{"kind": "DisaggregatedSet", "name": "d", "controller": True}]
                    }
                },
            )
        ),
        "LeaderWorkerSet llm/x: DisaggregatedSet d writes its annotations again; remove them there",
    ),
    "a deletion": (
        service(clients.merge_patch(stored(), {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}})),
        "LeaderWorkerSet llm/x: is being deleted; wait until it is gone",
    ),
}


@pytest.mark.parametrize(("live", "problem"), PROBLEMS.values(), ids=PROBLEMS.keys())
def test_a_problem_names_the_object_and_the_remedy(live: LiveService, problem: str) -> None:
    assert list(problems_of(live)) == [problem]


def test_a_service_without_a_problem_has_none() -> None:
    assert not list(problems_of(service(stored())))


def test_an_ejected_leaderworkerset_is_printed_with_its_pod_group() -> None:
    live = service(stored())
    after = by_the_steps(stored())
    del after["metadata"]["labels"]
    gone = LiveService("llm", "svc", members=(after,), others=live.others)

    assert not list(problems_of(gone))
    assert [obj["kind"] for obj in manifests(gone)] == ["PodGroup", "Service", "LeaderWorkerSet"]
    commands = [step.command.split() for step in steps(gone)]
    assert [words[3] for words in commands if "--namespace" in words] == ["patch"]


def autoscaler(uid: str, target: Object) -> Object:
    """Return an autoscaler with the label of the service."""
    owner = {"apiVersion": "fusioninfer.io/v1alpha1", "kind": "InferenceService", "name": "svc", "uid": uid}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {
            "namespace": "llm",
            "name": "svc-worker",
            "labels": {f"{PREFIX}service": "svc"},
            "ownerReferences": [owner],
            "managedFields": APPLIED if uid else [],
        },
        "spec": {"scaleTargetRef": target, "maxReplicas": 4},
    }


def test_the_autoscaler_of_a_role_is_ejected_and_one_of_the_users_own_is_not() -> None:
    metadata = {"namespace": "llm", "name": "svc", "uid": "uid-svc"}
    kind = {"apiVersion": "fusioninfer.io/v1alpha1", "kind": "InferenceService"}
    whole: Object = {**kind, "metadata": metadata}
    target = {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "name": "x"}
    ours, other = autoscaler("uid-svc", target), autoscaler("", {"kind": "Deployment", "name": "d"})

    live = service(stored(), inferenceservice=whole, others=(ours, other))

    (found,) = [obj for obj in manifests(live) if obj["kind"] == "HorizontalPodAutoscaler"]
    assert (found["spec"], found["metadata"]) == (ours["spec"], {"namespace": "llm", "name": "svc-worker"})
    assert "horizontalpodautoscalers.autoscaling/svc-worker" in " ".join(one.command for one in steps(live))


def test_kubectl_gets_resources_with_their_group() -> None:
    (step,) = [one for one in steps(service(routed())) if " patch " in one.command]

    named = [word for word in step.command.split() if "/" in word]
    assert named == [
        "podgroups.scheduling.volcano.sh/svc",
        "services/svc-api",
        "serviceaccounts/svc-epp",
        "rolebindings.rbac.authorization.k8s.io/svc-epp-read",
        "configmaps/svc-epp-config",
        "inferencepools.inference.networking.k8s.io/svc-pool",
        "deployments.apps/svc-epp",
        "services/svc-epp",
        "httproutes.gateway.networking.k8s.io/svc-httproute",
    ]


# --- applying -----------------------------------------------------------------------------------------


CREATORS: Final[dict[str, Client]] = {
    "client-side apply": clients.client_side_apply,
    "server-side apply": clients.server_side_apply,
    "replace": clients.replace,
}


def ejected(live: Object) -> Object:
    (found,) = [obj for obj in manifests(service(live)) if obj["kind"] == "LeaderWorkerSet"]
    return copy.deepcopy(found)


def specified(lws: Object | None) -> Any:
    """Return what makes LWS restart pods, and all else that is in the spec."""
    assert lws is not None
    return without_managers(lws)["spec"]


def by_the_steps(live: Object) -> Object:
    """Return the object after the write in which annotations and record go."""
    keys = dict.fromkeys(key for key in live["metadata"]["annotations"] if key.startswith(PREFIX))
    wanted = clients.merge_patch(live, {"metadata": {"annotations": keys}})
    patched = clients.edit(live, wanted)
    assert patched is not None
    return SERVER.admit(patched, live)


@pytest.mark.parametrize("file", FILES.values(), ids=FILES.keys())
@pytest.mark.parametrize("creator", CREATORS.values(), ids=CREATORS.keys())
@pytest.mark.parametrize("client", CREATORS.values(), ids=CREATORS.keys())
def test_neither_the_steps_nor_applying_the_manifest_after_them_changes_a_spec(
    client: Client, creator: Client, file: File
) -> None:
    live = stored(file, creator)
    now = by_the_steps(live)
    assert specified(now) == specified(live)

    for _ in range(2):
        written = client(now, ejected(live))
        now = SERVER.admit(written, now) if written else now
        assert specified(now) == specified(live)

    assert not [key for key in now["metadata"]["annotations"] if key.startswith(PREFIX)]


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES.values(), ids=FILES.keys())
@pytest.mark.parametrize("creator", CREATORS.values(), ids=CREATORS.keys())
@pytest.mark.parametrize("client", CREATORS.values(), ids=CREATORS.keys())
def test_applying_the_manifest_without_the_steps_changes_no_spec_and_leaves_nothing_of_ours(
    client: Client, creator: Client, file: File
) -> None:
    """No file ever had the record: an apply leaves it. The expanded fields stay, as the manifest has them."""
    live = now = stored(file, creator)

    for _ in range(2):
        written = client(now, ejected(live))
        now = SERVER.admit(written, now) if written else now
        assert specified(now) == specified(live)

    if client is creator:
        assert not [key for key in now["metadata"]["annotations"] if key.startswith(PREFIX)]


@pytest.mark.parametrize("file", FILES.values(), ids=FILES.keys())
@pytest.mark.parametrize("client", CREATORS.values(), ids=CREATORS.keys())
def test_the_old_file_comes_back_without_a_restart(client: Client, file: File) -> None:
    live = stored(file, client)
    now = by_the_steps(live)

    for content in (ejected(live), manifest(file)):
        written = client(now, content)
        now = SERVER.admit(written, now) if written else now

    assert specified(now) == specified(live)
    assert EXPANSION in now["metadata"]["annotations"]
