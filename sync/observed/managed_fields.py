"""What another client changed in an object before the controller applied it again (`managedFields`, KEP-555).

An apply takes fields back from the manager that changed them. So the managers that own less after it than
before are those whose change was undone; a field that was removed has had no owner meanwhile.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from intent import Object
from intent.shapes import mapping, text
from kube.request import FIELD_MANAGER, KEEPER
from sync.observed.cached import managed

OURS: Final = frozenset({FIELD_MANAGER, KEEPER})
ManagedPath = tuple[str, ...]
"""Keys of `fieldsV1`: `f:` and the name of a field, `k:` and the key of a list item, `v:` and a value."""


@dataclass(frozen=True, slots=True)
class Takeover:
    """The managers whose changes were undone, and the changed fields; both sorted, empty if unknown."""

    managers: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()


UNKNOWN: Final = Takeover()


def taken_over(before: Object, after: Object) -> Takeover:
    """Compare the owners of fields before and after an apply of the controller."""
    owned, left = _owned(before), _owned(after)
    lost = {manager: paths - left.get(manager, set()) for manager, paths in owned.items()}
    others = {manager: paths for manager, paths in lost.items() if paths and manager not in OURS}
    regained = left.get(FIELD_MANAGER, set()) - owned.get(FIELD_MANAGER, set())
    return Takeover(
        tuple(sorted(others)), tuple(sorted({_written(path) for path in regained.union(*others.values())}))
    )


def _owned(obj: Object) -> Mapping[str, set[ManagedPath]]:
    """Return the paths that each manager owns; those of a status do not count."""
    found: dict[str, set[ManagedPath]] = {}
    for entry in managed(obj):
        if entry.get("subresource") != "status":
            found.setdefault(text(entry.get("manager")), set()).update(_paths(entry.get("fieldsV1")))
    return found


def _paths(fields: object, above: ManagedPath = ()) -> Iterator[ManagedPath]:
    """Yield the paths of the fields of an entry that contain no other field."""
    inner = {key: value for key, value in mapping(fields).items() if key != "."}
    if not inner and above:
        yield above
    for key, value in inner.items():
        yield from _paths(value, (*above, key))


def _written(path: ManagedPath) -> str:
    """Write a path as people do: `spec.template.spec.containers[{"name":"vllm"}].image`."""
    parts = (key.partition(":") for key in path)
    return "".join(f".{key}" if kind == "f" else f"[{key}]" for kind, _, key in parts).removeprefix(".")
