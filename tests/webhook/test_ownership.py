"""What an author owns after a write by kubectl: the cases in which ownership was judged wrongly."""

import copy
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

import pytest

from intent import Object
from tests.builders.lws import changed, container, engines_of, lws, put, template
from tests.laws.convergence import clients
from tests.laws.convergence.hands import opt_out
from tests.laws.convergence.laws import difference, is_launched, mounts
from tests.laws.convergence.server import Engine, Server
from webhook.check import check
from webhook.mutate import CONCERNS

SERVER: Final = Server(Engine())
RECORD: Final = "fusioninfer.io/expansion"
SERVICE: Final = "metadata.annotations.fusioninfer.io/service"
LAUNCHER: Final = "metadata.annotations.fusioninfer.io/launcher"
LENGTH: Final = ["--max-model-len", "8192"]
TEMPLATES: Final = ("leaderTemplate", "workerTemplate")
SHM: Final = {"name": "dshm", "mountPath": "/dev/shm"}  # noqa: S108 - a path in a container
DSHM: Final = {"name": "dshm", "emptyDir": {"medium": "Memory"}}
APPLIES: Final = pytest.mark.parametrize("apply", [clients.client_side_apply, clients.server_side_apply])
DECODER: Final = {"component-type": "decoder", "strategy": "pd-disaggregation"}
LAUNCHERS: Final = pytest.mark.parametrize("launcher", ["auto", "ray-start", "vllm-native"])


def named(live: Object) -> Object:
    """Return a file with a namespace."""
    return changed(live, "metadata.namespace", "llm")


def file(*containers: Any, **annotations: Any) -> Object:
    return named(lws(worker=template(*containers), **annotations))


def created(live: Object, apply: Any = clients.client_side_apply) -> Object:
    return SERVER.admit(apply(None, live))


def applied(stored: Object, live: Object, apply: Any = clients.client_side_apply) -> Object:
    body = apply(stored, live)
    return stored if body is None else SERVER.admit(body, stored)


def edited_to(stored: Object, wanted: Object) -> Object:
    """Write the wanted object with `kubectl edit`."""
    body = clients.edit(stored, wanted)
    assert body is not None
    return SERVER.admit(body, stored)


def edited(stored: Object, change: Callable[[Object], object], *fields: str) -> Object:
    """Edit the templates of a stored object."""
    wanted = copy.deepcopy(stored)
    for field in fields or TEMPLATES:
        if field in wanted["spec"]["leaderWorkerTemplate"]:
            change(wanted["spec"]["leaderWorkerTemplate"][field])
    return edited_to(stored, wanted)


def words(engine: Object) -> list[str]:
    return [*engine.get("command", ()), *engine.get("args", ())]


def append(*more: str) -> Callable[[Object], object]:
    return lambda pod: pod["spec"]["containers"][0]["args"].extend(more)


def differences(one: Object, other: Object) -> Iterator[str]:
    return difference(one["spec"], other["spec"])


def restart(pod: Object) -> None:
    pod.setdefault("metadata", {}).setdefault("annotations", {})["kubectl.kubernetes.io/restartedAt"] = "now"


@LAUNCHERS
def test_the_leader_follows_the_file_after_a_restart_by_hand(launcher: str) -> None:
    probed = container(readinessProbe={"httpGet": {"path": "/health", "port": 8000}})
    other = {**probed, "image": "vllm/vllm-openai:v0.19.0", "args": ["org/N", *probed["args"][1:]]}
    stored = edited(created(file(probed, launcher=launcher)), restart)

    stored = applied(stored, file(other, launcher=launcher))

    found = engines_of(stored)
    assert len(found) == 2
    assert {engine["image"] for engine in found} == {other["image"]}
    assert "org/N" in " ".join(words(found[0]))
    assert all("org/M" not in " ".join(words(engine)) for engine in found)


