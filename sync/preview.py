"""What the loop would make of members that stand in files: no API server, no uids, no status."""

from collections.abc import Iterable
from dataclasses import dataclass

from intent import Object
from intent.service import Finding, Member, services
from intent.settings import Settings
from sync.plan import Situation, plan
from sync.render import objects


@dataclass(frozen=True, slots=True)
class Preview:
    """Objects without ownerReferences, and what is wrong or missing."""

    objects: tuple[Object, ...]
    findings: tuple[Finding, ...]


def preview(members: Iterable[Member], settings: Settings) -> Preview:
    """Plan and render every service of the given members."""
    plans = [plan(Situation(key, of_one), settings) for key, of_one in services(members).items()]
    return Preview(
        tuple(obj for decided in plans for obj in objects(decided)),
        tuple(finding for decided in plans for finding in decided.findings),
    )
