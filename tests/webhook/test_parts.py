"""Fields beside the launch: variables, shared memory, the wait for DNS; and how to skip a concern."""

from typing import Any, Final

import pytest

from intent import Object
from intent.annotations import PARTS
from intent.read import read
from tests.builders.lws import changed, container, lws, pod_spec, put, template

IP: Final = {"fieldRef": {"fieldPath": "status.podIP"}}
NIXL: Final = '{"kv_connector": "NixlConnector", "kv_role": "kv_both"}'
MULTI: Final = (
    '{"kv_connector": "MultiConnector", "kv_role": "kv_both", "kv_connector_extra_config": '
    '{"connectors": [{"kv_connector": "NixlConnector", "kv_role": "kv_both"}]}}'
)
VOLUMES: Final = "spec.leaderWorkerTemplate.workerTemplate.spec.volumes"


def variables(expanded: Object) -> list[str]:
    """Return the names of the engine's variables, in order."""
    return [item["name"] for item in pod_spec(expanded)["containers"][0].get("env", [])]


def of(launcher: str, size: int = 2, **fields: Any) -> Object:
    """Expand a group of one template through a launcher."""
    return put(lws(size, template(container(**fields)), launcher=launcher))


# --- env --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("launcher", "image", "names"),
    [
        ("vllm-native", "vllm/vllm-openai:latest", ["VLLM_HOST_IP"]),
        ("vllm-native", "vllm/vllm-openai:v0.16.0", []),
    ],
)
def test_a_launcher_sets_what_it_needs(launcher: str, image: str, names: list[str]) -> None:
    assert variables(of(launcher, image=image)) == names


def test_injected_variables_come_before_the_authors() -> None:
    names = variables(put(lws(worker=template(container(env=[{"name": "A", "value": "$(VLLM_HOST_IP)"}])))))

    assert names[-2:] == ["VLLM_HOST_IP", "A"]


@pytest.mark.parametrize(
    ("config", "is_set"),
    [
        (["--kv-transfer-config", MULTI], True),
        (["--kv-transfer-config", NIXL.replace("Nixl", "LMCache")], False),
        ([], False),
    ],
)
@pytest.mark.parametrize("size", [1, 2])
def test_nixl_advertises_the_address_of_the_pod(config: list[str], size: int, *, is_set: bool) -> None:
    expanded = put(lws(size, template(container(args=["M", "-tp", "8", *config]))))

    env = {item["name"]: item for item in pod_spec(expanded)["containers"][0].get("env", [])}
    assert env.get("VLLM_NIXL_SIDE_CHANNEL_HOST", {}).get("valueFrom") == (IP if is_set else None)


# --- shm --------------------------------------------------------------------------------------------


def test_a_volume_of_another_kind_keeps_its_name() -> None:
    there = [{"name": "dshm", "emptyDir": {}}, {"name": "dshm-1", "emptyDir": {}}]
    pods = pod_spec(put(lws(worker=template(volumes=there))))

    assert pods["volumes"][:2] == there
    assert [mount["name"] for mount in pods["containers"][0]["volumeMounts"]] == ["dshm-2"]


@pytest.mark.parametrize("field", ["containers", "initContainers"])
def test_a_volume_that_is_only_mounted_is_not_provided(field: str) -> None:
    forgotten = {"name": "load", "image": "x", "volumeMounts": [{"name": "dshm", "mountPath": "/models"}]}
    beside = {"containers": [container(), forgotten]} if field == "containers" else {field: [forgotten]}
    made = put(lws(worker=template(**beside)))

    assert pod_spec(made)["volumes"] == [{"name": "dshm-1", "emptyDir": {"medium": "Memory"}}]
    assert put(made) == made


def test_a_limit_added_to_the_injected_volume_stays() -> None:
    once = put(lws())
    edited = changed(once, f"{VOLUMES}.0.emptyDir.sizeLimit", "16Gi")

    again = put(edited, once)

    assert again["spec"] == edited["spec"]
    assert put(again, again) == again


# --- dns --------------------------------------------------------------------------------------------


def test_an_authors_init_container_of_that_name_is_kept() -> None:
    own = {"name": "wait-for-leader", "image": "busybox"}

    assert pod_spec(put(lws(worker=template(initContainers=[own]))))["initContainers"] == [own]


# --- skip -------------------------------------------------------------------------------------------


def test_skipping_the_startup_probe_keeps_the_split() -> None:
    ready = {"httpGet": {"path": "/health", "port": 8000}}

    group = put(lws(worker=template(container(readinessProbe=ready)), skip="startup-probe"))["spec"]

    (one,) = group["leaderWorkerTemplate"]["leaderTemplate"]["spec"]["containers"]
    assert one.keys() & {"readinessProbe", "startupProbe"} == {"readinessProbe"}


@pytest.mark.parametrize("text", ["prob", "shm,xyz", "shm,shm"])
def test_skipping_an_unknown_concern_is_an_error(text: str) -> None:
    expected = f"must be parts ({', '.join(PARTS)}) separated by commas, each once, at most 4096 characters"

    assert [error.message for error in read(lws(skip=text)).errors] == [expected]


SIZES: Final[dict[str, tuple[Any, str, str | None]]] = {
    "a limit": ("1024Mi", "env", "1Gi"),
    "bytes": (10**9, "env", "1G"),
    "no limit": (None, "env", None),
    "no quantity": ("much", "env", None),
    "skipped": ("1Gi", "shm-limit", None),
}


@pytest.mark.parametrize(("limit", "skip", "size"), SIZES.values(), ids=SIZES)
def test_shared_memory_has_the_size_of_the_memory_limit(limit: Any, skip: str, size: str | None) -> None:
    limits = {"nvidia.com/gpu": 8} if limit is None else {"nvidia.com/gpu": 8, "memory": limit}
    found = put(lws(2, template(container(resources={"limits": limits})), skip=skip))

    (volume,) = pod_spec(found)["volumes"]
    assert volume["emptyDir"] == {"medium": "Memory", **({"sizeLimit": size} if size else {})}


def test_a_memory_volume_of_the_author_gets_no_size() -> None:
    volumes = [{"name": "dshm", "emptyDir": {"medium": "Memory"}}]
    engine = container(resources={"limits": {"memory": "1Gi"}})

    assert pod_spec(put(lws(2, template(engine, volumes=volumes))))["volumes"] == volumes
