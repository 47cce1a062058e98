"""What an object proves of a record: a recorded part is injected again only where the object had all of it.

A record is an annotation, so it may be forged. Here the stored object has no init container of this name:

    >>> record, stored = (
    ...     {"spec": {"leaderWorkerTemplate": {"workerTemplate": {"spec": {"initContainers": [one]}}}}}
    ...     for one in ({"name": "wait", "image": "evil"}, {"name": "wait", "image": "busybox"})
    ... )
    >>> is_on(stored, record)
    False
"""

from typing import Any

from intent import Object
from intent.shapes import mapping
from intent.tree import COPY, LIST_KEYS, Overlay, difference, identity, index, is_keyed, keys_of, merge, same
from webhook.overlay.group import containers_of, template_of, templates_of
from webhook.overlay.launch import ARGUMENTS
from webhook.overlay.overlay import ENTERED
from webhook.overlay.patch import Operation, patch
from webhook.overlay.record import Expansion


def unproven(expansion: Expansion, put_on: Overlay, live: Object, old: Object) -> dict[str, Overlay]:
    """Return the parts that neither the live nor the stored object has, by name: what the live one lacks.

    `put_on` is what the expansion injects. A write may have removed an item by hand, which does not come back
    from a record. A file of a client without server-side apply replaces whole lists, that of the containers
    too. So what is gone together with all that was injected into containers is no removal.
    """
    if is_on(live, put_on):
        return {}
    parts_of = {field: (part, template_of(live, field)) for field, part in templates_of(put_on).items()}
    edited = tuple(
        f"/spec/leaderWorkerTemplate/{field}/" for field, pair in parts_of.items() if _is_expanded(*pair)
    )

    def stands(part: Overlay) -> bool:
        lost = patch(live, merge(live, part))
        removed = any(one["path"].startswith(edited) and _adds_item(one) for one in lost)
        return not lost or (is_on(old, part) and not removed)

    parts = {name: part.put_on for name, part in expansion.reduced(put_on).parts.items()}
    return {name: difference(live, merge(live, part)) for name, part in parts.items() if not stands(part)}


def is_on(lws: Object, overlay: Overlay) -> bool:
    """Return whether an object has all fields of an overlay, with their values."""
    return not patch(lws, merge(lws, overlay))


def common(lws: Any, overlay: Any, field: str = "") -> Any:
    """Return the part of an overlay that an object has, with the same values; None stands for no field.

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
    found = ((item, common(lws[at], item)) for at, item in known if at is not None)
    return [have for item, have in found if have.keys() > keys_of(field, item).keys() or have == item]


def has_some(live: Any, overlay: Any, field: str = "") -> bool:
    """Return whether an object has a leaf of an overlay, or an item of its lists; None stands for no field.

    What is a copy has what it is a copy of, and a launch is there as a whole.

    >>> has_some({"spec": {"hostIPC": True}}, {"spec": {"hostIPC": True, "nodeName": "a"}})
    True
    """
    if isinstance(overlay, dict) and COPY in overlay:
        return live is not None
    if isinstance(overlay, dict):
        return any(has_some(mapping(live).get(key), value, key) for key, value in overlay.items())
    if is_keyed(field, overlay):
        places = index(field, live)
        known = ((places.get(identity(field, item)), item) for item in overlay)
        return any(at is not None and (field not in ENTERED or _item(live[at], item)) for at, item in known)
    return same(live, overlay)


def _item(live: Any, container: Overlay) -> bool:
    launch = [key for key in ARGUMENTS if key in container]
    if launch:
        return all(same(live.get(key), container[key]) for key in launch)
    return has_some(live, {key: value for key, value in container.items() if key != "name"})


def _adds_item(operation: Operation) -> bool:
    last = operation["path"].rpartition("/")[2]
    return operation["op"] == "add" and (last == "-" or last.isdigit() or last in LIST_KEYS)


def _is_expanded(injected: Overlay, live: Object) -> bool:
    """Return whether some of what was injected into containers is still there; also if nothing was."""
    ours, now = containers_of(injected), containers_of(live)
    return not ours or any(
        is_on(mapping(now.get(name)), {key: piece})
        for name, item in ours.items()
        for key, value in item.items()
        if value and key != "name"
        for piece in ([[one] for one in value] if is_keyed(key, value) else [value])
    )
