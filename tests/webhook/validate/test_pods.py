"""Containers that the API server would refuse, the model in an image, and an author's own download."""

from typing import Any, Final

import pytest

from intent import Object
from intent.settings import Settings
from tests.builders.lws import changed, container, lws, paused, put, template
from tests.webhook.validate.mistakes import annotated
from webhook.check import check

GROUP: Final = "spec.leaderWorkerTemplate"
DATA: Final[Object] = {"name": "data", "mountPath": "/data"}
MODEL: Final[Object] = {"name": "fusioninfer-model", "mountPath": "/mnt/models"}


def refused(live: Object, old: Object | None = None, *, mutated: bool = False) -> list[tuple[str, str]]:
    """Return path and severity of the findings about mounts and images."""
    found = check(live, old, mutated=mutated)
    return [
        (one.path.removeprefix(f"{GROUP}."), one.severity) for one in found if one.code in {"FI331", "FI332"}
    ]


def mounting(*mounts: Any, **spec: Any) -> Object:
    return template(container(volumeMounts=list(mounts)), **spec)


OWN: Final = mounting(DATA, volumes=[{"name": "data", "emptyDir": {}}])
DEVICE: Final = container(volumeDevices=[{"name": "data", "devicePath": "/dev/x"}])
CLAIMS: Final = [{"metadata": {"name": "data"}, "spec": {}}]


@pytest.mark.parametrize(
    ("live", "field"),
    [
        (lws(leader=OWN, worker=mounting(DATA)), "volumeMounts"),
        (lws(worker=template(DEVICE)), "volumeDevices"),
        (changed(lws(worker=mounting(DATA)), f"{GROUP}.volumeClaimTemplates", CLAIMS), None),
    ],
    ids=["of workers alone", "a raw device", "a claim template is a volume of every pod"],
)
def test_a_mount_needs_its_volume(live: Object, field: str | None) -> None:
    expected = [(f"workerTemplate.spec.containers[0].{field}[0].name", "error")] if field else []

    assert refused(live) == expected


@pytest.mark.parametrize(
    ("uri", "mount", "count"), [("s3://bucket/m", MODEL, 0), (None, MODEL, 1), ("s3://bucket/m", DATA, 1)]
)
def test_a_further_container_may_mount_the_model_alone(uri: str | None, mount: Object, count: int) -> None:
    reader = {"name": "reader", "image": "corp/x:1", "volumeMounts": [mount]}
    engine = container(args=["--tensor-parallel-size", "16"])
    live = lws(worker=template(engine, reader))

    assert len(refused(annotated(live, model=uri) if uri else live)) == count


def test_what_is_injected_has_image_and_volume() -> None:
    live = put(lws(model="s3://bucket/m", worker=template(container(args=["--tensor-parallel-size", "16"]))))

    assert refused(live, mutated=True) == []


@pytest.mark.parametrize("wrong", [[1, {"name": 2}, {}], "x", {"a": 1}])
def test_values_of_the_wrong_type_are_left_to_the_schema(wrong: Any) -> None:
    assert refused(lws(worker=template(container(volumeMounts=wrong), volumes=wrong))) == []


def test_an_object_that_was_stored_with_such_a_mount_can_be_changed() -> None:
    old = put(lws(worker=mounting(DATA)))

    assert refused(paused(old), old, mutated=True) == [
        ("workerTemplate.spec.containers[0].volumeMounts[0].name", "warning")
    ]


def test_an_update_with_a_fault_that_validators_read_is_denied() -> None:
    stored = lws(worker=template(container(volumeMounts=[DATA]), volumes=[{"name": "data", "emptyDir": {}}]))
    edited = changed(stored, f"{GROUP}.workerTemplate.spec.volumes", [])

    assert [one.code for one in check(edited, stored, mutated=False) if one.severity == "error"] == ["FI331"]


# --- the model in an image, by the version of the cluster; and an author's own download --------------------


@pytest.mark.parametrize(
    ("version", "codes"),
    [
        ("", []),
        ("v1.30.4", ["FI323"]),
        ("1.31", []),
    ],
)
def test_an_image_is_mounted_by_clusters_that_can(version: str, codes: list[str]) -> None:
    plain = lws(2, template(container(args=["-tp", "8", "-pp", "2"])), model="oci://reg/m")

    found = check(plain, settings=Settings(kubernetes_version=version), mutated=False)

    assert [one.code for one in found if one.path.endswith("/model]")] == codes


@pytest.mark.parametrize(
    "args", [["s3://bucket/m", "/mnt/models"], ["s3://bucket/m", "/mnt/models", "s3://a/b", "/x"]]
)
def test_an_authors_own_download_may_do_more(args: list[str]) -> None:
    own = {"name": "storage-initializer", "image": "mine", "args": args}
    plain = template(container(args=["-tp", "8", "-pp", "2"]), initContainers=[own])

    assert [str(one) for one in check(lws(2, plain, model="s3://bucket/m"), mutated=False)] == []
