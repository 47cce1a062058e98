"""The laws of a stored object, and what is compared.

`converges`: `stored(B)` equals `expand(stored(A))`, which is a CREATE of `stored(A)` on a server with our
webhooks. Compared are spec, labels and annotations, apart from the record. Not compared:

- metadata of the API server (`managedFields`), and the record's text;
- what another webhook, or somebody by hand, wrote into init containers: it stays while the container does,
  and is no part of A (`without_edits`; `server` checks that it stays);
- empty metadata, labels, annotations, resources and lists of a pod spec, which mean the same as none;
- the places of another webhook's items in lists. Where they are between those of A's author, the order that a
  CREATE makes of A with these items last is right too.

Another order of the same items is a violation of its own (`order`): the pods would restart. The items of a
list that were stored keep the stored order, unless its author's own items have another one, also where a
CREATE would make another order (`in_order`); such steps are counted (`compared in stored order`). If the
write changes the pods in another way too, they restart anyway: then the order of a CREATE is right as well,
and volumes may have any, which means nothing.

The side laws hold for B alone, unless the expected object violates them too, since its author wrote it so.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Final, NamedTuple

from intent import Object
from intent.annotations import EXPANSION
from intent.merge import UNIONS
from tests.laws.convergence.hands import engine_of
from tests.laws.convergence.managed import LAST_APPLIED
from tests.laws.convergence.schema import LIST_KEYS, containers, is_keyed, keys_of, templates

OF_OTHERS: Final = frozenset({"certificates", "REGION"})
"""Items of another webhook: a CREATE of A's object, which has them, puts ours in other places beside them."""
MIRROR: Final = "mirror.example/"
"""What another webhook puts before the images of init containers."""
VOLUMES: Final = frozenset({"volumes"})
"""Lists whose order means nothing to a pod."""
OPTIONAL: Final = frozenset(
    {
        *("metadata", "labels", "annotations", "volumes", "initContainers"),
        *("env", "volumeMounts", "ports", "args", "resources", "tolerations"),
    }
)
"""Fields that mean the same when empty and when absent."""
MARKS: Final = ("symmetric-run", "ray start", "LWS_LEADER_ADDRESS", "LWS_WORKER_INDEX")
"""Text that only a launcher writes; the generator's authors do not."""


def compared(lws: Object, unordered: Collection[str] = ()) -> Object:
    """Return the part of an object that is compared, in canonical form; some lists without their order.

    Without kubectl's note of its last file: one that was exported holds the record.
    """
    metadata = lws["metadata"]
    noted = metadata.get("annotations", {})
    annotations = {key: value for key, value in noted.items() if key not in (EXPANSION, LAST_APPLIED)}
    whole = {"annotations": annotations, "labels": metadata.get("labels", {}), "spec": lws["spec"]}
    found: Object = _in_order(without_empty(without_edits(whole)), "", unordered)
    return found


def without_edits(value: Any, field: str = "") -> Any:
    """Return a value without what another webhook, or somebody by hand, writes into init containers."""
    if isinstance(value, dict):
        return {key: without_edits(item, key) for key, item in value.items()}
    return [*map(_unedited, value)] if field == "initContainers" else value


def _unedited(item: Object) -> Object:
    edits = {"imagePullPolicy", *(("resources",) if item["name"] == "storage-initializer" else ())}
    left = {key: value for key, value in item.items() if key not in edits}
    for key in _EDITED & left.keys():
        left[key] = [one for one in left[key] if not _is_of_others(one)]
    if "image" in left:
        left["image"] = left["image"].removeprefix(MIRROR)
    return {key: value for key, value in left.items() if value != []}


_EDITED: Final = frozenset({"env", "volumeMounts"})


def without_empty(value: Any) -> Any:
    """Return a value without its empty fields that mean the same as none."""
    if isinstance(value, list):
        return [*map(without_empty, value)]
    if not isinstance(value, dict):
        return value
    left = {key: without_empty(item) for key, item in value.items()}
    return {key: item for key, item in left.items() if not (key in OPTIONAL and item in ({}, [], None))}


