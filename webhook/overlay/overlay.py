"""Overlays: the pod templates in them, how several become one, what a record may have, what an object has."""

from collections.abc import Callable, Collection, Iterable
from itertools import chain, repeat
from typing import Any, Final

from intent import Object
from intent.shapes import listed, mapping
from intent.tree import (
    COPY,
    LIST_KEYS,
    Identity,
    Overlay,
    are_items,
    by_identity,
    identity,
    index,
    is_keyed,
    keys_of,
    merge,
    same,
)
from webhook.overlay.patch import patch

# --- pod templates ------------------------------------------------------------------------------------

LEADER: Final = "leaderTemplate"
WORKER: Final = "workerTemplate"
INIT: Final = "initContainers"


def group_of(lws: Object | None) -> Object:
    """Return the LeaderWorkerTemplate of an object or an overlay."""
    return mapping(mapping(mapping(lws).get("spec")).get("leaderWorkerTemplate"))


def with_group(lws: Object, group: Object) -> Object:
    """Return an object with another LeaderWorkerTemplate."""
    return {**lws, "spec": {**mapping(lws.get("spec")), "leaderWorkerTemplate": group}}


def template_of(lws: Object | None, field: str) -> Object:
    """Return a pod template of an object or an overlay."""
    return mapping(group_of(lws).get(field))


def templates_of(lws: Object) -> Object:
    """Return the pod templates of an object by field."""
    group = group_of(lws)
    return {name: group[name] for name in (WORKER, LEADER) if isinstance(group.get(name), dict)}


def with_templates(lws: Object, change: Callable[[str, Object], Object]) -> Object:
    """Return an object, or an overlay, with each of its pod templates changed."""
    templates = {name: change(name, template) for name, template in templates_of(lws).items()}
    return with_group(lws, {**group_of(lws), **templates}) if templates else lws


def pod_of(template: Object) -> Object:
    """Return the spec of a pod template."""
    return mapping(template.get("spec"))


def containers_of(template: Object) -> dict[str, Object]:
    """Return the containers of a pod template by name."""
    return by_identity("containers", pod_of(template).get("containers"))


def init_containers_of(template: Object) -> dict[str, Object]:
    """Return the init containers of a pod template by name."""
    return by_identity(INIT, pod_of(template).get(INIT))


def with_containers(
    template: Object, change: Callable[[Object], Object], field: str = "containers"
) -> Object:
    """Return a pod template with each of its containers, or of its init containers, changed."""
    spec = pod_of(template)
    items = [change(item) if isinstance(item, dict) else item for item in listed(spec.get(field))]
    return {**template, "spec": {**spec, field: items}} if items else template


def without_containers(template: Object, names: Collection[str]) -> Object:
    """Return a pod template, or an overlay of one, without these containers: without the list, if of all."""
    items = listed(pod_of(template).get("containers"))
    gone = {position for name, position in index("containers", items).items() if name in names}
    left = [item for position, item in enumerate(items) if position not in gone]
    if len(left) == len(items):
        return template
    spec = {key: value for key, value in pod_of(template).items() if key != "containers"}
    return {**template, "spec": {**spec, "containers": left} if left else spec}


# --- several overlays ---------------------------------------------------------------------------------

ENTERED: Final = frozenset({"containers"})
"""Lists whose existing items may get fields. In other lists an item is added, or the author's is kept."""
WHOLE: Final = frozenset({INIT, "volumes", "volumeMounts", "startupProbe"})
"""Fields and lists whose values are applied and reverted as a unit. An edited value belongs to the author."""
ARGUMENTS: Final = ("command", "args")
"""The fields of a container that are one value: a launch."""


class Contradiction(Exception):  # noqa: N818 - it is a bug in a mutator, not an error in the input
    """Two mutators set one field to different values."""


def combine(overlays: Iterable[Overlay]) -> Overlay:
    """Combine overlays of several mutators. Values that only one of them has are shared, not copied.

    Raises:
        Contradiction: two overlays set a field to different values.
    """
    fields: dict[str, list[Any]] = {}
    for overlay in overlays:
        for key, value in overlay.items():
            if key in fields:
                fields[key].append(value)
            else:
                fields[key] = [value]
    return {key: values[0] if len(values) == 1 else _joined(key, values) for key, values in fields.items()}


def _joined(key: str, values: list[Any]) -> Any:
    kinds = set(map(type, values))
    if kinds == {dict}:
        return combine(values)
    if kinds == {list} and key in LIST_KEYS and all(are_items(key, items) for items in values):
        overlays: dict[Identity, list[Overlay]] = {}
        for item in chain.from_iterable(values):
            overlays.setdefault(identity(key, item), []).append(item)
        return [items[0] if len(items) == 1 else combine(items) for items in overlays.values()]
    for value in values:
        if not same(values[0], value):
            raise Contradiction(f"{key}: {values[0]!r} and {value!r}")
    return values[0]


