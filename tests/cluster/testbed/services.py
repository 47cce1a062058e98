"""InferenceServices under test: their files, what the controller made of them, and what their status says."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from intent import Object
from intent.annotations import EXPANSION
from tests.builders.patience import PATIENCE
from tests.cluster.testbed.api import get, items, path
from tests.cluster.testbed.cluster import Cluster, kubectl
from tests.cluster.testbed.ours import ROOT
from tests.cluster.testbed.wait import until
from tests.cluster.testbed.written import LAST_APPLIED, composed_offline, listed

GOLDEN: Final = ROOT / "tests" / "golden"
MADE: Final = (
    *("leaderworkersets", "horizontalpodautoscalers", "podgroups"),
    *("serviceaccounts", "rolebindings", "configmaps"),
    *("inferencepools", "deployments", "poddisruptionbudgets", "services", "destinationrules"),
    *("gateways", "httproutes", "ingresses", "inferenceobjectives"),
)
"""What the controller makes, in the order in which it does."""
FOR_ISTIO: Final = "destinationrules"
"""What it makes only where an operator says so."""
OF_SCALING: Final = "horizontalpodautoscalers"
"""What it makes only for roles with scaling."""
LEFT_OUT: Final = (LAST_APPLIED, "deployment.kubernetes.io/revision", EXPANSION)
"""Annotations that kubectl and Kubernetes' controllers add; and the record, which holds what the controller
wrote before admission: it labels each LeaderWorkerSet itself.
"""
ALLOCATED: Final = ("clusterIP", "clusterIPs")
"""What the API server gives to each Service."""
Objects = dict[tuple[str, str], Object]
"""By resource and name."""


def story(name: str) -> Path:
    """Return the file of an InferenceService of the documents."""
    return GOLDEN / f"isvc-{name}" / "input.yaml"


# --- what there is ----------------------------------------------------------------------------------


def made(cluster: Cluster, namespace: str) -> Objects:
    """Return what the controller applied in a namespace, without what tells two equal objects apart."""
    return {
        (resource, obj["metadata"]["name"]): comparable(obj)
        for resource in MADE
        for obj in items(cluster.api, path(resource, namespace))
        if is_ours(obj)
    }


def offline(cluster: Cluster, namespace: str, *files: Path) -> Objects:
    """Return what `fusioninfer expand` prints of files, with the API server's defaults.

    It is a dry run: nothing of the names may be there yet.
    """
    whole = {"apiVersion": "v1", "kind": "List", "items": composed_offline(namespace, *files)}
    command = ("create", f"--namespace={namespace}", "--dry-run=server", "--output=json", "--filename=-")
    defaulted = listed(kubectl(cluster, *command, stdin=json.dumps(whole)))
    return {(f"{obj['kind'].lower()}s", obj["metadata"]["name"]): comparable(obj) for obj in defaulted}


def comparable(obj: Object) -> Object:
    """Return what authors set of an object."""
    metadata, spec = obj["metadata"], obj.get("spec", {})
    annotations = metadata.get("annotations", {})
    rest = {key: obj[key] for key in obj.keys() - {"apiVersion", "kind", "metadata", "status"}}
    return {
        **rest,
        "labels": metadata.get("labels", {}),
        "annotations": {key: annotations[key] for key in annotations if key not in LEFT_OUT},
        "spec": {key: spec[key] for key in spec if key not in ALLOCATED},
    }


def is_ours(obj: Object) -> bool:
    """Return whether it was the controller that applied an object."""
    fields = obj["metadata"].get("managedFields", ())
    return any(each["manager"] == "fusioninfer" and each["operation"] == "Apply" for each in fields)


def labelled(cluster: Cluster, namespace: str) -> list[str]:
    """Name everything in a namespace that has our label, pods too."""
    return [
        f"{resource}/{obj['metadata']['name']}"
        for resource in (*MADE, "pods")
        for obj in items(cluster.api, path(resource, namespace), labelSelector="fusioninfer.io/service")
    ]


def uids(cluster: Cluster, namespace: str) -> dict[str, str]:
    """Return the uid of everything that the controller made in a namespace, and of each pod."""
    return {
        f"{resource}/{obj['metadata']['name']}": obj["metadata"]["uid"]
        for resource in (*MADE, "pods")
        for obj in items(cluster.api, path(resource, namespace))
        if resource == "pods" or is_ours(obj)
    }


# --- what is said -----------------------------------------------------------------------------------


def status(cluster: Cluster, namespace: str, name: str) -> Object:
    """Read the status of an InferenceService; empty while it has none."""
    found: Object = get(cluster.api, path("inferenceservices", namespace, name)).get("status", {})
    return found


def conditions(of: Object) -> dict[str, Object]:
    """Return the conditions of a status by their type."""
    return {each["type"]: each for each in of.get("conditions", ())}


def states(of: Object, *types: str) -> dict[str, tuple[str, str]]:
    """Return status and reason of conditions, of all if none is named."""
    found = conditions(of)
    return {name: (found[name]["status"], found[name]["reason"]) for name in types or found if name in found}


def says(
    cluster: Cluster,
    namespace: str,
    name: str,
    expected: Mapping[str, tuple[str, str]],
    seconds: float = PATIENCE,
) -> Object:
    """Wait until conditions have these states; return the status."""

    def said() -> Any:
        now = status(cluster, namespace, name)
        return now if states(now, *expected) == expected else None

    try:
        found: Object = until(said, f"{name} says {expected}", seconds=seconds)
    except TimeoutError as error:
        raise AssertionError(f"{error}: {states(status(cluster, namespace, name))}") from error
    return found


def told(cluster: Cluster, namespace: str, name: str) -> list[Object]:
    """Return the Events of the controller about findings of an InferenceService, oldest first."""
    return [each for each in recorded_events(cluster, namespace, name) if "(FI" in each["message"]]


def recorded_events(cluster: Cluster, namespace: str, name: str) -> list[Object]:
    """Return all Events of the controller about an InferenceService, oldest first."""
    about = f"involvedObject.kind=InferenceService,involvedObject.name={name}"
    found = items(cluster.api, path("events", namespace), fieldSelector=about)
    return [each for each in found if each.get("source", {}).get("component") == "fusioninfer-sync"]
