"""Fields beside the launch: variables, shared memory, the wait for DNS; and how to skip a concern."""

from collections.abc import Callable
from typing import Any, Final

import pytest

from intent import Object
from intent.annotations import PARTS
from intent.read import read
from tests.builders.lws import changed, container, lws, put, template

IP: Final = {"fieldRef": {"fieldPath": "status.podIP"}}
NEW: Final = "vllm/vllm-openai:v0.20.2"
SGLANG: Final = ["python3", "-m", "sglang.launch_server", "--model-path", "M", "--tp", "16"]
NIXL: Final = '{"kv_connector": "NixlConnector", "kv_role": "kv_both"}'
MULTI: Final = (
    '{"kv_connector": "MultiConnector", "kv_role": "kv_both", "kv_connector_extra_config": '
    '{"connectors": [{"kv_connector": "NixlConnector", "kv_role": "kv_both"}]}}'
)
VOLUMES: Final = "spec.leaderWorkerTemplate.workerTemplate.spec.volumes"


def spec(expanded: Object) -> Object:
    """Return the spec of the workers' pods."""
    found: Object = expanded["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]
    return found


def variables(expanded: Object) -> list[str]:
    """Return the names of the engine's variables, in order."""
    return [item["name"] for item in spec(expanded)["containers"][0].get("env", [])]


def of(launcher: str, size: int = 2, **fields: Any) -> Object:
    """Expand a group of one template through a launcher."""
    return put(lws(size, template(container(**fields)), launcher=launcher))


# --- env --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("launcher", "image", "names"),
    [
        (
            "ray-symmetric",
            NEW,
            ["RAY_SYMMETRIC_RUN_CLUSTER_WAIT_TIMEOUT", "RAY_py_gcs_connect_timeout_s", "VLLM_HOST_IP"],
        ),
        ("ray-start", "vllm/vllm-openai:v0.11.0", ["VLLM_HOST_IP"]),
        ("vllm-native", NEW, ["VLLM_HOST_IP"]),
        ("vllm-native", "vllm/vllm-openai:latest", ["VLLM_HOST_IP"]),
        ("vllm-native", "vllm/vllm-openai:v0.16.0", []),
        ("none", NEW, []),
    ],
)
def test_a_launcher_sets_what_it_needs(launcher: str, image: str, names: list[str]) -> None:
    assert variables(of(launcher, image=image)) == names


def test_sglang_needs_no_variable() -> None:
    assert variables(put(lws(worker=template(container(command=SGLANG, args=None))))) == []


def test_injected_variables_come_before_the_authors() -> None:
    names = variables(put(lws(worker=template(container(env=[{"name": "A", "value": "$(VLLM_HOST_IP)"}])))))

    assert names[-2:] == ["VLLM_HOST_IP", "A"]


@pytest.mark.parametrize(
    ("config", "is_set"),
    [
        (["--kv-transfer-config", NIXL], True),
        (["--kv-transfer-config", MULTI], True),
        (
            ["--kv-transfer-config.kv_connector", "NixlConnector", "--kv-transfer-config.kv_role=kv_both"],
            True,
        ),
        (["--kv-transfer-config", NIXL.replace("Nixl", "LMCache")], False),
        ([], False),
    ],
)
@pytest.mark.parametrize("size", [1, 2])
def test_nixl_advertises_the_address_of_the_pod(config: list[str], size: int, *, is_set: bool) -> None:
    expanded = put(lws(size, template(container(args=["M", "-tp", "8", *config]))))

    env = {item["name"]: item for item in spec(expanded)["containers"][0].get("env", [])}
    assert env.get("VLLM_NIXL_SIDE_CHANNEL_HOST", {}).get("valueFrom") == (IP if is_set else None)


# --- shm --------------------------------------------------------------------------------------------


def test_memory_is_mounted_at_dev_shm() -> None:
    pods = spec(put(lws()))

    assert pods["volumes"] == [{"name": "dshm", "emptyDir": {"medium": "Memory"}}]
    assert pods["containers"][0]["volumeMounts"] == [{"name": "dshm", "mountPath": "/dev/shm"}]  # noqa: S108 - in a container


@pytest.mark.parametrize(
    "pods",
    [
        template(container(volumeMounts=[{"name": "x", "mountPath": "/dev/shm/"}])),  # noqa: S108 - in a container
        template(hostIPC=True),
    ],
    ids=["under another name", "that of the node"],
)
def test_existing_shared_memory_is_kept(pods: Object) -> None:
    assert "volumes" not in spec(put(lws(worker=pods)))


