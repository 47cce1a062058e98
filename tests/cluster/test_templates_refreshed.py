"""`fusioninfer refresh` on the real API server: what it says, what it writes, and which pods restart."""

import json
from collections.abc import Iterator
from typing import Any, Final

import pytest
from click.testing import CliRunner

from fusioninfer.cli import main
from intent import Object
from tests.builders.lws import WORKER, changed, container, lws
from tests.builders.templates import template
from tests.cluster.testbed.api import create, get, patch, path
from tests.cluster.testbed.cluster import Cluster, kubeconfig
from tests.cluster.testbed.controllers import apply
from tests.cluster.testbed.groups import pods, wait_pods
from tests.cluster.testbed.namespaces import new_namespace
from tests.cluster.testbed.wait import until

ENGINE: Final = container(args=["--model", "Qwen/Qwen3-8B", "--tensor-parallel-size", "16"])
LWS: Final = changed(lws(base_refs="base"), WORKER, {})


@pytest.fixture
def namespace(templated: Cluster) -> Iterator[str]:
    """A namespace with the first version of a template."""
    with new_namespace(templated) as name:
        create(templated.api, path("inferencetemplates", name), template(content("v1"), namespace=name))
        yield name


def content(disk: str) -> Object:
    return {"template": {"spec": {"containers": [ENGINE], "nodeSelector": {"disk": disk}}}}


def edit(there: Cluster, namespace: str, disk: str) -> None:
    patch(there.api, path("inferencetemplates", namespace, "base"), {"spec": {"pods": [content(disk)]}})


def refresh(there: Cluster, namespace: str, *words: str) -> tuple[int, list[Any]]:
    """Run the subcommand; return its exit code and its rows."""
    options = ["--namespace", namespace, "--output=json", f"--kubeconfig={kubeconfig(there)}"]
    done = CliRunner().invoke(main, ["refresh", "--yes", *options, *words], catch_exceptions=False)
    return done.exit_code, json.loads(done.stdout)["leaderWorkerSets"]


def uids(there: Cluster, namespace: str) -> dict[str, str]:
    return {one["metadata"]["name"]: one["metadata"]["uid"] for one in pods(there, namespace)}


def disks(there: Cluster, namespace: str) -> set[str]:
    """Return what the pods of a namespace were made of."""
    return {one["spec"].get("nodeSelector", {}).get("disk") for one in pods(there, namespace)}


def wait_restarted(there: Cluster, namespace: str, before: dict[str, str], disk: str) -> None:
    def is_done() -> bool:
        now = uids(there, namespace)
        is_new = now.keys() == before.keys() and not set(now.values()) & set(before.values())
        return is_new and disks(there, namespace) == {disk}

    until(is_done, "every pod is another one, of the template of now")


def test_groups_restart_when_they_are_refreshed_and_not_before(templated: Cluster, namespace: str) -> None:
    apply(templated, namespace, LWS)
    wait_pods(templated, namespace, 2)
    before, where = uids(templated, namespace), path("leaderworkersets", namespace, "x")
    generation = get(templated.api, where)["metadata"]["generation"]

    edit(templated, namespace, "v2")
    apply(templated, namespace, LWS)
    code, (row,) = refresh(templated, namespace, "--dry-run")

    assert (code, row["name"], row["restarts"], row["refreshed"]) == (0, "x", True, False)
    assert f"InferenceTemplate {namespace}/base was changed (generation 1, now 2)" in row["changes"]
    assert get(templated.api, where)["metadata"]["generation"] == generation
    assert (uids(templated, namespace), disks(templated, namespace)) == (before, {"v1"})

    code, (row,) = refresh(templated, namespace)

    assert (code, row["restarts"], row["refreshed"], row["problem"]) == (0, True, True, "")
    wait_restarted(templated, namespace, before, "v2")
    assert refresh(templated, namespace) == (0, [])
