"""Which conditions of a service are recorded as Events: what changed since the last known status."""

from typing import Final

import pytest

from intent import Object
from sync.changes import conditions_changed
from sync.kinds import INFERENCE_SERVICE
from sync.observe import ServiceMemory
from tests.sync.samples import inference_service


def recorded(before: Object, *statuses: Object) -> list[str]:
    """Return the reasons of the Events about statuses, one after the other; `before` is stored first."""
    memory = ServiceMemory()
    rows = [INFERENCE_SERVICE.projected(inference_service() | {"status": one}) for one in statuses]
    return [one.reason for row in rows for one in conditions_changed(memory, before, row)]


def ready(status: str) -> Object:
    """Return a status whose condition `Ready` has this status."""
    return {"conditions": [{"type": "Ready", "status": status, "reason": "r", "message": "m"}]}


@pytest.mark.parametrize(
    ("statuses", "reasons"),
    [
        (["True", "Unknown", "True"], []),
        (["True", "Unknown", "False"], ["ServiceNotReady"]),
        (["False", "Unknown", "True"], ["ServiceReady"]),
        (["Unknown", "True", "Unknown", "False"], ["ServiceReady", "ServiceNotReady"]),
        (["Unknown", "False", "True"], ["ServiceReady"]),
    ],
)
def test_a_service_that_was_not_observed_for_a_while_is_as_it_was_before(
    statuses: list[str], reasons: list[str]
) -> None:
    """The first status is the one that a controller finds when it starts."""
    first, *later = map(ready, statuses)

    assert recorded(first, *later) == reasons


def outdated(message: str, **current: bool) -> Object:
    """Return a status with the condition `TemplateChanged`, and these templates, by name."""
    changed = {"type": "TemplatesApplied", "status": "False", "reason": "TemplateChanged", "message": message}
    versions = [
        {"name": name, "namespace": "team-a", "generation": 1, "current": is_current}
        for name, is_current in current.items()
    ]
    return {"conditions": [changed], "appliedTemplates": versions}


BOTH: Final = outdated("a and b were changed", a=False, b=False)


@pytest.mark.parametrize(
    ("later", "times"),
    [
        ([BOTH, outdated("b was changed", a=True, b=False)], 1),
        ([BOTH, outdated("a and b were changed; the service follows", a=False, b=False)], 1),
        ([outdated("a was changed", a=False, b=True), BOTH], 2),
    ],
    ids=["one of two is taken", "the service follows", "one after the other"],
)
def test_a_changed_template_is_recorded_once_for_each_version(later: list[Object], times: int) -> None:
    assert recorded({}, *later) == ["TemplateChanged"] * times
