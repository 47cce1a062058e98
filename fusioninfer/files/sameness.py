"""Whether two sets of objects expand to the same ones: admission and the controller's preview of both."""

import json
import re
from collections.abc import Iterator, Sequence
from graphlib import TopologicalSorter
from typing import Any, Final

from fusioninfer.files.documents import Document
from fusioninfer.files.library import is_template
from fusioninfer.files.offline import compose, is_inferenceservice
from importer.report import described
from intent import Object
from intent.annotations import BASE_REFS, EXPANSION, TEMPLATES_VERSION
from intent.errors import printable
from intent.merge import are_items, identity
from intent.settings import Settings

NOTES: Final = frozenset({BASE_REFS, EXPANSION, TEMPLATES_VERSION})
"""Annotations that tell of templates, and change nothing."""
UNORDERED: Final = frozenset({"volumes", "volumeMounts", "ports", "env"})
"""Lists whose order has no meaning; that of `env` has one between a variable and those to which it refers."""
_REFERENCE: Final = re.compile(r"\$\(([^()]+)\)")
_SHOWN: Final = 80
_ABSENT: Final = object()


def difference(before: Sequence[Object], after: Sequence[Object]) -> str:
    """Return the first difference between what two sets of objects expand to; empty for none."""
    made = []
    for each in (before, after):
        found = compose([Document("import", at, one) for at, one in enumerate(each, 1)], Settings())
        errors = [one.error for one in found.found if one.error.severity == "error"]
        if errors:
            return f"it would be refused, {errors[0]}"
        made.append({described(one): _bare(one) for one in found.objects if not _is_source(one)})
    then, now = made
    for name in (*then, *(one for one in now if one not in then)):
        for path, one, other in _differences(then.get(name, {}), now.get(name, {})):
            return printable(f"of {name}, {path or 'the object'} would be {_shown(other)}, not {_shown(one)}")
    return ""


def _is_source(obj: Object) -> bool:
    return is_template(obj) or is_inferenceservice(obj)


def _bare(obj: Any, field: str = "") -> Any:
    """Return an object without the notes on templates, its lists in an order of their own."""
    if isinstance(obj, dict):
        return {key: _bare(one, key) for key, one in obj.items() if key not in NOTES}
    if not isinstance(obj, list):
        return obj
    found = [_bare(one) for one in obj]
    if field not in UNORDERED or not are_items(field, found):
        return found
    if field == "env":
        return _variables(found)
    return sorted(found, key=lambda one: json.dumps(identity(field, one)))


def _variables(env: list[Object]) -> list[Object]:
    """Return variables by name; of two of which one refers to the other, the first one stays first."""
    places = {one["name"]: at for at, one in enumerate(env)}
    order: TopologicalSorter[str] = TopologicalSorter(dict.fromkeys(places, ()))
    for name, at in places.items():
        for other in _REFERENCE.findall(str(env[at].get("value", ""))):
            if places.get(other, at) != at:
                order.add(*sorted((name, other), key=places.__getitem__, reverse=True))
    order.prepare()
    found: list[Object] = []
    while order.is_active():
        ready = sorted(order.get_ready())
        found += [env[places[name]] for name in ready]
        order.done(*ready)
    return found


def _differences(one: Any, other: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    if isinstance(one, dict) and isinstance(other, dict):
        for key in (*one, *(key for key in other if key not in one)):
            below = f"{path}.{key}" if path else key
            yield from _differences(one.get(key, _ABSENT), other.get(key, _ABSENT), below)
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for at, (left, right) in enumerate(zip(one, other, strict=True)):
            yield from _differences(left, right, f"{path}[{at}]")
    elif type(one) is not type(other) or one != other:
        yield path, one, other


def _shown(value: Any) -> str:
    return "absent" if value is _ABSENT else json.dumps(value)[:_SHOWN]
