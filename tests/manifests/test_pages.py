"""The pages for operators say what the manifests say."""

import re
import shlex
from pathlib import Path
from typing import Final

import pytest

from intent import Object
from tests.cluster import test_install_helm as helm
from tests.cluster import test_install_kustomize as kustomize
from tests.manifests.objects import DOCS, objects
from tests.manifests.pages import commands
from tests.test_readme import ANY_TABLE, table

SECURITY: Final = DOCS / "security.md"
OPERATIONS: Final = DOCS / "operations.md"
INSTALL: Final = DOCS / "install.md"
PAGES: Final = (INSTALL, OPERATIONS, SECURITY)
BUILT: Final = commands(INSTALL)["The image"]
"""What needs a container engine and a registry; `tests/image` goes through the Dockerfile itself."""


def rights() -> list[dict[str, str]]:
    """Give the table of rights: a row a rule."""
    roles = [each for each in objects("base") if each["kind"] in {"Role", "ClusterRole"}]
    return [_row(role, rule) for role in roles for rule in role["rules"]]


def _row(role: Object, rule: Object) -> dict[str, str]:
    named = f" named {', '.join(rule['resourceNames'])}" if "resourceNames" in rule else ""
    return {
        "where": "in every namespace" if role["kind"] == "ClusterRole" else "in its own",
        "group": rule["apiGroups"][0] or "core",
        "resources": ", ".join(rule["resources"]) + named,
        "verbs": ", ".join(rule["verbs"]),
    }


def test_the_table_of_rights_is_that_of_the_manifests(request: pytest.FixtureRequest) -> None:
    made = {"rights": table(rights())}
    text = SECURITY.read_text(encoding="utf-8")
    written = ANY_TABLE.sub(lambda found: found[1] + made[found[2]] + found[4], text)
    if request.config.getoption("--refresh"):
        SECURITY.write_text(written, encoding="utf-8")

    assert SECURITY.read_text(encoding="utf-8") == written


def test_only_the_loop_has_rights() -> None:
    subjects = {subject["name"] for each in objects("base") for subject in each.get("subjects", ())}

    assert subjects == {"fusioninfer-sync"}


@pytest.mark.parametrize("word", ["secrets", "*", "impersonate", "escalate", "bind"])
def test_the_loop_has_no_right_that_opens_others(word: str) -> None:
    rules = [rule for each in objects("base") for rule in each.get("rules", ())]

    assert not any(word in (*rule["verbs"], *rule["resources"], *rule["apiGroups"]) for rule in rules)


def uninstalled() -> list[list[str]]:
    """Give what is deleted: its kind, and the names."""
    words = [shlex.split(command) for command in commands(OPERATIONS)["Uninstall"]]
    deletes = [each[2:] for each in words if each[:2] == ["kubectl", "delete"]]
    return [[word for word in each if not word.startswith("-")] for each in deletes]


def test_uninstalling_leaves_nothing_outside_of_the_namespace() -> None:
    deleted = {(kind, name) for kind, *names in uninstalled() for name in names}

    installed = {
        (each["kind"].lower(), each["metadata"]["name"])
        for each in objects("base", "cert-manager", "self-signed", "monitoring")
        if "namespace" not in each["metadata"]
    }
    assert deleted == installed


def test_the_webhooks_go_before_what_answers_them() -> None:
    kinds = [kind for kind, *_ in uninstalled()]

    assert kinds.index("namespace") > kinds.index("validatingwebhookconfiguration")


@pytest.mark.parametrize("page", [INSTALL, OPERATIONS], ids=lambda page: page.name)
def test_every_command_of_a_page_is_run(page: Path) -> None:
    there = {command for each in commands(page).values() for command in each}

    assert there - {*kustomize.RUN, *helm.INSTALL, *BUILT} == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_that_a_page_names_is_there(page: Path) -> None:
    named = re.findall(r"`((?:docs|manifests)/[^`*]*|[a-z]+\.(?:lock|cdx\.json))`", page.read_text())

    assert [name for name in named if not (DOCS.parent / name).exists()] == []
