"""The laws. Each takes an engine and an example, asserts, and returns whether it was patched."""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import jsonpatch

from intent import Object
from intent.settings import Settings
from intent.tree import COPY, FIRST, Overlay, identity, index, is_keyed, name_of
from tests.laws.strategies import defaulted
from webhook.expand import change, expand, wish
from webhook.mutate import CONCERNS, REPLACEABLE
from webhook.mutate.concern import Concern
from webhook.overlay.patch import Operation, patch
from webhook.state import Fresh, state


@dataclass(frozen=True, slots=True)
class Engine:
    """The functions under test. A broken engine differs in one of them."""

    expand: Callable[..., list[Operation]] = expand
    patch: Callable[[Object, Object], list[Operation]] = patch
    concerns: tuple[Concern, ...] = CONCERNS

    def put(self, live: Object, old: Object | None = None) -> Object:
        """Expand an object and apply the patch with jsonpatch."""
        applied: Object = jsonpatch.apply_patch(live, self.expand(live, old, Settings(), self.concerns))
        return applied


def idempotent(engine: Engine, lws: Object) -> bool:
    """Check expand(expand(x)) == expand(x), on CREATE and UPDATE, before and after defaulting."""
    once = engine.put(lws)
    stored = defaulted(once, lws)

    assert engine.put(once) == once
    assert engine.put(once, once) == once
    assert engine.put(stored, stored) == stored
    assert engine.put(stored) == stored
    return once != lws


def patches_as_merged(engine: Engine, lws: Object) -> bool:
    """Check that the patch gives the wanted object, and that this equals a naive merge of the overlay."""
    found = state(lws)
    wanted = change(lws, found, Settings(), engine.concerns)
    operations = engine.patch(lws, wanted)

    assert jsonpatch.apply_patch(lws, operations) == wanted
    emitted = engine.expand(lws, None, Settings(), engine.concerns)
    assert jsonpatch.apply_patch(lws, emitted) == wanted
    assert {operation["op"] for operation in (*operations, *emitted)} <= {"add", "replace", "remove"}
    if isinstance(found, Fresh):
        made = found.write.inject(wish(found, Settings(), engine.concerns))
        assert made.result == naive(_with_copies(found.write.original, made.put_on), made.put_on)
    return bool(operations)


def _with_copies(original: Object, overlay: Overlay) -> Object:
    """Return the object with the templates that the overlay copies."""
    copied: Object = copy.deepcopy(original)
    group = copied["spec"]["leaderWorkerTemplate"]
    for field, template in overlay.get("spec", {}).get("leaderWorkerTemplate", {}).items():
        if COPY in template:
            group[field] = group[template[COPY]]
    return copied


def spares(engine: Engine, lws: Object) -> bool:
    """Check that every value of the author survives, except those in `REPLACEABLE`."""
    once = engine.put(lws)

    after = dict(leaves(once))
    lost = [path for path, value in leaves(lws) if after.get(path, lost_value) != value]
    assert [path for path in lost if not REPLACEABLE & set(path)] == []
    return once != lws


lost_value: Final = object()


def leaves_arguments(engine: Engine, lws: Object) -> bool:
    """Check that arguments are not changed, even if they are invalid."""
    once = Engine().put(copy.deepcopy(lws))
    broken = copy.deepcopy(once)
    broken["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["containers"].append(7)
    before = copy.deepcopy((lws, once, broken))

    for live, old in ((lws, None), (once, lws), (broken, once), (lws, once)):
        engine.expand(live, old, Settings(), engine.concerns)
    assert before == (lws, once, broken)
    return once != lws


# --- oracles ----------------------------------------------------------------------------------------


def naive(live: Any, overlay: Overlay) -> Any:
    """Merge by copying everything: slow, simple, and independent of the engine."""
    merged = copy.deepcopy(live)
    for key, value in overlay.items():
        if key.startswith("$"):
            continue
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict):
            merged[key] = naive(merged[key] if isinstance(merged.get(key), dict) else {}, value)
        elif is_keyed(key, value):
            _naive_items(merged, key, value)
        else:
            merged[key] = value
    return merged


def _naive_items(merged: Object, field: str, overlay: list[Any]) -> None:
    items = merged[field] if isinstance(merged.get(field), list) else []
    new = []
    for item in overlay:
        at = index(field, items).get(identity(field, item))
        if at is None:
            new.append(naive({}, item))
        else:
            items[at] = naive(items[at], item)
    merged[field] = new + items if field in FIRST else items + new


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[tuple[Any, ...], Any]]:
    """Return the scalar values of an object with their paths; items of keyed lists are named by a tuple."""
    if isinstance(value, dict) and value:
        return [leaf for key, item in value.items() for leaf in leaves(item, (*path, key))]
    if isinstance(value, list) and value and path and is_keyed(path[-1], value):
        return [leaf for item in value for leaf in leaves(item, (*path, (name_of(path[-1], item),)))]
    return [] if value in ({}, []) else [(path, value)]
