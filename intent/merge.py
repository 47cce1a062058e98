"""⊕: a partial pod template merged under another one, as an InferenceTemplate under what an author wrote.

    merged(base, over)      base ⊕ over: `over` wins
    removed(base, paths)    base without the fields and items that a template's `remove` lists

⊕ is Kubernetes' strategic merge of PodTemplateSpec (`k8s.io/apimachinery` `pkg/util/strategicpatch`), without
directives: `null` and `$patch` never reach admission. It differs on purpose (`tests/cluster/test_merge.py`):

- ports merge by port and protocol, since one port may be open for TCP and UDP;
- fields of which only one may be set (`value` and `valueFrom`, the handlers of a probe, the sources of a
  volume) are replaced together, since the API server denies a mixture;
- an empty list removes all items: an explicit `[]` of the author wins, as every zero value does;
- items of the base come first, since an author's variable may refer to one of a template;
- arguments of an engine merge by flag (`intent.command_line.merge`).
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from intent import Object
from intent.tree import KEY_DEFAULTS, MERGE_KEYS, identity, name_of

SETS: Final = frozenset({"finalizers"})
"""Lists of names to which names are added."""

_PROBE: Final = frozenset({"exec", "httpGet", "tcpSocket", "grpc"})
_HOOK: Final = frozenset({"exec", "httpGet", "tcpSocket", "sleep"})
UNIONS: Final[Mapping[str, frozenset[str]]] = {
    "env": frozenset({"value", "valueFrom"}),
    "livenessProbe": _PROBE,
    "readinessProbe": _PROBE,
    "startupProbe": _PROBE,
    "postStart": _HOOK,
    "preStop": _HOOK,
}
"""By the field of an object, or of the list that it is an item of: the members of which one may be set.
Of a volume, each field except its name is one (`_left`)."""
WHOLE: Final = frozenset({"seccompProfile", "appArmorProfile", "valueFrom"})
"""Objects that are replaced: their fields depend on each other."""
CONTAINERS: Final = frozenset({"containers", "initContainers", "ephemeralContainers"})

MergeArguments = Callable[[Object, Object], list[str]]
"""The arguments of a merged container, from both containers, which both have `args`."""


def replaced(_base: Object, over: Object) -> list[str]:
    """Return the arguments of `over`."""
    return list(over["args"])


def merged(base: Object, over: Object, arguments: MergeArguments = replaced) -> Object:
    """Return base ⊕ over for two pod templates. Neither is changed; values that only one has are shared.

    `arguments` merges the arguments of two containers (`intent.command_line.merge.MODES`).
    """
    return _objects("", base, over, arguments)


def _objects(field: str, base: Object, over: Object, arguments: MergeArguments) -> Object:
    """Merge two values of a field that is an object, or two items of a list of objects."""
    set_by_over = {key: value for key, value in over.items() if value is not None}
    fields = _left(field, base, set_by_over)
    for key, value in set_by_over.items():
        if key == "args" and field in CONTAINERS and fields.get(key) is not None:
            fields[key] = arguments(base, over)
        else:
            fields[key] = _values(key, fields.get(key), value, arguments)
    return fields


def _left(field: str, base: Object, over: Object) -> Object:
    """Return the fields of the base that may stand beside those of `over`."""
    if field == "volumes":
        return dict(base) if over.keys() <= {"name"} else {}
    members = UNIONS.get(field, frozenset())
    gone = members if members & over.keys() else frozenset()
    return {key: value for key, value in base.items() if key not in gone and value is not None}


def _values(key: str, base: Any, over: Any, arguments: MergeArguments) -> Any:
    if isinstance(over, dict) and isinstance(base, dict) and key not in WHOLE:
        return _objects(key, base, over, arguments)
    if isinstance(over, list) and isinstance(base, list) and over:
        if key in MERGE_KEYS and are_items(key, base) and are_items(key, over):
            return _items(key, base, over, arguments)
        if key in SETS:
            return [*base, *(name for name in over if name not in base)]
    return over


def _items(field: str, base: list[Object], over: list[Object], arguments: MergeArguments) -> list[Object]:
    """Merge two lists by the keys of their items; new items are appended."""
    items = {identity(field, item): item for item in base}
    for item in over:
        key = identity(field, item)
        items[key] = _objects(field, items[key], item, arguments) if key in items else item
    return list(items.values())


# --- items -------------------------------------------------------------------------------------------


def are_items(field: str, items: list[Any]) -> bool:
    """Return whether all items are objects that can be identified, and no two are the same item."""
    if not all(isinstance(item, dict) and _is_identified(field, item) for item in items):
        return False
    return len({identity(field, item) for item in items}) == len(items)


def _is_identified(field: str, item: Object) -> bool:
    return all(isinstance(item.get(key, KEY_DEFAULTS.get(key)), str | int) for key in MERGE_KEYS[field])


# --- removal -----------------------------------------------------------------------------------------

_STEP: Final = re.compile(r"([^/\[\]]+)(?:\[([^\]]+)\])?(?:/|$)")
ROOTS: Final = ("metadata", "spec")
LONGEST: Final = 512
"""Characters of a path."""


class BadPathError(ValueError):
    """The text is no path of a pod template."""


def steps(path: str) -> tuple[str, ...]:
    """Split a path such as `containers/vllm/env/DEBUG`, which begins in `spec`, or `metadata/labels/a`.

    A name that has a slash stands in brackets: `containers/vllm/volumeMounts[/models]`, `ports[8000/UDP]`,
    `metadata/annotations[example.com/a]`.

    Raises:
        BadPathError: the text is no such path.
    """
    parts: list[str] = []
    position = 0
    while position < len(path):
        step = _STEP.match(path, position) if len(path) <= LONGEST else None
        if step is None:
            raise BadPathError(path)
        parts += [each for each in step.groups() if each is not None]
        position = step.end()
    if not parts or path.endswith("/") or parts in ([root] for root in ROOTS):
        raise BadPathError(path)
    return tuple(parts) if parts[0] in ROOTS else ("spec", *parts)


def removed(base: Object, paths: Iterable[str]) -> Object:
    """Return a pod template without what the paths name; a path of nothing removes nothing.

    Raises:
        BadPathError: a text is no path.
    """
    for path in paths:
        base = _without(base, steps(path))
    return base


def _without(node: Object, path: tuple[str, ...]) -> Object:
    key, rest = path[0], path[1:]
    if key not in node:
        return node
    if not rest:
        return {name: value for name, value in node.items() if name != key}
    below = node[key]
    if isinstance(below, dict):
        return {**node, key: _without(below, rest)}
    if isinstance(below, list):
        return {**node, key: _without_item(key, below, rest)}
    return node


def _without_item(field: str, items: list[Any], path: tuple[str, ...]) -> list[Any]:
    """Remove an item, or what the rest of the path names in it."""
    name, rest = path[0], path[1:]
    kept = []
    for item in items:
        if not _is_named(field, item, name):
            kept.append(item)
        elif rest:
            kept.append(_without(item, rest) if isinstance(item, dict) else item)
    return kept


def _is_named(field: str, item: Any, name: str) -> bool:
    """Return whether a name in a path means an item: `8000` or `8000/TCP` for a port, else the item's key."""
    if field not in MERGE_KEYS or not isinstance(item, dict):
        return bool(item == name)
    full = name_of(field, item)
    return name in {full, full.removesuffix(f"/{KEY_DEFAULTS['protocol']}")}
