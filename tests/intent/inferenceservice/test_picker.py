"""The author of a router changes of the endpoint picker's pods what nothing else depends on."""

from typing import Any, Final

import pytest

from catalog.pickers.generations import PICKERS
from catalog.pickers.workload import RESERVED_FLAGS, flag_name
from intent import Object
from intent.inferenceservice.picker import violations
from intent.inferenceservice.read import read
from tests.builders.isvc import isvc, router, worker
from tests.sync.parts.test_routes import made
from tests.sync.parts.test_routes import worker as member


def said(template: Any) -> dict[str, str]:
    """Return the messages by path."""
    return {one.path.removeprefix("t."): one.message for one in violations(template, "t")}


def pod(**spec: Any) -> Object:
    return {"spec": {"containers": [], **spec}}


def epp(**fields: Any) -> Object:
    return pod(containers=[{"name": "epp", **fields}])


@pytest.mark.parametrize(
    "template",
    [
        {},
        pod(),
        pod(tolerations=[{"operator": "Exists"}], nodeSelector={"a": "b"}, priorityClassName="high"),
        epp(image="mirror/epp:1", resources={"limits": {"cpu": "4"}}, env=[{"name": "A", "value": "1"}]),
        epp(args=["--v=4", "-zap-encoder", "console", "--model-server-metrics-scheme=https"]),
        pod(containers=[{"name": "log", "image": "l:1"}], volumes=[{"name": "v", "emptyDir": {}}]),
        {"metadata": {"labels": {"team": "a"}, "annotations": {"note": "x"}}},
    ],
)
def test_what_nothing_depends_on_may_be_changed(template: Object) -> None:
    assert said(template) == {}


FIRST: Final = "spec.containers[0]"


def mounted(name: str, path: str) -> Object:
    return epp(volumeMounts=[{"name": name, "mountPath": path}])


def labelled(key: str) -> Object:
    return {"metadata": {"labels": {key: "x"}}}


@pytest.mark.parametrize(
    ("template", "path", "words"),
    [
        (
            labelled("fusioninfer.io/service"),
            "metadata.labels[fusioninfer.io/service]",
            "set by the controller",
        ),
        (
            labelled("app.kubernetes.io/instance"),
            "metadata.labels[app.kubernetes.io/instance]",
            "set by the controller",
        ),
        (pod(serviceAccountName="mine"), "spec.serviceAccountName", "rights of the endpoint picker"),
        (pod(volumes=[{"name": "config"}]), "spec.volumes[0].name", "another name"),
        (mounted("config", "/etc/picker/"), f"{FIRST}.volumeMounts[0].mountPath", "another path"),
        (mounted("config", "/etc//picker"), f"{FIRST}.volumeMounts[0].mountPath", "another path"),
        (epp(env=[{"name": "POD_NAME", "value": "x"}]), f"{FIRST}.env[0].name", "controller"),
        (epp(args=["--", "--v=4"]), f"{FIRST}.args[0]", "ends the flags"),
        (epp(args=["--v=4", "--pool-name=x"]), f"{FIRST}.args[1]", "pool.ref"),
        (epp(args=["-config-file", "x"]), f"{FIRST}.args[0]", "configRef"),
        (epp(args=["--ha-enable-leader-election"]), f"{FIRST}.args[0]", "picker-replicas"),
    ],
)
def test_what_the_controller_sets_is_refused_with_a_remedy(template: Object, path: str, words: str) -> None:
    found = said(template)

    assert list(found) == [path]
    assert words in found[path]


@pytest.mark.parametrize(
    "wrong", [{"spec": 1}, {"metadata": []}, pod(containers=[1, {"name": 2}], volumes="x", restartPolicy=[])]
)
def test_values_of_the_wrong_type_are_left_to_the_schema(wrong: Object) -> None:
    assert said(wrong) == {}


@pytest.mark.parametrize("row", PICKERS.values(), ids=lambda row: row.name)
def test_each_flag_of_ours_is_reserved_or_may_be_set_otherwise(row: Any) -> None:
    (container,) = made(member())["Deployment"]["spec"]["template"]["spec"]["containers"]
    known = {flag_name(one) for one in container["args"]}
    changeable = {"tracing", "zap-encoder", *map(flag_name, row.flags)}

    assert known - changeable == known & RESERVED_FLAGS.keys()


def test_a_finding_is_at_the_field_of_the_role() -> None:
    (error,) = read(isvc(router(template=pod(serviceAccountName="x")), worker()))[1]

    assert (error.path, error.code) == ("spec.roles[0].template.spec.serviceAccountName", "FI733")
