"""What `fusioninfer expand` prints without a namespace may be applied in any: `kubectl apply -n` is enough.

An account without a namespace is, to an API server, one of the RoleBinding's own namespace
(`appliesToUser` in `pkg/registry/rbac/validation/rule.go` of Kubernetes).
"""

import json
import sys
from pathlib import Path
from subprocess import run
from typing import Final

import pytest

from intent import Object
from tests.cluster.testbed.cluster import Cluster, kubectl, run_kubectl
from tests.cluster.testbed.controllers import becomes
from tests.cluster.testbed.ours import ROOT
from tests.cluster.testbed.written import listed

CASE: Final = ROOT / "tests" / "golden" / "isvc-readme-monolithic" / "input.yaml"
ACCOUNT: Final = "qwen-inference-epp"
RIGHTS: Final = ("ServiceAccount", "RoleBinding")


def printed(file: Path) -> list[Object]:
    """Expand a file that names no namespace."""
    command = [sys.executable, "-m", "fusioninfer", "expand", "--output=json", f"--filename={file}"]
    return listed(run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout)


def as_list(objects: list[Object]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})


def test_every_object_is_accepted(served: Cluster, routed_namespace: str) -> None:
    objects = printed(CASE)
    words = ("--server-side", "--dry-run=server", "--namespace", routed_namespace, "--filename=-")

    said = run_kubectl(served, "apply", *words, stdin=as_list(objects))
    assert said.returncode == 0, said.stderr
    assert len(said.stdout.splitlines()) == len(objects)


@pytest.mark.parametrize("verb", ["list", "watch"])
def test_the_endpoint_picker_of_its_namespace_alone_gets_its_rights(
    served: Cluster, routed_namespace: str, verb: str
) -> None:
    rights = [one for one in printed(CASE) if one["kind"] in RIGHTS]
    kubectl(served, "apply", "--namespace", routed_namespace, "--filename=-", stdin=as_list(rights))

    def may(namespace: str) -> str:
        """Say whether the account of that name in a namespace may read the pods of this one."""
        account = f"--as=system:serviceaccount:{namespace}:{ACCOUNT}"
        asked = ("auth", "can-i", verb, "pods", account, "--namespace", routed_namespace)
        return run_kubectl(served, *asked).stdout

    assert becomes(lambda: may(routed_namespace), "yes\n") == "yes\n"
    assert may("default") == "no\n"
