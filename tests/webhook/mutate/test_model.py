"""The volume of the model, the variables of a download, and the init container, in leader and workers."""

from typing import Any, Final

import pytest

from intent import Object
from intent.model import VOLUME
from intent.settings import Settings
from tests.builders.lws import PREFIX, changed, container, lws, pod_specs, put, template
from webhook.expand import expand, expanded

POD: Final = "spec.leaderWorkerTemplate.workerTemplate.spec"


def of_model(uri: str, *, engine: Object | None = None, spec: Object | None = None, **notes: Any) -> Object:
    """Expand a group of two pods with a model, and return the pod spec that all of them have."""
    plain = template(container(**engine or {}), **spec or {})
    notes = {"launcher": "vllm-native", "model": uri, **notes}
    first, *others = map(parts, pod_specs(put(lws(2, plain, **notes))))
    assert others == [first]
    return first


def parts(pod: Object) -> Object:
    """Return what the model adds to a pod: volumes, mounts, variables and init containers."""
    engine = pod["containers"][0]
    ours = {"volumes": pod.get("volumes", []), "mounts": engine.get("volumeMounts", [])}
    found: Object = {
        key: [one for one in items if one["name"].startswith(VOLUME)] for key, items in ours.items()
    }
    found["env"] = [one for one in engine.get("env", []) if one["name"].startswith("HF_")]
    found["init"] = [one for one in pod.get("initContainers", []) if one["name"] == "storage-initializer"]
    return found


HOME: Final = {"name": "HF_HOME", "value": "/model-cache"}
CACHE: Final = {"name": VOLUME, "mountPath": "/model-cache"}
MODELS: Final = {"name": VOLUME, "mountPath": "/mnt/models", "readOnly": True}


@pytest.mark.parametrize(
    ("notes", "volume", "mount", "env"),
    [
        (
            {"model": "hf://org/M", "model_cache": "pvc://claim/a/b"},
            {"persistentVolumeClaim": {"claimName": "claim"}},
            CACHE | {"subPath": "a/b"},
            [HOME],
        ),
        (
            {"model": "pvc+hf://claim/org/M"},
            {"persistentVolumeClaim": {"claimName": "claim"}},
            CACHE,
            [HOME, {"name": "HF_HUB_CACHE", "value": "/model-cache"}],
        ),
        (
            {"model": "pvc://claim"},
            {"persistentVolumeClaim": {"claimName": "claim", "readOnly": True}},
            MODELS,
            [],
        ),
    ],
    ids=lambda value: value.get("model") if isinstance(value, dict) else None,
)
def test_an_engine_that_needs_no_download_gets_a_volume_and_its_variables(
    notes: dict[str, Any], volume: Object, mount: Object, env: list[Object]
) -> None:
    assert of_model(notes.pop("model"), **notes) == {
        "volumes": [{"name": VOLUME, **volume}],
        "mounts": [mount],
        "env": env,
        "init": [],
    }


def test_the_download_runs_as_the_engine_does_and_as_the_operator_says() -> None:
    settings = Settings(
        storage_initializer_image="mirror/si:1", storage_initializer_resources={"limits": {"memory": "9Gi"}}
    )
    secured = container(securityContext={"runAsNonRoot": True, "runAsUser": 7, "privileged": False})
    made = expanded(lws(1, template(secured), model="s3://bucket/m"), settings)

    (init,) = parts(pod_specs(made)[0])["init"]
    assert (init["image"], init["resources"]) == ("mirror/si:1", {"limits": {"memory": "9Gi"}})
    assert init["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "runAsNonRoot": True,
        "runAsUser": 7,
    }


def test_other_settings_change_nothing_that_is_stored() -> None:
    stored = put(lws(2, model="s3://bucket/m"))

    assert expand(stored, stored, Settings(storage_initializer_image="mirror/si:1")) == []


# --- what the author wrote wins ---------------------------------------------------------------------

OWN: Final[dict[str, Any]] = {"volumeMounts": [{"name": "data", "mountPath": "/mnt/models/"}]}
DATA: Final[dict[str, Any]] = {"volumes": [{"name": "data", "hostPath": {"path": "/data"}}]}


@pytest.mark.parametrize("uri", ["pvc://claim", "s3://bucket/m", "oci://reg/m"])
def test_a_mount_of_the_author_at_the_path_is_the_model(uri: str) -> None:
    assert of_model(uri, engine=OWN, spec=DATA) == {"volumes": [], "mounts": [], "env": [], "init": []}


def test_a_mount_of_the_author_is_the_cache() -> None:
    own = {"volumeMounts": [{"name": "data", "mountPath": "/model-cache"}]}

    found = of_model("hf://org/M", engine=own, spec=DATA)

    assert found == {"volumes": [], "mounts": [], "env": [HOME], "init": []}


def test_variables_of_the_author_stay() -> None:
    own = [{"name": "HF_HOME", "value": "/data"}, {"name": "HF_TOKEN", "value": "secret"}]

    assert of_model("hf://org/M", engine={"env": own}, model_secret="keys")["env"] == own


# --- changes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("other", ["hf://org/N", "pvc://claim/b", "s3://bucket/n", "oci://reg/n", None])
@pytest.mark.parametrize("uri", ["hf://org/M", "pvc://claim/a", "s3://bucket/m", "oci://reg/m"])
def test_another_model_leaves_nothing_of_the_first(uri: str, other: str | None) -> None:
    stored = put(lws(2, model=uri))
    edited = changed(stored, f"metadata.annotations.{PREFIX}model", other)

    made = put(edited, stored)

    plain: Any = {"model": other} if other else {}
    assert made["spec"] == put(lws(2, **plain))["spec"]


def test_an_edited_volume_becomes_the_authors_and_is_still_filled() -> None:
    stored = put(lws(2, model="s3://bucket/m"))
    at = [one["name"] for one in pod_specs(stored)[0]["volumes"]].index(VOLUME)
    edited = changed(stored, f"{POD}.volumes.{at}.emptyDir", {"sizeLimit": "1Ti"})

    found = parts(pod_specs(put(edited, stored))[-1])

    assert found["volumes"] == [{"name": VOLUME, "emptyDir": {"sizeLimit": "1Ti"}}]
    assert (found["mounts"], len(found["init"])) == ([MODELS], 1)


def test_a_mount_of_the_author_that_is_added_later_replaces_ours() -> None:
    stored = put(lws(1, model="pvc://claim"))
    file: Any = lws(1, template(container(**OWN), **DATA), model="pvc://claim")
    edited = changed(stored, POD, file["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"])

    assert put(edited, stored)["spec"] == put(file)["spec"]


def test_nothing_is_added_without_a_model() -> None:
    assert parts(pod_specs(put(lws(2, model_secret="keys")))[0]) == {
        "volumes": [],
        "mounts": [],
        "env": [],
        "init": [],
    }
