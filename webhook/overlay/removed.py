"""Recorded items that a write removed from an object: a record alone does not bring them back.

Here an administrator removed an init container, and the launch is still there, so no file replaced the lists:

    >>> launch = {"containers": [{"name": "vllm", "command": ["ray"]}]}
    >>> injected, live = (
    ...     {"spec": {"leaderWorkerTemplate": {"workerTemplate": {"spec": launch | more}}}}
    ...     for more in ({"initContainers": [{"name": "wait"}]}, {})
    ... )
    >>> removed(injected, live, injected)["spec"]["leaderWorkerTemplate"]["workerTemplate"]
    {'spec': {'initContainers': [{'name': 'wait'}]}}
"""

from collections.abc import Iterator
from typing import Any

from intent import Object
from intent.shapes import listed, mapping
from webhook.overlay.keyed import ENTERED, by_identity, identity, is_keyed, keys_of, same
from webhook.overlay.overlay import NOTHING, Overlay


def removed(injected: Overlay, live: Object, old: Object, rules: Overlay = NOTHING) -> Overlay:
    """Return the injected items of pod templates that a write removed, and that `rules` does not have.

    A file of a client without server-side apply replaces whole lists, that of the containers too. So what is
    gone together with all that was injected into containers is no removal, if it was stored.
    """
    whole = [
        mapping(mapping(one.get("spec")).get("leaderWorkerTemplate")) for one in (injected, live, old, rules)
    ]
    gone: Object = {}
    for field in whole[0]:
        part, now, then, given = (mapping(group.get(field)) for group in whole)
        lost = _lacking(part, now, given)
        if lost and not _is_expanded(part, now):
            lost = _lacking(lost, then, NOTHING)
        gone |= {field: lost} if lost else {}
    return {"spec": {"leaderWorkerTemplate": gone}} if gone else {}


def _lacking(injected: Overlay, live: Object, rules: Object) -> Overlay:
    found: Overlay = {}
    for key, value in injected.items():
        have, given = live.get(key), rules.get(key)
        if isinstance(value, dict) and isinstance(have, dict):
            found[key] = _lacking(value, have, mapping(given))
        elif is_keyed(key, value):
            found[key] = [*_items(key, value, by_identity(key, have), by_identity(key, given))]
    return {key: below for key, below in found.items() if below}


def _items(field: str, injected: list[Any], live: Object, rules: Object) -> Iterator[Overlay]:
    for item in injected:
        key = identity(field, item)
        if field not in ENTERED:
            yield from () if key in live or same(item, rules.get(key)) else (item,)
        elif key in live and (below := _lacking(item, live[key], rules.get(key, NOTHING))):
            yield keys_of(field, item) | below


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