@LAUNCHERS
def test_an_edit_of_the_leaders_arguments_launches_both(launcher: str) -> None:
    probed = container(readinessProbe={"httpGet": {"path": "/health", "port": 8000}})
    stored = created(file(probed, launcher=launcher))
    before = [set(engine) for engine in engines_of(stored)]

    stored = edited(stored, append(*LENGTH), "leaderTemplate")

    assert [set(engine) for engine in engines_of(stored)] == before
    assert "--max-model-len 8192" in " ".join(words(engines_of(stored)[0]))


def test_an_edit_of_launched_arguments_equals_the_same_edit_of_the_file() -> None:
    plain = container()
    wanted = {**plain, "args": [*plain["args"], *LENGTH]}

    stored = edited(created(file(plain)), append(*LENGTH))

    assert not list(differences(created(file(wanted)), stored))


@APPLIES
@pytest.mark.parametrize(
    ("first", "second"),
    [
        (
            {"command": ["sh", "-c"], "args": ["exec vllm serve org/M -tp 16"]},
            {"command": ["vllm", "serve"], "args": ["org/M", "-tp", "16"]},
        ),
        (
            {"command": None, "args": ["--model", "org/M", "-tp", "16"]},
            {"command": ["vllm", "serve"], "args": ["org/M", "-tp", "16"], "image": "corp/llm:1"},
        ),
    ],
)
def test_a_new_command_of_the_file_stays(apply: Any, first: Object, second: Object) -> None:
    one, other = (file(container(**fields), launcher="auto") for fields in (first, second))

    stored = applied(created(one, apply), other, apply)

    assert not list(differences(created(other, apply), stored))


def test_an_edit_of_a_leader_with_its_own_program_keeps_one_engine() -> None:
    engine = container(image="vllm/vllm-openai:v0.11.0")
    stored = created(file(engine, launcher="ray-start"))

    stored = edited(stored, append(*LENGTH), "leaderTemplate")

    assert all(is_launched(one) for one in engines_of(stored))
    assert all(" ".join(words(one)).count("vllm serve") <= 1 for one in engines_of(stored))


def limit_mount(pod: Object) -> None:
    for mount in pod["spec"]["containers"][0]["volumeMounts"]:
        if mount["name"] == "dshm":
            mount["subPath"] = "x"


def rename(pod: Object) -> None:
    pod["spec"]["containers"][0]["name"] = "renamed"


def mount_elsewhere(pod: Object, field: str = "containers") -> None:
    log = {"name": "log", "image": "l", "volumeMounts": [dict(SHM)]}
    pod["spec"][field] = [*pod["spec"].get(field, []), log]


MOUNT_FIRST: Final = partial(mount_elsewhere, field="initContainers")


@pytest.mark.parametrize("change", [limit_mount, rename, mount_elsewhere, MOUNT_FIRST])
def test_a_volume_stays_while_it_is_mounted(change: Callable[[Object], None]) -> None:
    stored = edited(created(file()), change)
    assert not mounts(stored)

    assert not mounts(edited_to(stored, changed(stored, SERVICE, None)))


@APPLIES
def test_a_leader_template_that_is_added_has_nothing_of_the_copy(apply: Any) -> None:
    probe = {"httpGet": {"path": "/health", "port": 8000}}
    pod = template(
        container(readinessProbe=probe, env=[{"name": "A", "value": "1"}]),
        nodeSelector={"pool": "x"},
        tolerations=[{"key": "gpu", "operator": "Exists"}],
        serviceAccountName="runner",
        initContainers=[{"name": "download", "image": "busybox:1", "resources": {"limits": {"cpu": "1"}}}],
    )
    one = named(lws(worker=pod))
    other = named(lws(worker=pod, leader=template(container(env=[{"name": "B", "value": "1"}]))))

    stored = applied(created(one, apply), other, apply)

    assert not list(differences(created(other, apply), stored))