@pytest.mark.parametrize(
    ("there", "name"),
    [
        ([{"name": "dshm", "hostPath": {"path": "/x"}}], "dshm-1"),
        ([{"name": "dshm", "emptyDir": {}}, {"name": "dshm-1", "emptyDir": {}}], "dshm-2"),
        ([{"name": "dshm", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}}], "dshm"),
    ],
)
def test_a_volume_of_another_kind_keeps_its_name(there: list[Object], name: str) -> None:
    pods = spec(put(lws(worker=template(volumes=there))))

    assert pods["volumes"][: len(there)] == there
    assert [mount["name"] for mount in pods["containers"][0]["volumeMounts"]] == [name]


@pytest.mark.parametrize("field", ["containers", "initContainers"])
def test_a_volume_that_is_only_mounted_is_not_provided(field: str) -> None:
    forgotten = {"name": "load", "image": "x", "volumeMounts": [{"name": "dshm", "mountPath": "/models"}]}
    beside = {"containers": [container(), forgotten]} if field == "containers" else {field: [forgotten]}
    made = put(lws(worker=template(**beside)))

    assert spec(made)["volumes"] == [{"name": "dshm-1", "emptyDir": {"medium": "Memory"}}]
    assert put(made) == made


def test_a_limit_added_to_the_injected_volume_stays() -> None:
    once = put(lws())
    edited = changed(once, f"{VOLUMES}.0.emptyDir.sizeLimit", "16Gi")

    again = put(edited, once)

    assert again["spec"] == edited["spec"]
    assert put(again, again) == again


# --- dns --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("launcher", "waits"),
    [("ray-symmetric", True), ("vllm-native", True), ("ray-start", False), ("none", False)],
)
def test_pods_wait_for_dns_if_the_launcher_would_exit(launcher: str, *, waits: bool) -> None:
    assert ("initContainers" in spec(of(launcher, image=NEW))) is waits


def test_the_wait_is_the_last_of_the_init_containers() -> None:
    download = {"name": "download", "image": "busybox"}

    found = spec(put(lws(worker=template(initContainers=[download]))))["initContainers"]

    assert (found[0], [item["name"] for item in found]) == (download, ["download", "wait-for-leader"])


def test_the_wait_runs_as_the_engine_does() -> None:
    context = {"runAsUser": 1000, "privileged": True, "seccompProfile": {"type": "RuntimeDefault"}}
    one = container(securityContext=context, imagePullPolicy="Never")

    (wait,) = spec(put(lws(worker=template(one))))["initContainers"]

    assert (wait["image"], wait["imagePullPolicy"]) == (one["image"], "Never")
    assert wait["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "runAsUser": 1000,
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def test_an_authors_init_container_of_that_name_is_kept() -> None:
    own = {"name": "wait-for-leader", "image": "busybox"}

    assert spec(put(lws(worker=template(initContainers=[own]))))["initContainers"] == [own]


# --- skip -------------------------------------------------------------------------------------------


SHOWS: Final[dict[str, Callable[[Object], bool]]] = {
    "env": lambda pods: "env" in pods["containers"][0],
    "shm": lambda pods: "volumes" in pods or "volumeMounts" in pods["containers"][0],
    "dns": lambda pods: "initContainers" in pods,
    "port": lambda pods: "ports" in pods["containers"][0],
}


@pytest.mark.parametrize("part", SHOWS)
def test_skipping_a_concern_leaves_out_that_one_alone(part: str) -> None:
    pods = spec(put(lws(skip=part)))

    assert {name for name, is_there in SHOWS.items() if not is_there(pods)} == {part}


def test_skipping_the_startup_probe_keeps_the_split() -> None:
    ready = {"httpGet": {"path": "/health", "port": 8000}}

    group = put(lws(worker=template(container(readinessProbe=ready)), skip="startup-probe"))["spec"]

    (one,) = group["leaderWorkerTemplate"]["leaderTemplate"]["spec"]["containers"]
    assert one.keys() & {"readinessProbe", "startupProbe"} == {"readinessProbe"}


@pytest.mark.parametrize("part", PARTS)
def test_every_concern_can_be_skipped(part: str) -> None:
    assert read(lws(skip=f" {part} ")).errors == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("prob", "prob is not a part; did you mean probes?"),
        ("shm,xyz", "xyz is not a part; parts are env, shm, probes, startup-probe, dns, port, sidecar"),
        ("shm,shm", "must be names of parts separated by commas, each once, at most 4096 characters"),
    ],
)
def test_skipping_an_unknown_concern_is_an_error(text: str, message: str) -> None:
    assert [error.message for error in read(lws(skip=text)).errors] == [message]
