"""docs/gitops.md says what GitOps tools show: Argo CD's engine, Flux's library and kubectl on stored objects.

The table of the page is made of `hack/pages/gitops.py`, which has these results.
"""

import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Final

import pytest

from hack.pages.gitops import SHOWN
from intent import Object
from tests.builders.isvc import isvc
from tests.builders.lws import lws, template
from tests.cluster.testbed.api import MERGE_PATCH, call, get_or_none, items, path
from tests.cluster.testbed.build import Built
from tests.cluster.testbed.cluster import Cluster, kubectl, run_kubectl
from tests.cluster.testbed.differences import differences
from tests.cluster.testbed.gitops import (
    GitOpsError,
    Options,
    Program,
    answering,
    compared,
    options_of,
    tracked,
)
from tests.cluster.testbed.namespaces import add_namespace, empty_namespace
from tests.cluster.testbed.ours import ROOT
from tests.cluster.testbed.rollouts import caught_up, generation, started
from tests.cluster.testbed.wait import until
from tests.cluster.testbed.written import read

RESOURCES: Final = {"LeaderWorkerSet": "leaderworkersets", "InferenceService": "inferenceservices"}
CONTAINERS: Final = "/spec/leaderWorkerTemplate/workerTemplate/spec/containers"
CLIENT_SIDE: Final = Options()
SERVER_SIDE: Final = Options(serverSideApply=True)
DRY_RUN: Final = Options(serverSideDiff=True)
WITH_WEBHOOK: Final = Options(serverSideDiff=True, includeMutationWebhook=True)
RECOMMENDED, AUTOSCALED = (
    options_of(read(ROOT / "docs" / "examples" / "gitops" / f"{name}.yaml"))
    for name in ("argo-cd", "argo-cd-autoscaled")
)
"""The settings of the examples."""
AUTOSCALER: Final = "kube-controller-manager"
OF_OTHERS: Final = ("metadata.managed", "status.")
"""The fields of an object that others write meanwhile: LWS counts pods between two reads."""
UNSEEN: Final = ("generation", "resourceVersion", "managedFields")
"""Fields of the metadata that only the API server writes."""
ABOVE: Final = (
    "metadata.annotations.",
    "spec.leaderWorkerTemplate.",
    "workerTemplate.spec.",
    "containers[0].",
)
"""What the page leaves out of a path."""


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools, and the namespace in which they work."""

    cluster: Cluster
    argo_cd: Program
    flux: Program
    namespace: str

    def live(self, manifest: Object) -> Object | None:
        """Read the stored object of a manifest; None if there is none."""
        resource = RESOURCES[manifest["kind"]]
        return get_or_none(self.cluster.api, path(resource, self.namespace, manifest["metadata"]["name"]))

    def sync(self, manifest: Object, options: Options) -> Object:
        """Have Argo CD synchronize a manifest, again where LWS wrote the status in between."""
        for _ in range(5):
            live = self.live(manifest)
            done: Object = self.argo_cd.ask("sync", target=tracked(manifest), live=live, options=options)
            if "the object has been modified" not in done["message"]:
                break
        return done

    def shows(self, manifest: Object, options: Options) -> list[str]:
        """Return the fields in which Argo CD shows an object as OutOfSync."""
        live = self.live(manifest)
        assert live is not None
        return named(compared(self.argo_cd, manifest, live, options))


@pytest.fixture(scope="module")
def tools(fusioninfer: Cluster, gitops: Built) -> Iterator[Tools]:
    """Run the tools in a namespace of their own."""
    namespace = add_namespace(fusioninfer)
    with (
        answering(fusioninfer, gitops.binary("argo-cd")) as argo_cd,
        answering(fusioninfer, gitops.binary("flux")) as flux,
    ):
        yield Tools(fusioninfer, argo_cd, flux, namespace)
    empty_namespace(fusioninfer, namespace)


# --- manifests ------------------------------------------------------------------------------------------


def file(tools: Tools, name: str, *, replicas: int | None = 1) -> Object:
    """Return what an author has in git: one annotated LeaderWorkerSet with a toleration."""
    found = lws(2, template(tolerations=[{"key": "gpu", "operator": "Exists"}]))
    found["metadata"] |= {"name": name, "namespace": tools.namespace}
    if replicas is None:
        del found["spec"]["replicas"]
    else:
        found["spec"]["replicas"] = replicas
    return found


def with_flag(manifest: Object) -> Object:
    """Return it with another flag of the engine."""
    edited = copy.deepcopy(manifest)
    pod_of(edited)["containers"][0]["args"].append("--enforce-eager")
    return edited


def without_toleration(manifest: Object) -> Object:
    """Return it without the toleration."""
    edited = copy.deepcopy(manifest)
    del pod_of(edited)["tolerations"]
    return edited


def pod_of(manifest: Object) -> Object:
    found: Object = manifest["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]
    return found


def named(where: object) -> list[str]:
    """Return the fields of an author among paths that differ, without what stands above them."""
    paths = (str(one) for one in (where if isinstance(where, dict) else ()))
    shown = (reduce(str.removeprefix, ABOVE, one) for one in paths)
    return [one for one in shown if one.removeprefix("metadata.") not in UNSEEN]


# --- the table of the page ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Row:
    """A tool with settings: how it writes a manifest, and in which fields it shows a difference."""

    write: Callable[[Tools, Object], object]
    shows: Callable[[Tools, Object], list[str]]


def argo_cd(options: Options) -> Row:
    """Return a row of Argo CD."""
    return Row(lambda tools, one: tools.sync(one, options), lambda tools, one: tools.shows(one, options))


def flux_shows(tools: Tools, manifest: Object) -> list[str]:
    """Return the fields that Flux would change."""
    found = tools.flux.ask("diff", target=manifest)
    shown = named(differences(found.get("live", {}), found.get("predicted", {})))
    assert (found["action"] == "configured") == bool(shown)
    return shown


def kubectl_shows(*words: str) -> Callable[[Tools, Object], list[str]]:
    """Return the fields that `kubectl diff` shows: those of a dry run of `kubectl apply`."""

    def shows(tools: Tools, manifest: Object) -> list[str]:
        text, live = json.dumps(manifest), tools.live(manifest)
        status = run_kubectl(tools.cluster, "diff", *words, "--filename=-", stdin=text).returncode
        dry_run = ("apply", *words, "--dry-run=server", "--output=json", "--filename=-")
        shown = named(differences(live, json.loads(kubectl(tools.cluster, *dry_run, stdin=text))))
        shown = [one for one in shown if "last-applied" not in one and not one.startswith(OF_OTHERS)]
        assert status == int(bool(shown))
        return shown

    return shows


def kubectl_writes(*words: str) -> Callable[[Tools, Object], object]:
    """Return a write of `kubectl apply`."""
    return lambda tools, manifest: kubectl(
        tools.cluster, "apply", *words, "--filename=-", stdin=json.dumps(manifest)
    )


ROWS: Final = (
    argo_cd(CLIENT_SIDE),
    argo_cd(SERVER_SIDE),
    argo_cd(DRY_RUN),
    argo_cd(RECOMMENDED),
    argo_cd(Options(**WITH_WEBHOOK, **SERVER_SIDE)),
    argo_cd(Options(jsonPointers=[CONTAINERS])),
    argo_cd(Options(managedFieldsManagers=["argocd-controller"])),
    Row(lambda tools, one: tools.flux.ask("apply", target=one), flux_shows),
    Row(kubectl_writes(), kubectl_shows()),
    Row(kubectl_writes("--server-side"), kubectl_shows("--server-side")),
)
"""The rows of the page, in its order."""


def cell(shown: list[str]) -> str:
    """Write the fields that a tool shows."""
    return ", ".join(f"`{one}`" for one in shown) or "nothing"


def test_the_table_of_the_page_is_what_the_tools_show(tools: Tools) -> None:
    rows = []
    for number, (row, (name, settings, *_)) in enumerate(zip(ROWS, SHOWN, strict=True)):
        manifest = file(tools, f"row-{number}")
        row.write(tools, manifest)
        caught_up(tools.cluster, tools.namespace)
        shown = [
            row.shows(tools, one) for one in (manifest, with_flag(manifest), without_toleration(manifest))
        ]
        rows.append((name, settings, *map(cell, shown)))

    assert rows == list(SHOWN)


# --- what else the page says ----------------------------------------------------------------------------


def test_drift_detection_of_helm_finds_and_corrects_the_edit_alone(tools: Tools) -> None:
    manifest = file(tools, "drifting")
    kubectl_writes("--server-side", "--field-manager=helm")(tools, manifest)
    clean = tools.flux.ask("drift", target=manifest)["action"]
    scaled(tools, "drifting", 3, "kubectl")

    drifted = tools.flux.ask("drift", target=manifest, correct=True)

    assert [one["path"] for one in drifted["patch"] if one["op"] != "test"] == ["/spec/replicas"]
    assert (clean, tools.flux.ask("drift", target=manifest)["action"]) == ("none", "none")


def test_after_an_edit_in_git_one_sync_restores_the_sync_status(tools: Tools) -> None:
    manifest = file(tools, "edited")
    tools.sync(manifest, RECOMMENDED)

    for number, edit in enumerate((with_flag, without_toleration)):
        manifest = edit(manifest)
        tools.sync(manifest, RECOMMENDED)
        assert generation(tools.cluster, tools.namespace, "edited") == number + 2
        assert tools.shows(manifest, RECOMMENDED) == []


def test_a_denied_edit_is_a_comparison_error(tools: Tools) -> None:
    manifest = file(tools, "denied")
    tools.sync(manifest, RECOMMENDED)
    manifest["metadata"]["annotations"]["fusioninfer.io/launcher"] = "nothing"

    with pytest.raises(GitOpsError, match="FI104"):
        tools.shows(manifest, RECOMMENDED)


WRITES: Final[dict[str, Callable[[Tools, Object], object]]] = {
    "argo-cd": lambda tools, one: tools.sync(one, RECOMMENDED),
    "flux": lambda tools, one: tools.flux.ask("apply", target=one),
}


@pytest.mark.parametrize(("before", "after"), [("argo-cd", "argo-cd"), ("kubectl", "flux")])
def test_a_change_to_server_side_apply_restarts_nothing(tools: Tools, before: str, after: str) -> None:
    name = f"{before}-to-{after}"
    manifest = file(tools, name)
    kubectl_writes()(tools, manifest) if before == "kubectl" else tools.sync(manifest, CLIENT_SIDE)
    pods = started(tools.cluster, tools.namespace, name)
    write = WRITES[after]

    write(tools, manifest)
    caught_up(tools.cluster, tools.namespace)

    assert started(tools.cluster, tools.namespace, name) == pods
    write(tools, without_toleration(manifest))
    live = tools.live(manifest)
    assert live is not None
    assert "tolerations" not in pod_of(live)


# --- replicas -------------------------------------------------------------------------------------------

IGNORING: Final = Options(**RECOMMENDED, managedFieldsManagers=[AUTOSCALER], respectIgnoreDifferences=True)
LEFT: Final[dict[str, tuple[Options, int | None]]] = {
    "free": (RECOMMENDED, None),
    "ignored-by-json-pointers": (AUTOSCALED, 1),
    "ignored-by-managers": (IGNORING, 1),
}
"""Settings of Argo CD, and the `replicas` of the file."""


def scaled(tools: Tools, name: str, count: int, manager: str = AUTOSCALER) -> None:
    """Scale an object as an autoscaler does."""
    target = f"{path('leaderworkersets', tools.namespace, name, 'scale')}?fieldManager={manager}"
    call(tools.cluster.api, "PATCH", target, {"spec": {"replicas": count}}, MERGE_PATCH)


def replicas(tools: Tools, manifest: Object) -> int:
    live = tools.live(manifest)
    assert live is not None
    return int(live["spec"]["replicas"])


def test_a_file_with_replicas_fights_an_autoscaler(tools: Tools) -> None:
    manifest = file(tools, "fought")
    tools.sync(manifest, RECOMMENDED)
    scaled(tools, "fought", 3)

    assert tools.shows(manifest, RECOMMENDED) == ["spec.replicas"]
    tools.sync(manifest, RECOMMENDED)
    assert replicas(tools, manifest) == 1


@pytest.mark.parametrize("left", LEFT)
def test_replicas_are_left_to_an_autoscaler(tools: Tools, left: str) -> None:
    options, count = LEFT[left]
    manifest = file(tools, left, replicas=count)
    tools.sync(manifest, options)
    scaled(tools, left, 3)

    assert tools.shows(manifest, options) == []
    tools.sync(manifest, options)
    assert replicas(tools, manifest) == 3


@pytest.mark.parametrize("count", [1, None])
def test_replicas_that_flux_does_not_manage_stay_an_autoscaler_s(tools: Tools, count: int | None) -> None:
    ignored = {} if count is None else {"ignore": ["/spec/replicas"]}
    manifest = file(tools, f"flux-{count}".lower(), replicas=count)
    tools.flux.ask("apply", target=manifest)
    scaled(tools, manifest["metadata"]["name"], 3)

    assert ignored or not flux_shows(tools, manifest)
    for one in (manifest, with_flag(manifest)):
        tools.flux.ask("apply", target=one, **ignored)
        assert replicas(tools, manifest) == 3


# --- InferenceServices ----------------------------------------------------------------------------------


def test_an_inferenceservice_is_in_sync_without_settings_and_its_objects_are_children(tools: Tools) -> None:
    name = "service"
    manifest = isvc(name=name)
    manifest["metadata"]["namespace"] = tools.namespace
    tools.sync(manifest, CLIENT_SIDE)
    until(lambda: children(tools, manifest) >= made(tools, name), "everything is shown")

    shown = [tools.shows(manifest, one) for one in (CLIENT_SIDE, SERVER_SIDE, DRY_RUN, WITH_WEBHOOK)]

    assert (shown, flux_shows(tools, manifest)) == ([[]] * 4, [])
    found = tools.argo_cd.ask("children", target=tracked(manifest))
    assert not any(one.startswith(("PodGroup", "Pod/")) for one in found["managed"])
    assert f"LeaderWorkerSet/{name}-inference" not in found["managed"]


def children(tools: Tools, manifest: Object) -> set[str]:
    """Return what Argo CD shows below an object."""
    return set(tools.argo_cd.ask("children", target=tracked(manifest))["children"])


def made(tools: Tools, name: str) -> set[str]:
    """Return what the controller makes of a service."""
    groups = items(tools.cluster.api, path("podgroups", tools.namespace))
    there = [one["metadata"]["name"] for one in groups if one["metadata"]["name"] == name]
    return {f"LeaderWorkerSet/{name}-inference", *(f"PodGroup/{one}" for one in there or ["missing"])}
