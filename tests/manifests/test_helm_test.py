"""`helm test`: a pod that runs `fusioninfer check`, and what it may read meanwhile.

`tests/cluster/test_inspecting.py` runs the command with these rights on the real API server.
"""

import re
from typing import Final

import pytest
import yaml

from hack.manifests.chart import ONLY_IN_CHART, files
from intent import Object

OBJECTS: Final[dict[str, Object]] = {
    one["kind"]: one for one in yaml.safe_load_all((ONLY_IN_CHART / "test.yaml").read_text())
}
RULES: Final[list[Object]] = [*OBJECTS["ClusterRole"]["rules"], *OBJECTS["Role"]["rules"]]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: "-".join(rule["resources"]))
def test_its_rights_are_to_read(rule: Object) -> None:
    """A review stores nothing. What may hold secrets is read by name."""
    is_review = rule["resources"] == ["subjectaccessreviews"]

    assert set(rule["verbs"]) <= ({"create"} if is_review else {"get", "list"})
    assert "*" not in (*rule["apiGroups"], *rule["resources"])
    assert "resourceNames" in rule or not {"secrets", "configmaps"} & set(rule["resources"])


@pytest.mark.parametrize("role", ["ClusterRole", "Role"])
def test_they_are_those_of_its_pod_alone(role: str) -> None:
    account = OBJECTS["ServiceAccount"]["metadata"]
    bound, pod = OBJECTS[f"{role}Binding"], OBJECTS["Pod"]["spec"]

    assert [(one["name"], one["namespace"]) for one in bound["subjects"]] == [
        (account["name"], account["namespace"])
    ]
    assert bound["roleRef"]["name"] == OBJECTS[role]["metadata"]["name"]
    assert pod["serviceAccountName"] == account["name"]


def test_the_pod_checks_the_namespace_of_the_release() -> None:
    (container,) = OBJECTS["Pod"]["spec"]["containers"]
    system = f"--system-namespace={OBJECTS['Pod']['metadata']['namespace']}"

    assert container["args"] == ["check", "--namespace=default", system]
    assert "--system-namespace={{ $.Release.Namespace }}\n" in files()["templates/test.yaml"]


def test_each_object_is_there_only_while_it_runs() -> None:
    hooks = re.findall(r'"helm.sh/hook" "test" .*"before-hook-creation,hook-succeeded"', template())

    assert len(hooks) == len(OBJECTS)


def template() -> str:
    return files()["templates/test.yaml"]
