"""`helm test`: a pod that runs `fusioninfer check`, and its rights.

`tests/cluster/test_inspecting.py` runs the command with these rights on the real API server.
"""

import re
from typing import Final

import pytest
import yaml

from hack.manifests.chart import ONLY_IN_CHART, files
from intent import Object

OBJECTS: Final[list[Object]] = [*yaml.safe_load_all((ONLY_IN_CHART / "test.yaml").read_text())]
RULES: Final[list[Object]] = [rule for one in OBJECTS for rule in one.get("rules", ())]
TRIED: Final = ["leaderworkersets"]
"""The command creates a LeaderWorkerSet in a dry run alone."""


def of_kind(kind: str) -> list[Object]:
    return [one for one in OBJECTS if one["kind"] == kind]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: "-".join(rule["resources"] + rule["verbs"]))
def test_its_rights_are_to_read_and_to_try(rule: Object) -> None:
    """What may hold secrets is read by name."""
    is_tried = rule["verbs"] == ["create"] and rule["resources"] == TRIED

    assert is_tried or set(rule["verbs"]) <= {"get", "list"}
    assert "*" not in (*rule["apiGroups"], *rule["resources"])
    assert "resourceNames" in rule or not {"secrets", "configmaps"} & set(rule["resources"])


@pytest.mark.parametrize("role", ["ClusterRole", "Role"])
def test_they_are_those_of_its_pod_alone(role: str) -> None:
    (account,), (pod,) = of_kind("ServiceAccount"), of_kind("Pod")
    subject = {"kind": "ServiceAccount"} | {key: account["metadata"][key] for key in ("name", "namespace")}

    for bound, granted in zip(of_kind(f"{role}Binding"), of_kind(role), strict=True):
        assert bound["subjects"] == [subject]
        assert bound["metadata"].get("namespace") == granted["metadata"].get("namespace")
        assert bound["roleRef"]["name"] == granted["metadata"]["name"]
    assert pod["spec"]["serviceAccountName"] == account["metadata"]["name"]


def test_the_pod_checks_the_namespace_of_the_release() -> None:
    (pod,) = of_kind("Pod")
    (container,) = pod["spec"]["containers"]
    system = f"--system-namespace={pod['metadata']['namespace']}"

    assert container["args"] == ["check", "--namespace=default", system]
    assert "--system-namespace={{ $.Release.Namespace }}\n" in files()["templates/test.yaml"]


def test_helm_removes_each_object_when_the_test_succeeds() -> None:
    hooks = re.findall(r'"helm.sh/hook" "test" .*"before-hook-creation,hook-succeeded"', template())

    assert len(hooks) == len(OBJECTS)


def template() -> str:
    return files()["templates/test.yaml"]
