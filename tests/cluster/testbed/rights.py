"""What the manifests grant to the controller."""

from typing import Final

import yaml

from tests.cluster.testbed.ours import ROOT

HANDED_ON: Final = frozenset({"clusterroles"})
"""What the controller only binds for endpoint pickers, and never asks for itself."""


def rights() -> set[tuple[str, str]]:
    """Return the verbs and resources of all roles of the controller; subresources count as their resource."""
    documents = yaml.safe_load_all((ROOT / "manifests" / "base" / "rbac.yaml").read_text())
    rules = [rule for document in documents for rule in document.get("rules", ())]
    return {
        (verb, resource.partition("/")[0])
        for rule in rules
        for verb in rule["verbs"]
        for resource in rule["resources"]
        if resource not in HANDED_ON
    }
