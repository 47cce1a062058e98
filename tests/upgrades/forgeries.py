"""What somebody with `patch` may write into stored objects, so that ours would act for them."""

from collections.abc import Callable, Iterator
from typing import Any, Final

import orjson

from intent import Object
from intent.annotations import EXPANSION
from tests.laws.convergence.schema import TEMPLATES, copied, templates

EVIL: Final = "evil"
PRIVILEGED: Final = {"privileged": True}
CONTAINER: Final[Object] = {
    "name": EVIL,
    "image": "evil.example/image:1",
    "command": ["sh"],
    "securityContext": PRIVILEGED,
}
Forge = Callable[[Object, Object], bool]
"""Changes a decoded record, given the object; returns whether it has a place for it."""


def with_container(record: Object, lws: Object) -> bool:
    """Add a privileged init container to what is injected into each template."""
    for field, _ in templates(lws):
        spec = _spec_of(record["parts"]["dns"], field)
        spec["initContainers"] = [*spec.get("initContainers", ()), CONTAINER]
    return True


def with_image(record: Object, _lws: Object) -> bool:
    """Give another image to each injected init container."""
    found = list(_injected(record, "initContainers"))
    for one in found:
        one["image"] = CONTAINER["image"]
    return bool(found)


def with_privileges(record: Object, _lws: Object) -> bool:
    """Make each injected init container privileged."""
    found = list(_injected(record, "initContainers"))
    for one in found:
        one["securityContext"] = PRIVILEGED
    return bool(found)


def with_volume(record: Object, lws: Object) -> bool:
    """Add a Secret of the namespace to what is injected into each template, as a volume."""
    for field, _ in templates(lws):
        spec = _spec_of(record["parts"]["shm"], field)
        spec["volumes"] = [*spec.get("volumes", ()), {"name": EVIL, "secret": {"secretName": EVIL}}]
    return True


def _spec_of(part: Object, field: str) -> Any:
    at: Any = part.setdefault("set", {})
    for step in ("spec", "leaderWorkerTemplate", field, "spec"):
        at = at.setdefault(step, {})
    return at


def _injected(record: Object, of: str) -> Iterator[Object]:
    for part in record["parts"].values():
        for field in TEMPLATES:
            yield from _spec_of(part, field).get(of, ())


def forged(lws: Object, forge: Forge) -> Object | None:
    """Return a LeaderWorkerSet with another record; None if it has none, or no place for the forgery."""
    annotations = lws["metadata"].get("annotations", {})
    if EXPANSION not in annotations:
        return None
    record = orjson.loads(annotations[EXPANSION])
    changed: Object = copied(lws)
    if not forge(record, lws):
        return None
    changed["metadata"]["annotations"][EXPANSION] = orjson.dumps(record).decode()
    return changed


FORGERIES: Final[dict[str, Forge]] = {
    "init container": with_container,
    "volume": with_volume,
    "image": with_image,
    "privileges": with_privileges,
}
ITEMS: Final = ("init container", "volume")
"""The forgeries that add an item of a list."""