def _in_order(value: Any, field: str, unordered: Collection[str]) -> Any:
    if isinstance(value, dict):
        return {key: _in_order(item, key, unordered) for key, item in value.items()}
    if isinstance(value, list):
        items_of = [_in_order(item, "", unordered) for item in value]
        if field in LIST_KEYS:
            is_free = field in unordered
            items_of.sort(key=(lambda item: repr(keys_of(field, item))) if is_free else _is_of_others)
        return items_of
    return value


def _is_of_others(item: Object) -> bool:
    return item.get("name") in OF_OTHERS


def with_others_last(value: Any, field: str = "") -> Any:
    """Return an object with another webhook's items at the end of their lists."""
    if isinstance(value, dict):
        return {key: with_others_last(item, key) for key, item in value.items()}
    if isinstance(value, list) and field in LIST_KEYS:
        return sorted(map(with_others_last, value), key=_is_of_others)
    return value


def difference(expected: Any, stored: Any, path: str = "", field: str = "") -> Iterator[str]:
    """Yield the fields in which two objects differ, with both values."""
    if isinstance(expected, dict) and isinstance(stored, dict):
        for key in sorted(expected.keys() | stored.keys()):
            if key not in stored or key not in expected:
                has, lacks = ("expected", "stored") if key in expected else ("stored", "expected")
                yield f"{path}.{key}: {lacks} lacks it; {has} {_short((expected | stored)[key])}"
            else:
                yield from difference(expected[key], stored[key], f"{path}.{key}", key)
    elif is_keyed(field, expected) and is_keyed(field, stored):
        one, other = ({_name(field, item): item for item in items} for items in (expected, stored))
        yield from difference(one, other, path)
        if one == other and expected != stored:
            yield f"{path}: order {[*other]}, expected {[*one]}"
    elif expected != stored:
        yield f"{path}: {_short(stored)}, expected {_short(expected)}"


def restarts(before: Object, stored: Object) -> bool:
    """Return whether a write changed the pods, apart from the order of lists."""
    one, other = (compared(lws, LIST_KEYS)["spec"]["leaderWorkerTemplate"] for lws in (before, stored))
    return bool(one != other)


def _name(field: str, item: Object) -> str:
    return "/".join(str(value) for _, value in keys_of(field, item))


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 160 else f"{text[:157]}..."


Items = Mapping[Any, Object]
"""The items of a list by their keys, in its order."""


class Orders(NamedTuple):
    """The objects that decide the order of the expected one, or the values of one field in them."""

    before: Any
    """What was stored on B."""
    author: Any
    """What is stored on A."""
    earlier: Any
    """What was stored on A."""
    sent: Any = None
    """What was sent to B. This and the next are None unless the write changes the pods in another way too, or
    the order of A's items, those of another webhook too."""
    stored: Any = None
    """What is stored on B."""

    def of(self, value: Callable[[Any], Any]) -> "Orders":
        """Return the same with a part of each object."""
        return Orders(*map(value, self))


def in_order(expected: Any, orders: Orders, field: str = "") -> Any:
    """Return the expected object with the items of each list that were stored before in their order.

    Another order restarts pods. The author's items have another one if their author changed it; those of
    another webhook, which A has too, are not the author's. A list in a template that changes in another way
    too may also have the order of a CREATE, or that in which its items were sent; or the author's items as
    they were sent, among the others of a CREATE.
    """
    if isinstance(expected, dict):
        maps = orders.of(lambda one: one if isinstance(one, dict) else {})
        return {key: in_order(item, maps.of(_field(key)), key) for key, item in expected.items()}
    if not all(is_keyed(field, one) for one in (expected, orders.before)):
        return expected
    made = {keys_of(field, item): item for item in expected}
    items = orders.of(lambda one: {keys_of(field, item): item for item in one or ()})
    found = {key: in_order(item, items.of(_field(key))) for key, item in made.items()}
    then, own, earlier, sent, now = items
    before = iter([key for key in then if key in found])
    kept = [next(before) if key in then else key for key in found]
    is_reordered = _order(own, earlier) != _order(earlier, own)
    if is_reordered or _not_of_others(now) == _not_of_others(found):
        return [*found.values()]
    new = [key for key in found if key not in sent]
    as_sent = [key for key in sent if key in found]
    if now and ([*now] in (new + as_sent, as_sent + new) or _is_as_sent(own, sent, now, found)):
        return [found[key] for key in now]
    return [found[key] for key in kept]


