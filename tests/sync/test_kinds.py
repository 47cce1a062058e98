"""The names that the controller's rules make: those of every state of a service, of every release."""

import re
from pathlib import Path
from typing import Final

import pytest

from intent.annotations import SERVICE
from intent.inferenceservice.read import KIND
from sync.kinds import LWS, OUTPUTS

GOLDEN: Final = Path(__file__).parents[1] / "golden"
MADE: Final = {
    "LeaderWorkerSet": ("r1-prefill", "r1-a-role-that-was-removed"),
    "HorizontalPodAutoscaler": ("r1-prefill",),
    "PodGroup": ("r1", "r1-0123abcd", f"r1-{'e' * 40}"),
    "RoleBinding": ("r1-epp", "r1-epp-read", "r1-epp-election"),
    "Service": ("r1-epp", "r1-api"),
    "InferenceObjective": ("r1", "r1.sql"),
}
"""Of the kinds with several names; the first RoleBinding is one of releases without ClusterRoles."""
RARE: Final = {"Gateway", "DestinationRule"}
"""Kinds that no golden case has; their names are in `test_prunable.py`."""
OTHERS: Final = {
    "LeaderWorkerSet": ("r1", "r1-", "r2-prefill", "r1.prefill", "r1-A"),
    "PodGroup": ("r2", "r1-prefill", "r1-0123", "r1-0123ABCD", "r1--01234567"),
    "RoleBinding": ("r1", "r1-epp-admin", "r1-epp-read-2"),
    "ConfigMap": ("r1-epp", "r1-config", "kube-root-ca.crt"),
    "Service": ("r1", "r1-prefill", "r1-apis"),
    "InferenceObjective": ("r1-sql", "r1.", "r1.a.b"),
}


def field(text: str, pattern: str) -> str:
    found = re.search(pattern, text, re.MULTILINE)
    return found[1].strip("'\"") if found else ""


def made() -> set[tuple[str, str, str]]:
    """Return kind, service and name of what the golden cases expect of the controller, by their spelling."""
    found = set()
    for file in GOLDEN.glob("*/expected.yaml"):
        is_rendered = f"kind: {KIND}\n" in file.with_name("input.yaml").read_text()
        for text in file.read_text().split("\n---\n"):
            kind, service = field(text, r"^kind: (.+)$"), field(text, rf"^    {SERVICE}: (.+)$")
            if kind in OUTPUTS and service and (kind != LWS.kind or is_rendered):
                found.add((kind, service, field(text, r"^metadata:\n  name: (.+)$")))
    return found


def test_every_object_that_the_rules_make_has_a_name_that_they_make() -> None:
    found = made()

    assert OUTPUTS.keys() - {kind for kind, _, _ in found} == RARE
    assert [one for one in found if not OUTPUTS[one[0]].names(*one[1:])] == []


@pytest.mark.parametrize(("kind", "names"), MADE.items())
def test_names_of_other_states_and_earlier_releases_are_made_too(kind: str, names: tuple[str, ...]) -> None:
    assert [name for name in names if not OUTPUTS[kind].names("r1", name)] == []


@pytest.mark.parametrize(("kind", "names"), OTHERS.items())
def test_other_names_are_not_made(kind: str, names: tuple[str, ...]) -> None:
    assert [name for name in names if OUTPUTS[kind].names("r1", name)] == []
    assert not OUTPUTS[kind].names("", "of-another-team")