def with_shm(live: Object) -> Object:
    whole = copy.deepcopy(live)
    spec = whole["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]
    spec["volumes"] = [dict(DSHM)]
    spec["containers"][0]["volumeMounts"] = [dict(SHM)]
    return whole


@APPLIES
def test_a_volume_that_the_file_takes_over_stays(apply: Any) -> None:
    wanted = with_shm(file(skip="shm"))

    stored = applied(created(file(), apply), wanted, apply)

    assert not list(differences(created(wanted, apply), stored))


@APPLIES
def test_a_scheduler_that_the_file_takes_over_stays_after_opting_out(apply: Any) -> None:
    scheduled = changed(file(), "spec.leaderWorkerTemplate.workerTemplate.spec.schedulerName", "volcano")
    stored = applied(created(file(), apply), scheduled, apply)
    plain = changed(scheduled, SERVICE, None)

    stored = applied(stored, plain, apply)

    assert stored["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["schedulerName"] == "volcano"


def test_an_ejected_file_keeps_the_expanded_object() -> None:
    stored = created(file())
    ejected = {key: value for key, value in copy.deepcopy(stored).items() if key != "status"}
    ejected["metadata"] = {"name": "x", "namespace": "llm", "annotations": {}}

    found = applied(stored, ejected)

    assert not list(differences(stored, found))
    assert RECORD not in found["metadata"].get("annotations", {})


def test_a_replaced_file_keeps_a_volume_that_equals_the_injected_one() -> None:
    wanted = with_shm(file(skip="shm"))

    stored = SERVER.admit(clients.replace(created(file()), wanted) or {}, created(file()))

    assert not list(differences(created(wanted), stored))


# --- an upgrade in which only the rules change ----------------------------------------------------------

BEFORE: Final = tuple(one for one in CONCERNS if one.name != "shm")
"""The rules of the release before."""
WORKER: Final = "spec.leaderWorkerTemplate.workerTemplate.spec.containers.0"


def test_a_file_with_an_older_record_restarts_nothing_after_an_upgrade() -> None:
    first = put(lws(), None, concerns=BEFORE)
    args = engines_of(first)[0]["args"]
    at = args.index("--pipeline-parallel-size")
    exported = changed(first, f"{WORKER}.args", [*args[: at + 1], "3", *args[at + 2 :]])
    stored = put(exported, first, concerns=BEFORE)

    again = put(exported, stored)

    assert stored["spec"] != first["spec"]
    assert again["spec"] == stored["spec"]


def test_an_edit_of_the_leader_follows_a_renamed_container() -> None:
    probe = {"httpGet": {"path": "/health", "port": 8000}}
    stored = created(file(container("engine", readinessProbe=probe)))
    other = edited(stored, with_leaders_image, "leaderTemplate")

    renamed = applied(other, file(container("vllm", readinessProbe=probe)))

    leader, worker = engines_of(renamed)
    assert (leader["name"], leader["image"], worker["name"]) == ("vllm", "corp/leader:2", "vllm")
    assert len(renamed["spec"]["leaderWorkerTemplate"]["leaderTemplate"]["spec"]["containers"]) == 1


def with_leaders_image(one: Object) -> None:
    one["spec"]["containers"][0]["image"] = "corp/leader:2"


@pytest.mark.parametrize("place", [0, 1, 9], ids=["first", "before the workers'", "last"])
@APPLIES
def test_a_variable_of_the_leader_stays_where_it_is_stored(place: int, apply: Any) -> None:
    mine = named(lws(worker=template(container(env=[{"name": "A", "value": "1"}])), launcher="vllm-native"))
    stored = created(mine, apply)
    leader = stored["spec"]["leaderWorkerTemplate"]["leaderTemplate"]
    leader["spec"]["containers"][0]["env"].insert(place, {"name": "HAND", "value": "1"})

    assert not list(differences(stored, applied(stored, changed(mine, "metadata.labels.team", "a"), apply)))


@LAUNCHERS
def test_an_export_that_was_edited_and_replaced_is_an_edit(launcher: str) -> None:
    stored = created(file(launcher=launcher))
    wanted = copy.deepcopy(stored)
    for field in TEMPLATES:
        if field in wanted["spec"]["leaderWorkerTemplate"]:
            restart(wanted["spec"]["leaderWorkerTemplate"][field])

    body = clients.exported(stored, wanted)

    assert body is not None
    assert not list(differences(edited(stored, restart), SERVER.admit(body, stored)))


def test_an_init_container_that_the_file_removes_is_gone_from_the_leader() -> None:
    init = [{"name": "download", "image": "busybox:1"}]
    one, other = (
        named(lws(worker=template(container(), **more), launcher="vllm-native"))
        for more in ({"initContainers": init}, {})
    )
    stored = applied(created(one), changed(one, "metadata.labels.team", "a"))
    longer = container(args=[*container()["args"], *LENGTH])
    stored = applied(stored, named(lws(worker=template(longer, initContainers=init), launcher="vllm-native")))

    stored = applied(stored, other)

    assert not list(differences(created(other), stored))


def test_an_edit_of_the_leaders_own_program_reaches_the_workers() -> None:
    whole: Any = {"command": ["vllm", "serve", "org/M", "-tp", "16"], "args": None}
    stored = created(file(container(**whole), launcher="vllm-native"))

    def shorten(pod: Object) -> None:
        pod["spec"]["containers"][0]["command"].extend(LENGTH)

    stored = edited(stored, shorten, "leaderTemplate")

    longer: Any = {**whole, "command": [*whole["command"], *LENGTH]}
    assert not list(differences(created(file(container(**longer), launcher="vllm-native")), stored))


PROBED: Final = container(readinessProbe={"httpGet": {"path": "/health", "port": 8000}})
"""With a launch that gives the leader a copy."""


def opted_out(stored: Object) -> Object:
    """Remove our annotations but the record, with `kubectl annotate`."""
    wanted = copy.deepcopy(stored)
    assert opt_out(wanted)
    return edited_to(stored, wanted)


def test_an_injected_volume_that_was_edited_keeps_its_mount_after_opting_out() -> None:
    def limit(pod: Object) -> None:
        pod["spec"]["volumes"][0]["emptyDir"]["sizeLimit"] = "4Gi"

    left = opted_out(edited(created(file()), limit))

    spec = left["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]
    assert [one["name"] for one in spec["volumes"]] == ["dshm"]
    assert spec["containers"][0]["volumeMounts"] == [SHM]


def test_an_apply_that_opts_out_reverts_though_the_record_goes_with_the_last_annotation() -> None:
    stored = created(file(), clients.server_side_apply)
    plain = changed(file(), "metadata.annotations", None)
    body = clients.server_side_apply(stored, plain)
    assert body is not None
    assert RECORD not in body["metadata"].get("annotations", {})

    assert not list(differences(created(plain), SERVER.admit(body, stored)))


def patched(stored: Object, wanted: Object) -> Object | None:
    """Write the containers of a file and no annotation, with `kubectl patch --type=merge`."""
    containers = wanted["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["containers"]
    group = {"workerTemplate": {"spec": {"containers": containers}}}
    patch = {"metadata": {"annotations": None}, "spec": {"leaderWorkerTemplate": group}}
    return clients.edit(stored, clients.merge_patch(stored, patch))


def applied_at_once(stored: Object, wanted: Object) -> Object | None:
    """Apply a file server-side in the second of the apply before."""
    body, fields = clients.server_side_apply(stored, wanted), "metadata.managedFields.0.time"
    return changed(body or {}, fields, stored["metadata"]["managedFields"][0]["time"])


ALONE: Final = changed(file(container(args=["org/M"]), **DECODER), "spec.leaderWorkerTemplate.size", 1)


@pytest.mark.parametrize("write", [patched, applied_at_once])
@pytest.mark.parametrize("image", ["vllm/vllm-openai:v0.20.0", "vllm/vllm-openai:v0.19.0"])
@pytest.mark.parametrize(
    "wanted",
    [file(launcher="vllm-native"), file(launcher="ray-symmetric"), ALONE],
    ids=["vllm-native", "ray", "a sidecar"],
)
def test_the_author_s_launch_beside_a_part_of_ours_opts_out(write: Any, image: str, wanted: Object) -> None:
    stored = created(
        changed(wanted, f"{WORKER}.image", "vllm/vllm-openai:v0.20.0"), clients.server_side_apply
    )
    plain = changed(changed(wanted, f"{WORKER}.image", image), "metadata.annotations", None)

    found = SERVER.admit(write(stored, plain), stored)

    assert not list(differences(created(plain), found))
    assert {one.code for one in check(found, stored)} == {"FI521"}


def test_an_ejection_keeps_edits_of_launches() -> None:
    stored = created(file())
    wanted = changed(stored, "metadata.annotations", None)
    append(*LENGTH)(wanted["spec"]["leaderWorkerTemplate"]["workerTemplate"])

    found = edited_to(stored, wanted)

    assert not list(differences(wanted, found))
    assert {one.code for one in check(found, stored)} == {"FI530"}


def test_launches_of_leader_and_workers_that_were_edited_differently_both_stay() -> None:
    stored = created(file(PROBED))
    wanted = copy.deepcopy(stored)
    for name, length in zip(TEMPLATES, ("1024", "2048"), strict=True):
        append("--max-model-len", length)(wanted["spec"]["leaderWorkerTemplate"][name])

    leader, worker = engines_of(edited_to(stored, wanted))

    assert "--max-model-len 1024" in " ".join(words(leader))
    assert "--max-model-len 2048" in " ".join(words(worker))


def test_containers_that_were_renamed_together_are_reverted() -> None:
    log = {"name": "log", "image": "fluentbit:1", "resources": {}}

    def rename_all(pod: Object) -> None:
        for one in pod["spec"]["containers"]:
            one["name"] += "-2"

    left = opted_out(edited(created(file(container(), log)), rename_all))

    other = file(container("vllm-2"), {**log, "name": "log-2"})
    assert not list(differences(opted_out(created(other)), left))


def test_a_renamed_container_without_a_launch_is_reverted() -> None:
    one, other = (
        file(container(name, args=["-tp", "8"]), size=1, model="pvc://files/m")
        for name in ("vllm", "renamed")
    )

    left = opted_out(edited(created(one), rename))

    assert not list(differences(opted_out(created(other)), left))


def test_engines_that_were_renamed_past_the_webhooks_are_launched_as_one_again() -> None:
    stored = created(file(PROBED))
    for field in TEMPLATES:
        rename(stored["spec"]["leaderWorkerTemplate"][field])

    leader, worker = engines_of(applied(stored, file({**PROBED, "image": "vllm/vllm-openai:v0.20.2"})))

    assert (leader["name"], leader["image"]) == (worker["name"], worker["image"])
    assert "--nnodes" in leader["args"]
    assert "--nnodes" in worker["args"]


def test_an_empty_list_of_the_author_stays_after_opting_out() -> None:
    emptied = changed(file(), "spec.leaderWorkerTemplate.workerTemplate.spec.volumes", [])

    left = opted_out(created(emptied))

    assert left["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["volumes"] == []


def test_an_engine_that_is_removed_from_the_leader_stays_removed() -> None:
    log = {"name": "log", "image": "fluentbit:1", "resources": {}}
    stored = edited(
        created(file(PROBED, log)), lambda pod: pod["spec"]["containers"].pop(0), "leaderTemplate"
    )

    assert [one["name"] for one in engines_of(stored)] == ["log", "vllm"]
    assert len(stored["spec"]["leaderWorkerTemplate"]["leaderTemplate"]["spec"]["containers"]) == 1


def test_a_record_that_a_file_brings_back_restarts_nothing_after_an_upgrade() -> None:
    first = put(lws(), None, concerns=BEFORE)

    assert put(first, changed(first, f"metadata.annotations.{RECORD}", None))["spec"] == first["spec"]


def test_an_injected_probe_that_was_edited_stays_whole_after_opting_out() -> None:
    stored = created(file(PROBED))
    probe = engines_of(stored)[0]["startupProbe"]

    def slow(pod: Object) -> None:
        for engine in pod["spec"]["containers"]:
            engine.get("startupProbe", {})["failureThreshold"] = 999

    assert engines_of(opted_out(edited(stored, slow)))[0]["startupProbe"] == {
        **probe,
        "failureThreshold": 999,
    }


def test_containers_stay_in_another_order() -> None:
    log = {"name": "log", "image": "fluentbit:1", "resources": {}}
    stored = edited(created(file(container(), log)), lambda pod: pod["spec"]["containers"].reverse())

    assert [one["name"] for one in engines_of(stored)] == ["log"]


def test_an_export_with_its_record_that_is_applied_is_reverted_after_opting_out() -> None:
    newer = {**PROBED, "image": "vllm/vllm-openai:v0.19.0"}
    stored = created(file(PROBED), clients.server_side_apply)
    exported = changed(stored, "metadata.managedFields", None)
    for engine in engines_of(exported):
        engine["image"] = newer["image"]

    left = opted_out(applied(stored, exported, clients.server_side_apply))

    assert not list(differences(opted_out(created(file(newer))), left))


def test_the_leader_of_a_launcher_that_is_named_after_an_export_is_no_author_s() -> None:
    stored, native = created(file(PROBED, launcher="none")), file(PROBED, launcher="vllm-native")
    replaced = SERVER.admit(clients.exported(stored, copy.deepcopy(stored)) or {}, stored)
    launched = edited_to(replaced, changed(replaced, LAUNCHER, "vllm-native"))

    assert not list(differences(created(native), applied(launched, native)))


def test_an_edited_launch_of_a_leader_goes_with_its_copy() -> None:
    def change_launcher(pod: Object) -> None:
        pod["spec"]["containers"][0]["args"][1] = "--addr"

    left = opted_out(edited(created(file(PROBED)), change_launcher))

    assert "leaderTemplate" not in left["spec"]["leaderWorkerTemplate"]


def without_labels(stored: Object, live: Object) -> Object | None:
    """Replace an object by an exported file without labels."""
    return clients.replace(stored, changed(live, "metadata.labels", {}))


@APPLIES
@pytest.mark.parametrize(
    "files",
    [(), (clients.client_side_apply,), (without_labels,)],
    ids=["by hand", "with an exported file", "with one without labels"],
)
@pytest.mark.parametrize(
    "annotations", [{"launcher": "vllm-native"}, {"launcher": "ray-start"}, DECODER, {}], ids=str
)
def test_an_ejected_object_comes_back_with_its_file_and_restarts_nothing(
    apply: Any, annotations: dict[str, str], files: tuple[Any, ...]
) -> None:
    own = file(container(), **annotations)
    expanded = created(own, apply)
    wanted = copy.deepcopy(expanded)
    keys = wanted["metadata"]["annotations"]
    wanted["metadata"]["annotations"] = {key: keys[key] for key in keys if "fusioninfer.io" not in key}
    ejected = edited_to(expanded, wanted)
    for one in files:
        ejected = applied(ejected, clients.file_of(ejected), one)

    back = applied(ejected, own, apply)

    assert list(differences(expanded, back)) == []
    assert "FI520" not in {finding.code for finding in check(back, ejected)}
    plain = opted_out(back)
    assert "leaderTemplate" not in plain["spec"]["leaderWorkerTemplate"]
    assert [words(engine) for engine in engines_of(plain)] == [words(container())]


def test_a_large_file_is_not_read_beside_an_ejected_object() -> None:
    others = [{"name": f"sidecar-{number}", "image": "busybox"} for number in range(30)]
    own = file(container(), *others, launcher="vllm-native")
    expanded = created(own)
    wanted = copy.deepcopy(expanded)
    wanted["metadata"]["annotations"] = {}

    back = applied(edited_to(expanded, wanted), own)

    leader, worker = engines_of(back)
    assert words(leader) == words(engines_of(expanded)[0])
    assert words(worker) == words(container())


@LAUNCHERS
def test_a_launch_in_a_file_without_our_labels_stays_where_its_annotations_go(launcher: str) -> None:
    stored = created(file(launcher=launcher), clients.server_side_apply)
    exported = clients.file_of(stored)
    exported["metadata"] = {"name": exported["metadata"]["name"], "namespace": "llm"}
    for name in TEMPLATES:
        exported["spec"]["leaderWorkerTemplate"].get(name, {}).pop("metadata", None)

    ejected = applied(stored, exported, clients.server_side_apply)

    assert [words(engine) for engine in engines_of(ejected)] == [
        words(engine) for engine in engines_of(stored)
    ]