def _is_as_sent(own: Items, sent: Items, now: Items, created: Items) -> bool:
    """Return whether the author's items have the order of what was sent, and the others that of a CREATE."""
    mine, theirs = ([key for key in items if key in own] for items in (now, sent))
    others, then = ([key for key in items if key not in own] for items in (now, created))
    return (mine, others) == ([key for key in theirs if key in created], then)


def moved(before: Any, now: Any, field: str = "") -> bool:
    """Return whether items of a list changed places, those of another webhook too."""
    if isinstance(before, dict) and isinstance(now, dict):
        return any(moved(before[key], now[key], key) for key in before.keys() & now.keys())
    if not (is_keyed(field, before) and is_keyed(field, now)):
        return False
    then, there = ({keys_of(field, item): item for item in items} for items in (before, now))
    is_other = [key for key in then if key in there] != [key for key in there if key in then]
    return is_other or any(moved(then[key], there[key]) for key in then.keys() & there.keys())


def _order(items: Items, others: Items) -> list[Any]:
    """Return the keys of the items that are among others too, and that another webhook does not add."""
    return [key for key in _not_of_others(items) if key in others]


def _field(key: Any) -> Callable[[Any], Any]:
    return lambda value: value.get(key)


def _not_of_others(items: Items) -> list[Any]:
    """Return the keys of the items that another webhook does not add."""
    return [key for key, item in items.items() if not _is_of_others(item)]


# --- the laws -------------------------------------------------------------------------------------------


HANDLED: Final = UNIONS.keys() - {"env"}
"""Probes and hooks."""


def incomplete(lws: Object) -> str:
    """Return why no pod can be made: no image, two members of a union, or a mount of nothing."""
    for field, template in templates(lws):
        spec = template.get("spec", {})
        for item in containers(template):
            where, hooks = f"{field}: {item['name']}", item.get("lifecycle", {})
            if "image" not in item:
                return f"{where} has no image"
            unions = [("env", one) for one in item.get("env", ())]
            unions += [(key, one[key]) for one in (item, hooks) for key in HANDLED & one.keys()]
            for key, one in unions:
                members = UNIONS[key] & one.keys()
                if len(members) > 1 or not (members or key == "env"):
                    return f"{where} has a {key} of {sorted(members)}"
            if any("name" not in one for one in item.get("volumeMounts", ())):
                return f"{where} has a mount of nothing"
        for volume in spec.get("volumes", ()):
            if len(volume) > 2:  # its name and one source
                return f"{field}: the volume {volume['name']} has {len(volume) - 1} sources"
    return ""


def mounts(lws: Object) -> str:
    """Return the mount that has no volume, or nothing."""
    for field, template in templates(lws):
        volumes = {item["name"] for item in template.get("spec", {}).get("volumes", ())}
        for item in containers(template):
            for mount in item.get("volumeMounts", ()):
                name = mount.get("name")  # an apply may send a mount without it
                if name not in volumes:
                    return f"{field}: {item['name']} mounts {name}, which is no volume"
    return ""


