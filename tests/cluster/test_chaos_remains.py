"""What chaos may not leave behind is seen: extra and missing objects, pods and owners, pods started anew."""

from dataclasses import replace

from intent import Object
from tests.cluster.chaos.people import Service
from tests.cluster.chaos.remains import KEPT, Remains, problems, restarted

SERVICE = Service("svc", "workers", there=True, restarted=False)
OURS = [{"manager": "fusioninfer", "operation": "Apply"}]
PREFIX = "leaderworkerset.sigs.k8s.io/"


def lws(name: str = "svc", replicas: int = 1) -> Object:
    spec = {"replicas": replicas, "leaderWorkerTemplate": {"size": 2}}
    labels = {"fusioninfer.io/service": name}
    metadata = {"name": name, "uid": f"uid-{name}", "labels": labels}
    return {"kind": "LeaderWorkerSet", "metadata": metadata, "spec": spec}


def pod(name: str, uid: str = "1", node: str = "gpu-0") -> Object:
    owners = [{"uid": "uid-svc"}]
    metadata = {"name": name, "uid": uid, "labels": {PREFIX + "name": "svc"}, "ownerReferences": owners}
    return {"kind": "Pod", "metadata": metadata, "spec": {"nodeName": node}}


def pod_group(owner: str = "uid-svc", minimum: int = 2) -> Object:
    owners = [{"uid": owner}]
    metadata = {"name": "svc", "uid": "uid-pg", "managedFields": OURS, "ownerReferences": owners}
    return {"kind": "PodGroup", "metadata": metadata, "spec": {"minMember": minimum}}


def remains(*pods: Object, groups: tuple[Object, ...] = (pod_group(),)) -> Remains:
    none: dict[str, tuple[Object, ...]] = dict.fromkeys(KEPT, ())
    return Remains({**none, "leaderworkersets": (lws(),), "podgroups": groups, "pods": pods})


def wrong(there: Remains) -> list[str]:
    wanted = {("leaderworkersets", "svc"): plain(lws()), ("podgroups", "svc"): plain(pod_group())}
    return problems(there, wanted, (SERVICE,))


def plain(obj: Object) -> Object:
    return {"spec": obj["spec"], "labels": obj["metadata"].get("labels", {}), "annotations": {}}


WHOLE = (pod("svc-0"), pod("svc-0-1"))


def test_what_is_as_it_should_be_is_fine() -> None:
    assert wrong(remains(*WHOLE)) == []


def test_another_value_is_seen() -> None:
    said = wrong(remains(*WHOLE, groups=(pod_group(minimum=4),)))

    assert said == ["podgroups/svc spec.minMember: should be 2, is 4"]


def test_a_missing_object_is_seen() -> None:
    (said,) = wrong(remains(*WHOLE, groups=()))

    assert said.startswith("podgroups/svc : should be {'spec'")


def test_an_owner_that_is_gone_is_seen() -> None:
    said = wrong(remains(*WHOLE, groups=(pod_group(owner="gone"),)))

    assert said == ["podgroups/svc is owned by nobody that exists: ['gone']"]


def test_a_pod_too_many_is_seen() -> None:
    said = wrong(remains(*WHOLE, pod("svc-1")))

    assert said == ["pods/svc-1: should be 0, is 1"]


def test_a_missing_pod_is_seen() -> None:
    assert wrong(remains(WHOLE[0])) == ["pods/svc-0-1: should be 1, is 0"]


def test_a_pod_that_waits_is_seen() -> None:
    assert wrong(remains(WHOLE[0], pod("svc-0-1", node=""))) == ["pods/svc-0-1 waits, though there is room"]


def test_a_pod_that_was_started_anew_is_seen() -> None:
    said = restarted({"svc-0": "1", "svc-0-1": "0"}, remains(*WHOLE), (SERVICE,))

    assert said == ["pods/svc-0-1 was started anew"]


def test_whoever_changes_the_command_starts_pods_anew() -> None:
    said = restarted({"svc-0": "0", "svc-0-1": "0"}, remains(*WHOLE), (replace(SERVICE, restarted=True),))

    assert said == []