def remainder(overlay: Overlay, part: Overlay) -> Overlay:
    """Return the fields of an overlay that another one, which has a part of them, lacks."""
    left: Overlay = {}
    for key, value in overlay.items():
        if key not in part:
            left[key] = value
        elif value == part[key]:
            continue
        elif isinstance(value, dict) and isinstance(part[key], dict):
            if below := remainder(value, part[key]):
                left[key] = below
        elif key in LIST_KEYS and isinstance(value, list) and (items := _left_items(key, value, part[key])):
            left[key] = items
    return left


def _left_items(field: str, items: list[Overlay], part: list[Overlay]) -> list[Overlay]:
    places, left = index(field, part), []
    for item in items:
        position = places.get(identity(field, item))
        below = item if position is None else remainder(item, part[position])
        if below:
            left.append(below if position is None else keys_of(field, item) | below)
    return left


# --- overlays of a record -----------------------------------------------------------------------------

_KEYS: Final = {field: frozenset((*keys, "name")) for field, keys in LIST_KEYS.items()}
"""The fields of items that are keys: strings or numbers."""


def fits(value: Any, paths: Object | None, field: str = "") -> bool:
    """Return whether a value, which is that of a field, is an overlay with these paths alone.

    A record comes with its object, so its overlays may be forged.

    In `paths` None stands for any value, and an empty map for keys without a value. Any field may be None,
    but not the key of an item. Lists in `LIST_KEYS` have items with keys, wherever they are.

    >>> fits({"labels": {"app": "x"}, "role": None}, {"labels": {"app": None}, "role": None})
    True
    >>> fits({"containers": [{"name": "x", "image": "y"}]}, {"containers": {"name": None, "args": None}})
    False
    """
    if value is None:
        return True
    if isinstance(value, list):
        if paths is None and field not in LIST_KEYS:
            return all(map(fits, value, repeat(None)))
        return all(map(_is_item, repeat(field), value, repeat(paths)))
    if not isinstance(value, dict) or (paths is not None and field in LIST_KEYS):
        return paths is None
    if paths == {}:
        return all(item is None for item in value.values())
    below = repeat(None) if paths is None else map(paths.get, value)
    is_known = paths is None or value.keys() <= paths.keys()
    return is_known and all(map(fits, value.values(), below, value))


def _is_item(field: str, item: Any, paths: Object | None) -> bool:
    """Return whether a value is an item of a list that merges by keys, with proper ones and these paths."""
    if (
        field not in LIST_KEYS
        or not isinstance(item, dict)
        or not (paths is None or item.keys() <= paths.keys())
    ):
        return False
    keys = item.keys() & _KEYS[field]
    rest = {key: value for key, value in item.items() if key not in keys}
    return all(type(item[key]) in (str, int) for key in keys) and fits(rest, paths)


# --- overlays on an object ----------------------------------------------------------------------------


def is_on(lws: Object, overlay: Overlay) -> bool:
    """Return whether an object has all fields of an overlay, with their values."""
    return not patch(lws, merge(lws, overlay))


def common(lws: Any, overlay: Any, field: str = "") -> Any:
    """Return the part of an overlay that an object has, with the same values; None stands for no field.

    An init container is there as a whole, edited or not.

    >>> common({"hostIPC": True, "nodeName": "b"}, {"hostIPC": True, "nodeName": "a", "tolerations": None})
    {'hostIPC': True, 'tolerations': None}
    """
    if isinstance(overlay, dict):
        have, kept = mapping(lws), Overlay()
        for key, value in overlay.items():
            if value and (isinstance(value, dict) or is_keyed(key, value)):
                below = common(have.get(key), value, key)
                kept |= {key: below} if below else {}
            elif key == COPY or same(have.get(key), value):
                kept[key] = value
        return kept if kept.keys() != {COPY} or have else {}
    places = index(field, lws)
    known = ((places.get(identity(field, item)), item) for item in overlay)
    if field == INIT:
        return [item for position, item in known if position is not None]
    parts = ((item, common(lws[position], item)) for position, item in known if position is not None)
    return [have for item, have in parts if have.keys() > keys_of(field, item).keys() or have == item]


def has_some(live: Any, overlay: Any, field: str = "") -> bool:
    """Return whether an object has a leaf of an overlay, or an item of its lists; None stands for no field.

    What is a copy has what it is a copy of, and a launch is there as a whole.

    >>> has_some({"spec": {"hostIPC": True}}, {"spec": {"hostIPC": True, "nodeName": "a"}})
    True
    """
    if isinstance(overlay, dict) and COPY in overlay:
        return live is not None
    if isinstance(overlay, dict):
        return any(map(has_some, map(mapping(live).get, overlay), overlay.values(), overlay))
    if is_keyed(field, overlay):
        places = index(field, live)
        known = ((places.get(identity(field, item)), item) for item in overlay)
        return any(i is not None and (field not in ENTERED or _item(live[i], item)) for i, item in known)
    return same(live, overlay)


def _item(live: Any, container: Overlay) -> bool:
    launch = [key for key in ARGUMENTS if key in container]
    if launch:
        return all(same(live.get(key), container[key]) for key in launch)
    return has_some(live, {key: value for key, value in container.items() if key != "name"})
