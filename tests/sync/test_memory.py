"""What one reconcile of a service remembers for the next."""

from dataclasses import replace
from typing import Final

from sync.observe import ServiceMemory
from tests.sync.samples import decode, prefill

P, NO_D = (replace(one, revision="0a1b2c3d", group="r1-0a1b2c3d") for one in (prefill(), decode(replicas=0)))
OTHER: Final = replace(prefill("o"), revision="4e5f6a7b", group="r1-4e5f6a7b")


def test_a_role_of_a_revision_is_empty_since_another_one_has_replicas() -> None:
    memory = ServiceMemory()

    at_zero = memory.empty_for((replace(P, replicas=0), NO_D, OTHER))
    started = memory.empty_for((P, NO_D, OTHER))

    assert (at_zero, started) == ({}, {"d": 0.0})
    assert memory.empty_for((P, NO_D))["d"] > 0
