"""The merge of llm-d: a ModelService over its base, as mergo does with override and append.

    containers, env     by name: each of the base with the last one of its name; then the others
    args                those of the ModelService, then those of the base
    command             that of the ModelService, if it has one
    other lists         appended
    maps                key by key
    zero values         never win, except those of labels, selectors and resources

It differs on purpose where the API server would refuse the result: `value` replaces `valueFrom`, and volumes
and mounts are added once.
"""

from collections.abc import Mapping
from typing import Final

from importer.leaves import Leaf, Tree, plain, value_at
from intent.shapes import text

BY_NAME: Final[Mapping[str, str]] = {
    **dict.fromkeys(("containers", "initContainers", "env", "volumes", "parentRefs"), "name"),
    "volumeMounts": "mountPath",
}
"""Lists whose items merge, by the field that names an item."""
WHOLE: Final = frozenset({"volumes", "volumeMounts"})
"""Lists of which an item replaces that of the base."""
_OF_ANY_VALUE: Final = frozenset({"labels", "selector", "limits", "requests"})
"""Maps whose keys are no fields: a zero value replaces that of the base too."""
_SOURCES: Final = frozenset({"value", "valueFrom"})


def merged(base: Tree, over: Tree, field: str = "") -> Tree:
    """Return one tree over another; `field` is the name of the field that both are."""
    if isinstance(base, dict) and isinstance(over, dict):
        if field in _OF_ANY_VALUE:
            return {**base, **{key: value for key, value in over.items() if plain(value) is not None}}
        if field == "env" and any(plain(over[key]) for key in _SOURCES & over.keys()):
            base = {key: value for key, value in base.items() if key not in _SOURCES}
        return {**base, **{key: merged(base.get(key), value, key) for key, value in over.items()}}
    if isinstance(base, list) and isinstance(over, list):
        return _lists(base, over, field)
    return base if base is not None and isinstance(over, Leaf) and not over.value else over


def _lists(base: list[Tree], over: list[Tree], field: str) -> Tree:
    if field == "command":
        return over
    key = BY_NAME.get(field)
    if key is None:
        return [*over, *base] if field == "args" else [*base, *over]
    last = {name: item for item in over if (name := text(value_at(item, key)))}
    names = [text(value_at(item, key)) for item in base]
    items = [
        item if name not in last else last[name] if field in WHOLE else merged(item, last[name], field)
        for item, name in zip(base, names, strict=True)
    ]
    return [*items, *(item for item in over if text(value_at(item, key)) not in {*names} - {""})]
