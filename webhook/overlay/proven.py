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
from intent.shapes import mapping
from webhook.overlay.keyed import LIST_KEYS, by_identity, is_keyed
from webhook.overlay.overlay import Overlay, merge
from webhook.overlay.patch import Operation, patch
from webhook.overlay.record import Expansion


def unproven(expansion: Expansion, put_on: Overlay, live: Object, old: Object) -> frozenset[str]:
    """Return the names of the parts that neither the live nor the stored object has.

    `put_on` is what the expansion injects. A write may have removed an item by hand, which does not come back
    from a record. A file of a client without server-side apply replaces whole lists, that of the containers
    too. So what is gone together with all that was injected into containers is no removal.
    """
    if is_on(live, put_on):
        return frozenset()
    whole, now = (mapping(mapping(one.get("spec")).get("leaderWorkerTemplate")) for one in (put_on, live))
    pairs = ((field, mapping(part), mapping(now.get(field))) for field, part in whole.items())
    edited = tuple(f"/spec/leaderWorkerTemplate/{one}/" for one, *pair in pairs if _is_expanded(*pair))

    def stands(part: Overlay) -> bool:
        lost = patch(live, merge(live, part))
        removed = any(one["path"].startswith(edited) and _adds_item(one) for one in lost)
        return not lost or (is_on(old, part) and not removed)

    parts = expansion.reduced(put_on).parts
    return frozenset(name for name, part in parts.items() if not stands(part.put_on))


def is_on(lws: Object, overlay: Overlay) -> bool:
    """Return whether an object has all fields of an overlay, with their values."""
    return not patch(lws, merge(lws, overlay))


def _adds_item(operation: Operation) -> bool:
    last = operation["path"].rpartition("/")[2]
    return operation["op"] == "add" and (last == "-" or last.isdigit() or last in LIST_KEYS)


def _is_expanded(injected: Overlay, live: Object) -> bool:
    """Return whether some of what was injected into containers is still there; also if nothing was."""
    ours, now = (
        by_identity("containers", mapping(one.get("spec")).get("containers")) for one in (injected, live)
    )
    return not ours or any(
        is_on(mapping(now.get(name)), {key: piece})
        for name, item in ours.items()
        for key, value in item.items()
        if value and key != "name"
        for piece in ([[one] for one in value] if is_keyed(key, value) else [value])
    )
