"""`fusioninfer eject`: how objects are named, what is printed, and the exit codes."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from intent import yaml
from sync.kinds import LWS, POD_GROUP
from tests.fusioninfer.conftest import Command
from tests.sync.fake_api import Api, status
from tests.sync.samples import APPLIED, KEY, decode, lws, planned, prefill

P, D = LWS.path(KEY[0], "p"), LWS.path(KEY[0], "d")
PG = POD_GROUP.path(*KEY)


@pytest.fixture
def cluster(api: Api) -> Api:
    """Store a prefiller, a decoder and their PodGroup."""
    api.put(P, lws("p"))
    api.put(D, lws("d", "decoder"))
    (group,) = planned(prefill(), decode()).objects
    group["metadata"]["managedFields"] = APPLIED
    api.put(PG, group)
    return api


@pytest.fixture
def eject(command: Command) -> Command:
    """Return a function that ejects what its words name."""
    return partial(command, "eject")


def kinds(result: Result) -> list[str]:
    return [obj["kind"] for obj in yaml.load(result.stdout)]


def changed(path: Path, old: str, new: str) -> None:
    """Replace a text in a file."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("word", ["r1", "lws/p", "leaderworkersets.leaderworkerset.x-k8s.io/d"])
async def test_a_service_is_named_by_itself_or_a_member(eject: Command, word: str) -> None:
    result = await eject("-n", "team-a", word)

    assert (result.exit_code, kinds(result)) == (0, ["PodGroup", "LeaderWorkerSet", "LeaderWorkerSet"])


@pytest.mark.usefixtures("cluster")
async def test_without_one_the_namespace_of_the_context_counts(eject: Command, kubeconfig: Path) -> None:
    changed(kubeconfig, "    cluster: fake\n", "    cluster: fake\n    namespace: team-a\n")

    result = await eject("r1")

    assert (result.exit_code, result.stderr.count("error")) == (0, 0)


# --- what is printed ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("cluster")
async def test_the_steps_are_on_standard_error(eject: Command) -> None:
    result = await eject("-n", "team-a", "r1")

    assert "1. Save the output as ejected.yaml." in result.stderr
    assert "   $ kubectl --namespace team-a annotate " in result.stderr


@pytest.mark.usefixtures("cluster")
async def test_json_is_a_list_with_steps(eject: Command) -> None:
    result = await eject("-n", "team-a", "r1", "-o", "json")

    printed = json.loads(result.stdout)
    assert (printed["kind"], len(printed["items"]), result.stderr) == ("List", 3, "")
    assert printed["steps"][1]["command"].startswith("kubectl --namespace team-a annotate ")


async def test_an_ejected_object_is_found_without_its_labels(cluster: Api, eject: Command) -> None:
    for path in (P, D):
        gone = cluster.objects[path]
        gone["metadata"] |= {"labels": {}, "annotations": {}}
        cluster.put(path, gone)

    result = await eject("-n", "team-a", "lws/p")

    assert (result.exit_code, kinds(result)) == (0, ["PodGroup", "LeaderWorkerSet", "LeaderWorkerSet"])


async def test_the_pod_group_of_a_revision_is_printed(cluster: Api, eject: Command) -> None:
    name = f"{KEY[1]}-0a1b2c3d"
    for path in (P, D):
        made = cluster.objects[path]
        template = made["spec"]["leaderWorkerTemplate"]["workerTemplate"]["metadata"]
        template["annotations"]["scheduling.k8s.io/group-name"] = name
        made["metadata"]["labels"]["disaggregatedset.x-k8s.io/revision"] = "0a1b2c3d"
        cluster.put(path, made)
    group = cluster.objects.pop(PG)
    group["metadata"]["name"] = name
    cluster.put(POD_GROUP.path(KEY[0], name), group)

    result = await eject("-n", "team-a", "r1")

    assert result.exit_code == 0, result.stderr
    assert next(yaml.load(result.stdout))["metadata"]["name"] == name


async def test_the_cluster_is_only_read(cluster: Api, eject: Command) -> None:
    cluster.requests.clear()

    await eject("-n", "team-a", "r1")

    assert {method for method, _ in cluster.requests} == {"GET"}


async def test_a_kind_that_is_not_installed_is_no_error(cluster: Api, eject: Command) -> None:
    cluster.absent.add("destinationrules")

    result = await eject("-n", "team-a", "r1")

    assert result.exit_code == 0


async def test_what_cannot_be_ejected_is_exit_code_1(cluster: Api, eject: Command) -> None:
    del cluster.objects[PG]

    result = await eject("-n", "team-a", "r1")

    assert (result.exit_code, result.stdout) == (1, "")
    assert (
        "error: LeaderWorkerSet team-a/p: its pods wait for PodGroup r1, which does not exist"
        in result.stderr
    )


async def test_a_missing_right_is_named(cluster: Api, eject: Command) -> None:
    def refuse(request: Any) -> Any:
        return status(403, "Forbidden", "no") if request.path.endswith("/httproutes") else None

    cluster.fault = refuse

    result = await eject("-n", "team-a", "r1")

    assert (result.exit_code, result.stdout) == (2, "")
    assert "cannot list httproutes in namespace team-a: 403" in result.stderr
