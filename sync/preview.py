"""What the loop would make of members that stand in files: no API server, no uids, no status."""

from collections.abc import Iterable
from dataclasses import dataclass

from intent import Object
from intent.service import Finding, Member, ServiceKey, services
from intent.settings import Settings
from sync.plan import Situation, plan
from sync.render import objects
from sync.render.routes import route_objects
from sync.routes import wanted_routes


@dataclass(frozen=True, slots=True)
class Preview:
    """Objects without ownerReferences, and what is wrong or missing."""

    objects: tuple[Object, ...]
    findings: tuple[Finding, ...]


def preview(members: Iterable[Member], settings: Settings) -> Preview:
    """Plan and render every service of the given members."""
    made = [_preview(key, of_one, settings) for key, of_one in services(members).items()]
    return Preview(
        tuple(obj for one in made for obj in one.objects),
        tuple(finding for one in made for finding in one.findings),
    )


def _preview(key: ServiceKey, members: tuple[Member, ...], settings: Settings) -> Preview:
    """Plan and render one service: its gang, then its routes."""
    gang = plan(Situation(key, members), settings)
    routes = wanted_routes(key, members, None, settings)
    return Preview((*objects(gang), *route_objects(routes)), (*gang.findings, *routes.findings))
