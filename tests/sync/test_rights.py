"""The manifests grant what the rows of `sync.kinds` need, and what endpoint pickers are granted in turn."""

from pathlib import Path
from typing import Any

import yaml

from sync.kinds import INFERENCE_SERVICE, OUTPUTS, WATCHED, Kind

MANIFEST = Path(__file__).parents[2] / "manifests" / "base" / "rbac.yaml"
Right = tuple[str, str, str]
EXTENSION = "inference.networking.x-k8s.io"
GRANTED = {
    ("", "pods"),
    ("inference.networking.k8s.io", "inferencepools"),
    (EXTENSION, "inferenceobjectives"),
    (EXTENSION, "inferencemodelrewrites"),
}
"""What an endpoint picker reads (`config/charts/inferencepool/templates/rbac.yaml` of the extension, 1.5)."""
ELECTION = {("coordination.k8s.io", "leases", verb) for verb in ("get", "create", "update")}
"""What several endpoint pickers need to elect a leader."""


def group(kind: Kind[Any]) -> str:
    return kind.resource.api_version.rpartition("/")[0]


def granted(name: str) -> set[Right]:
    documents: list[Any] = list(yaml.safe_load_all(MANIFEST.read_text()))
    (role,) = (one for one in documents if one["kind"] == "ClusterRole" and one["metadata"]["name"] == name)
    return {
        (api_group, resource, verb)
        for rule in role["rules"]
        for api_group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def test_the_controller_has_the_rights_that_its_kinds_need_and_no_more() -> None:
    reads = {(group(kind), kind.resource.plural) for kind in WATCHED} | GRANTED
    writes = {(group(kind), kind.resource.plural) for kind in OUTPUTS.values()}
    needed = {
        *((*of, verb) for of in reads for verb in ("list", "watch")),
        *((*of, verb) for of in writes for verb in ("get", "create", "patch", "delete")),
        *(("", "events", verb) for verb in ("create", "patch")),
        (group(INFERENCE_SERVICE), "inferenceservices", "get"),  # the live read before an adoption
        *ELECTION,
        (group(INFERENCE_SERVICE), "inferenceservices/status", "patch"),
    }

    assert granted("fusioninfer-sync") == needed
