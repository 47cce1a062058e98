"""The manifests grant rights on single objects where they can, and to endpoint pickers what these read.

tests/cluster/test_isvc_rights.py sees the rights of the controller used.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml

from catalog.pickers.generations import PICKERS
from server.controller import LEASE
from sync.kinds import INFERENCE_SERVICE, OUTPUTS, POD, Kind
from sync.parts.picker import ELECTING, READING

BASE = Path(__file__).parents[2] / "manifests" / "base"
CERTIFICATES = "../self-signed/certificates-rbac.yaml"
TEMPLATES = "../templates/templates-rbac.yaml"
CONFIGURATIONS = {
    "mutatingwebhookconfigurations": "mutate.fusioninfer.io",
    "validatingwebhookconfigurations": "validate.fusioninfer.io",
}
NAMED = {
    ("rbac.yaml", "Role", "fusioninfer-sync"): {
        ("leases", "get", LEASE),
        ("leases", "update", LEASE),
        ("leases", "create", ""),  # a request that creates has no name that RBAC could compare
    },
    (CERTIFICATES, "Role", "fusioninfer-sync-certificates"): {
        ("secrets", verb, "fusioninfer-webhook-tls") for verb in ("get", "create", "patch")
    },
    (CERTIFICATES, "ClusterRole", "fusioninfer-sync-certificates"): {
        (resource, verb, name) for resource, name in CONFIGURATIONS.items() for verb in ("get", "patch")
    },
    (TEMPLATES, "ClusterRole", "fusioninfer-webhook-templates"): {("inferencetemplates", "get", "")},
    (TEMPLATES, "ClusterRole", "fusioninfer-sync-templates"): {
        ("inferencetemplates", verb, "") for verb in ("list", "watch")
    },
}
"""The other roles: resource, verb, and the one name to which it is limited."""
Right = tuple[str, str, str]
ELECTION = {("coordination.k8s.io", "leases", verb) for verb in ("get", "create", "update")}
"""What several endpoint pickers need to elect a leader."""


def granted(name: str, file: str) -> set[Right]:
    documents: list[Any] = list(yaml.safe_load_all((BASE / file).read_text()))
    (role,) = (one for one in documents if one["kind"] == "ClusterRole" and one["metadata"]["name"] == name)
    return {
        (api_group, resource, verb)
        for rule in role["rules"]
        for api_group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


@pytest.mark.parametrize("role", NAMED, ids=lambda role: f"{role[0]} {role[1]} {role[2]}")
def test_other_rights_are_for_single_objects_where_rbac_can_say_so(role: tuple[str, str, str]) -> None:
    file, kind, name = role
    (found,) = (
        one
        for one in yaml.safe_load_all((BASE / file).read_text())
        if (one["kind"], one["metadata"]["name"]) == (kind, name)
    )

    assert {
        (resource, verb, only)
        for rule in found["rules"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for only in rule.get("resourceNames", [""])
    } == NAMED[role]


def of(kind: Kind[Any], *verbs: str) -> set[Right]:
    """Return rights on a kind."""
    group = kind.resource.api_version.rpartition("/")[0]
    return {(group, kind.resource.plural, verb) for verb in verbs}


def test_the_controller_may_read_what_it_watches_and_write_what_it_makes() -> None:
    made = (of(kind, "get", "list", "watch", "create", "patch", "delete") for kind in OUTPUTS.values())
    watched = of(POD, "list", "watch") | of(INFERENCE_SERVICE, "get", "list", "watch")
    reported = {("fusioninfer.io", "inferenceservices/status", "patch")}
    events = {("", "events", verb) for verb in ("create", "patch")}
    roles = {("rbac.authorization.k8s.io", "clusterroles", "bind")}

    assert granted("fusioninfer-sync", "rbac.yaml") == watched.union(reported, events, roles, *made)


def test_the_controller_may_bind_the_roles_of_endpoint_pickers_and_no_others() -> None:
    own, given = (BASE / file for file in ("rbac.yaml", "picker-roles.yaml"))
    rules = [rule for one in yaml.safe_load_all(own.read_text()) for rule in one.get("rules", ())]
    roles = [one["metadata"]["name"] for one in yaml.safe_load_all(given.read_text())]

    assert [rule["resourceNames"] for rule in rules if "bind" in rule["verbs"]] == [roles]
    assert roles == [READING, ELECTING]


def test_endpoint_pickers_may_read_what_their_generations_read_and_no_more() -> None:
    read = {right for picker in PICKERS.values() for right in picker.rights}

    assert granted(READING, "picker-roles.yaml") == {(*of, verb) for of in read for verb in ("list", "watch")}


def test_several_endpoint_pickers_may_elect_a_leader() -> None:
    events = {("", "events", verb) for verb in ("create", "patch")}

    assert granted(ELECTING, "picker-roles.yaml") == ELECTION | events
