"""The pages for operators agree with the manifests."""

import re
from pathlib import Path
from typing import Final

import pytest

from hack.manifests.objects import DOCS, objects
from intent import Object
from tests.cluster import test_install_helm as helm
from tests.cluster import test_install_kustomize as kustomize
from tests.manifests.pages import commands
from tests.test_readme import ANY_TABLE, table

SECURITY: Final = DOCS / "security.md"
OPERATIONS: Final = DOCS / "operations.md"
INSTALL: Final = DOCS / "install.md"
PAGES: Final = (INSTALL, OPERATIONS, SECURITY)
AGGREGATE: Final = "rbac.authorization.k8s.io/aggregate-to-"
BUILT: Final = commands(INSTALL)["The image"]
"""Commands that need a container engine and a registry; `tests/image` covers the Dockerfile itself."""


def rights() -> list[dict[str, str]]:
    """Return the rows of the table of the controller's rights, one per rule."""
    return [_row(role, rule) for role in roles(aggregated=False) for rule in role["rules"]]


def user_rights() -> list[dict[str, str]]:
    """Return the rows of the table of rights that are added to roles of Kubernetes."""
    return [
        {
            "role": ", ".join(
                name.removeprefix(AGGREGATE)
                for name in role["metadata"]["labels"]
                if name.startswith(AGGREGATE)
            ),
            "resources": ", ".join(rule["resources"]),
            "verbs": ", ".join(rule["verbs"]),
        }
        for role in roles(aggregated=True)
        for rule in role["rules"]
    ]


def roles(*, aggregated: bool) -> list[Object]:
    """Return the roles of users, or those of the controller."""
    found = [each for each in objects("base") if "rules" in each]
    if aggregated:
        return [
            each for each in found if any(name.startswith(AGGREGATE) for name in each["metadata"]["labels"])
        ]
    bound = {each["roleRef"]["name"] for each in objects("base") if "roleRef" in each}
    return [each for each in found if each["metadata"]["name"] in bound]


def _row(role: Object, rule: Object) -> dict[str, str]:
    named = f" named {', '.join(rule['resourceNames'])}" if "resourceNames" in rule else ""
    return {
        "where": "in every namespace" if role["kind"] == "ClusterRole" else "in its own",
        "group": rule["apiGroups"][0] or "core",
        "resources": ", ".join(rule["resources"]) + named,
        "verbs": ", ".join(rule["verbs"]),
    }


def test_the_documented_rights_are_those_of_the_manifests(request: pytest.FixtureRequest) -> None:
    made = {"rights": table(rights()), "users": table(user_rights())}
    text = SECURITY.read_text(encoding="utf-8")
    written = ANY_TABLE.sub(lambda found: found[1] + made[found[2]] + found[4], text)
    if request.config.getoption("--refresh"):
        SECURITY.write_text(written, encoding="utf-8")

    assert SECURITY.read_text(encoding="utf-8") == written


def test_only_the_controller_has_rights() -> None:
    subjects = {subject["name"] for each in objects("base") for subject in each.get("subjects", ())}

    assert subjects == {"fusioninfer-sync"}


@pytest.mark.parametrize("word", ["secrets", "*", "impersonate", "escalate", "roles"])
def test_the_controller_cannot_escalate_its_rights(word: str) -> None:
    rules = [rule for each in objects("base") for rule in each.get("rules", ())]

    assert not any(word in (*rule["verbs"], *rule["resources"], *rule["apiGroups"]) for rule in rules)


@pytest.mark.parametrize("page", [INSTALL, OPERATIONS], ids=lambda page: page.name)
def test_every_command_of_a_page_is_tested(page: Path) -> None:
    found = {command for each in commands(page).values() for command in each}

    assert found - {*kustomize.RUN, *helm.RUN, *BUILT} == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_that_a_page_names_exists(page: Path) -> None:
    named = re.findall(r"`((?:docs|manifests)/[^`*]*|[a-z]+\.(?:lock|cdx\.json))`", page.read_text())

    assert [name for name in named if not (DOCS.parent / name).exists()] == []
