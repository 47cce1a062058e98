"""What the status says of InferenceTemplates."""

from dataclasses import replace
from typing import Final

import pytest

from intent.applied import TemplateVersion
from sync.observed.inferencetemplate import OFF, CachedTemplate, NamedTemplates
from sync.status import status
from sync.status.conditions import FOLLOWED, KEPT
from sync.status.observed import Observed
from tests.sync.status.samples import DECODE, NOW, PREFILL, lws, seen, service

FIRST: Final = TemplateVersion("base", "team-a", "uid", 1)
NAMING: Final = service(replace(PREFILL, base_refs=("base",)), replace(DECODE, base_refs=("base",)))


def named(
    generation: int = 1,
    namespace: str = "team-a",
    uid: str = "uid",
    *,
    trouble: str = "",
    exists: bool = True,
) -> NamedTemplates:
    row = CachedTemplate(namespace, "base", uid, generation=generation)
    return NamedTemplates(("base",), {"base": row} if exists else {}, trouble)


def applied(now: NamedTemplates, *versions: TemplateVersion) -> Observed:
    """Return a service whose roles have these versions."""
    roles = dict(zip(("prefill", "decode"), versions, strict=False))
    sets = {role: lws(role, templates=(one,)) for role, one in roles.items()}
    return seen(service=NAMING, sets=sets, templates=now)


@pytest.mark.parametrize(
    ("observed", "state", "reason"),
    [
        (applied(named(), FIRST, FIRST), "True", "TemplatesCurrent"),
        (applied(named(2), FIRST, FIRST), "False", "TemplateChanged"),
        (applied(named(namespace="fusioninfer-system"), FIRST, FIRST), "False", "TemplateChanged"),
        (applied(named(uid="another"), FIRST, FIRST), "False", "TemplateChanged"),
        (applied(named(exists=False), FIRST, FIRST), "False", "TemplateChanged"),
        (applied(named(exists=False)), "False", "TemplateMissing"),
        (applied(named(), FIRST), "False", "NotApplied"),
        (applied(named(trouble=OFF), FIRST, FIRST), "Unknown", "TemplatesUnknown"),
    ],
)
def test_the_condition_compares_with_the_templates_as_they_are(
    observed: Observed, state: str, reason: str
) -> None:
    made = {one["type"]: one for one in status(observed, {}, NOW)["conditions"]}["TemplatesApplied"]

    assert (made["status"], made["reason"]) == (state, reason)


@pytest.mark.parametrize(("follows", "said"), [(False, KEPT), (True, FOLLOWED)])
def test_the_message_says_when_pods_get_a_change(*, follows: bool, said: str) -> None:
    changed = applied(named(2), FIRST, FIRST)
    changed = replace(changed, service=replace(NAMING, follows=follows))

    made = {one["type"]: one for one in status(changed, {}, NOW)["conditions"]}["TemplatesApplied"]

    assert made["message"].endswith(f"; {said}")


def test_a_service_without_templates_has_neither_condition_nor_versions() -> None:
    made = status(seen(), {}, NOW)

    assert "TemplatesApplied" not in {one["type"] for one in made["conditions"]}
    assert "appliedTemplates" not in made


def test_each_version_is_listed_once() -> None:
    second = FIRST._replace(generation=2)

    made = status(applied(named(2), FIRST, second), {}, NOW)["appliedTemplates"]

    assert [(one["generation"], one["current"]) for one in made] == [(1, False), (2, True)]
    assert len(status(applied(named(), FIRST, FIRST), {}, NOW)["appliedTemplates"]) == 1


def test_versions_that_cannot_be_compared_are_not_listed() -> None:
    assert "appliedTemplates" not in status(applied(named(trouble=OFF), FIRST), {}, NOW)
