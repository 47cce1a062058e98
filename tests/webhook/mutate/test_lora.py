"""The files of LoRA adapters: volumes, mounts and init containers, in leader and workers."""

from typing import Any, Final

from intent import Object
from tests.builders.lws import changed, container, lws, pod_specs, put, template

POD: Final = "spec.leaderWorkerTemplate.workerTemplate.spec"
DOWNLOADS: Final = "a=s3://bucket/a,b=s3://bucket/b"
OURS: Final = ("fusioninfer-lora", "lora-initializer")


def parts(pod: Object) -> Object:
    """Return what adapters add to a pod: volumes, mounts, init containers, and the token."""
    engine = pod["containers"][0]
    lists = {
        "volumes": pod.get("volumes", []),
        "mounts": engine.get("volumeMounts", []),
        "init": pod.get("initContainers", []),
    }
    found: Object = {
        key: [one for one in items if one["name"].startswith(OURS)] for key, items in lists.items()
    }
    found["env"] = [one["name"] for one in engine.get("env", []) if one["name"].startswith("HF_")]
    return found


def of_lora(lora: str, *, engine: Object | None = None, size: int = 2, **notes: Any) -> Object:
    """Expand a group with adapters, and return what every pod of it gets."""
    shape = {"command": ["vllm", "serve"], "args": None if "model" in notes else ["org/M"], **(engine or {})}
    notes = {"launcher": "vllm-native", "lora": lora, **notes}
    first, *others = map(parts, pod_specs(put(lws(size, template(container(**shape)), **notes))))
    assert others == [first] * (size > 1)
    return first


def test_each_download_has_an_init_container_and_all_share_a_volume() -> None:
    found = of_lora("a=s3://bucket/a,b=s3://bucket/b")

    assert [one["args"] for one in found["init"]] == [
        ["s3://bucket/a", "/mnt/lora/a"],
        ["s3://bucket/b", "/mnt/lora/b"],
    ]
    assert found["volumes"] == [{"name": "fusioninfer-lora", "emptyDir": {}}]


def test_no_mount_is_inside_of_another() -> None:
    kinds = "a=s3://bucket/a,a/b=pvc://claim/b,c=oci://registry/c,model=hf://org/m:v1"
    paths = [f"{one['mountPath']}/" for one in of_lora(kinds, model="pvc://models/m")["mounts"]]

    assert [(one, other) for one in paths for other in paths if one != other and one.startswith(other)] == []


def test_downloads_use_the_secret_of_the_model() -> None:
    notes: dict[str, Any] = {"model": "hf://org/M", "model_secret": "keys"}
    adapters = "a=hf://org/a,b=hf://org/b:v1,c=s3://bucket/c,d=gs://bucket/d"

    found = of_lora(adapters, **notes)

    by_name = {one["name"].removeprefix("lora-initializer-"): one for one in found["init"]}
    assert found["env"] == ["HF_HOME", "HF_TOKEN"]
    assert [one["name"] for one in by_name["b"]["env"]] == ["HF_HOME", "HF_TOKEN"]
    assert by_name["c"]["envFrom"] == [{"secretRef": {"name": "keys"}}]
    assert [one["name"] for one in by_name["d"]["env"]] == ["GOOGLE_APPLICATION_CREDENTIALS"]


def test_a_mount_of_the_author_holds_the_adapter() -> None:
    own = {"volumeMounts": [{"name": "mine", "mountPath": "/mnt/lora/sql"}]}

    assert of_lora("sql=s3://bucket/a", engine=own) == {"volumes": [], "mounts": [], "init": [], "env": []}


def test_a_removed_annotation_removes_all_of_it() -> None:
    plain = lws(2, template(container(command=["vllm", "serve"], args=["org/M"])))
    key = "metadata.annotations.fusioninfer.io/lora"
    stored = put(changed(plain, key, "a=s3://bucket/a,b=pvc://claim/b,c=oci://registry/c"))

    assert put(changed(stored, key, None), stored)["spec"] == put(plain)["spec"]


def test_another_adapter_changes_its_own_parts_only() -> None:
    plain = lws(2, template(container(command=["vllm", "serve"], args=["org/M"])))
    key = "metadata.annotations.fusioninfer.io/lora"
    stored = put(changed(plain, key, "a=s3://bucket/a"))

    wanted = put(changed(plain, key, "a=s3://bucket/a,b=pvc://claim/b"))
    assert put(changed(stored, key, "a=s3://bucket/a,b=pvc://claim/b"), stored)["spec"] == wanted["spec"]


def test_an_init_container_of_the_author_changes_no_order_of_ours() -> None:
    own, init = [{"name": "prepare", "image": "busybox"}], f"{POD}.initContainers"
    plain = lws(
        2, template(container(command=["vllm", "serve"], args=[])), model="s3://bucket/m", lora=DOWNLOADS
    )
    stored = put(plain)

    assert put(changed(stored, init, own), stored)["spec"] == put(changed(plain, init, own))["spec"]