def images(lws: Object) -> str:
    """Return what leader and workers run differently: the image or the model; or nothing."""
    found = [(engine.get("image"), models_of(engine)) for engine in _engines(lws)]
    if len({image for image, _ in found}) > 1:
        return f"images {[image for image, _ in found]}"
    models = [model for _, model in found if model]
    return f"models {models}" if len(set(models)) > 1 else ""


def launches(lws: Object) -> str:
    """Return which template is launched and which is not, or nothing."""
    found = [is_launched(engine) for engine in _engines(lws)]
    return f"launched: leader {found[0]}, workers {found[1]}" if len(set(found)) > 1 else ""


def _engines(lws: Object) -> list[Object]:
    return [engine for _, template in templates(lws) if (engine := engine_of(template))]


def _words(engine: Object) -> str:
    return " ".join((*(engine.get("command") or ()), *(engine.get("args") or ())))


def models_of(engine: Object) -> tuple[str, ...]:
    """Return the models of a command line; the generator's have names with `org/`."""
    words = _words(engine).replace("'", " ").split()
    return tuple(sorted({word for word in words if word.startswith("org/")}))


def is_launched(engine: Object) -> bool:
    """Return whether a launcher wrote command or args."""
    return any(mark in _words(engine) for mark in MARKS)


def converges(expected: Object, stored: Object, unordered: Collection[str]) -> tuple[str, str]:
    """Return the violated law, `converges` or `order`, and the first differences; or nothing."""
    one, other = compared(expected, unordered), compared(stored, unordered)
    if one == other:
        return "", ""
    is_order = compared(expected, LIST_KEYS) == compared(stored, LIST_KEYS)
    return "order" if is_order else "converges", "; ".join(list(difference(one, other))[:4])


SIDE_LAWS: Final[dict[str, Callable[[Object], str]]] = {
    "mount without volume": mounts,
    "incomplete": incomplete,
    "image or model differs": images,
    "launch on one side": launches,
}


def violated(lws: Object) -> frozenset[str]:
    """Return the side laws that an object violates."""
    return frozenset(name for name, law in SIDE_LAWS.items() if law(lws))


def violation(
    stored: Object,
    expected: Object | None,
    excused: frozenset[str] = frozenset(),
    unordered: Collection[str] = (),
) -> tuple[str, str]:
    """Return the first violated law and what is wrong; empty texts if all hold.

    Side laws that the author violates, and those that are excused, are left out.
    """
    excused |= violated(expected) if expected else frozenset()
    for name, law in SIDE_LAWS.items():
        if name not in excused and (found := law(stored)):
            return name, found
    return converges(expected, stored, unordered) if expected else ("", "")


# --- causes ---------------------------------------------------------------------------------------------


def cause(law: str, stored: Object | None, expected: Object | None) -> str:
    """Return what went wrong in a few words: of launch, leader and worker, the first that differs."""
    if law not in ("converges", "order") or not stored or not expected:
        return law
    one, other = _parts(expected), _parts(stored)
    if one.keys() != other.keys():
        more = "stays" if "leaderTemplate" in other else "is gone"
        return f"the leader's template {more}"
    for field in one:
        wanted, found = (is_launched(engine_of(parts[field]) or {}) for parts in (one, other))
        if wanted != found:
            return f"{field}: the launch is {'lost' if wanted else 'kept'}"
    differ = [field for field in one if one[field] != other[field]]
    if differ == ["leaderTemplate"]:
        return f"the leader alone differs: {_where(one, other)}"
    return f"{' and '.join(differ) or 'the rest'}: {_where(compared(expected), compared(stored))}"


def _parts(lws: Object) -> dict[str, Object]:
    return dict(templates(compared(lws)))


def _where(expected: Object, stored: Object) -> str:
    """Return the first field that differs, below the names of templates and containers."""
    path = next(difference(expected, stored), "").partition(": ")[0]
    known = [*LIST_KEYS, "command", "args", "metadata", "labels", "annotations", "schedulerName"]
    return next((name for name in reversed(path.split(".")) if name in known), path.rpartition(".")[2])
