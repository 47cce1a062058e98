"""Fields beside the launch: the address that NIXL advertises, and what an author has of injected items."""

from typing import Final

import pytest

from tests.builders.lws import changed, container, lws, pod_spec, put, template

IP: Final = {"fieldRef": {"fieldPath": "status.podIP"}}
NIXL: Final = '{"kv_connector": "NixlConnector", "kv_role": "kv_both"}'
MULTI: Final = (
    '{"kv_connector": "MultiConnector", "kv_role": "kv_both", "kv_connector_extra_config": '
    '{"connectors": [{"kv_connector": "NixlConnector", "kv_role": "kv_both"}]}}'
)
VOLUMES: Final = "spec.leaderWorkerTemplate.workerTemplate.spec.volumes"


# --- env --------------------------------------------------------------------------------------------


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


def test_a_memory_volume_of_the_author_gets_no_size() -> None:
    volumes = [{"name": "dshm", "emptyDir": {"medium": "Memory"}}]
    engine = container(resources={"limits": {"memory": "1Gi"}})

    assert pod_spec(put(lws(2, template(engine, volumes=volumes))))["volumes"] == volumes
