"""What an object proves of a record: a recorded part is injected again only where the object had all of it.

A record is an annotation, so it may be forged. Here the stored object has no init container of this name:

    >>> record, stored = (
    ...     {"spec": {"leaderWorkerTemplate": {"workerTemplate": {"spec": {"initContainers": [one]}}}}}
    ...     for one in ({"name": "wait", "image": "evil"}, {"name": "wait", "image": "busybox"})
    ... )
    >>> is_on(stored, record)
    False
"""

from intent import Object
from intent.shapes import listed, mapping
from webhook.overlay.keyed import ENTERED, by_identity, is_keyed, same
from webhook.overlay.overlay import Overlay, merge
from webhook.overlay.patch import patch
from webhook.overlay.record import Expansion


def unproven(expansion: Expansion, put_on: Overlay, live: Object, old: Object) -> frozenset[str]:
    """Return the names of the parts that neither the live nor the stored object has.

    `put_on` is what the expansion injects. A write may have removed an item by hand, which does not come back
    from a record. A file of a client without server-side apply replaces whole lists, that of the containers
    too. So what is gone together with all that was injected into containers is no removal.
    """
    if is_on(live, put_on):
        return frozenset()
    whole, now = _group(put_on), _group(live)
    edited = [field for field in whole if _is_expanded(mapping(whole[field]), mapping(now.get(field)))]

    def stands(part: Overlay) -> bool:
        if is_on(live, part):
            return True
        here = _group(part)
        removed = any(_lacks_item(mapping(here.get(field)), mapping(now.get(field))) for field in edited)
        return is_on(old, part) and not removed

    parts = expansion.reduced(put_on).parts
    return frozenset(name for name, part in parts.items() if not stands(part.put_on))


def is_on(lws: Object, overlay: Overlay) -> bool:
    """Return whether an object has all fields of an overlay, with their values."""
    return not patch(lws, merge(lws, overlay))


def _lacks_item(injected: Overlay, live: Object) -> bool:
    """Return whether a list lacks an item that was injected."""
    for key, value in injected.items():
        have = live.get(key)
        if isinstance(value, dict) and isinstance(have, dict) and _lacks_item(value, have):
            return True
        if not is_keyed(key, value):
            continue
        items, now = by_identity(key, value), by_identity(key, have)
        if key not in ENTERED and items.keys() - now.keys():
            return True
        if key in ENTERED and any(_lacks_item(items[name], now[name]) for name in items.keys() & now.keys()):
            return True
    return False


def _is_expanded(injected: Overlay, live: Object) -> bool:
    """Return whether some of what was injected into containers is still there; also if nothing was."""
    ours, now = (
        by_identity("containers", mapping(one.get("spec")).get("containers")) for one in (injected, live)
    )
    fields = [
        (key, value, mapping(now.get(name)).get(key))
        for name, item in ours.items()
        for key, value in item.items()
        if value and key != "name"
    ]
    return not fields or any(
        any(one in listed(have) for one in value) if is_keyed(key, value) else same(value, have)
        for key, value, have in fields
    )


def _group(lws: Object) -> Object:
    return mapping(mapping(lws.get("spec")).get("leaderWorkerTemplate"))
