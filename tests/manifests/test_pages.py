"""The pages for operators agree with the manifests."""

from itertools import chain
from pathlib import Path
from typing import Final

import pytest

from hack.manifests.objects import DOCS, objects
from tests.cluster import test_install_helm as helm
from tests.cluster import test_install_kustomize as kustomize
from tests.manifests.pages import commands

OPERATIONS: Final = DOCS / "operations.md"
INSTALL: Final = DOCS / "install.md"
BUILT: Final = commands(INSTALL)["The image"]
"""Commands that need a container engine and a registry; `tests/image` covers the Dockerfile itself."""


def test_only_the_controller_has_rights() -> None:
    subjects = {subject["name"] for each in objects("base") for subject in each.get("subjects", ())}

    assert subjects == {"fusioninfer-sync"}


@pytest.mark.parametrize("word", ["secrets", "*", "impersonate", "escalate", "roles"])
def test_the_controller_cannot_escalate_its_rights(word: str) -> None:
    rules = [rule for each in objects("base") for rule in each.get("rules", ())]

    assert not any(word in chain.from_iterable(rule.values()) for rule in rules)


@pytest.mark.parametrize("page", [INSTALL, OPERATIONS], ids=lambda page: page.name)
def test_every_command_of_a_page_is_tested(page: Path) -> None:
    found = {command for each in commands(page).values() for command in each}

    assert found - {*kustomize.RUN, *helm.RUN, *BUILT} == set()
