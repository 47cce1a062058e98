"""One object before and after: what is noise, and the unified diff. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import unified_diff
from typing import Any, Final, Literal

from fusioninfer.cluster.eject.manifests import SET_BY_CLIENTS
from intent import Object, yaml
from intent.annotations import EXPANSION
from intent.errors import printable
from intent.shapes import listed, mapping, text
from sync.observed.cached import SET_BY_SERVER

Action = Literal["create", "update", "delete"]
ObjectOrigin = Literal["file", "controller"]
RECORDS: Final = SET_BY_CLIENTS | {EXPANSION}
"""Annotations that only record what the other fields have."""
CONTEXT: Final = 3


@dataclass(frozen=True, slots=True)
class ObjectDiff:
    """One object, as it is stored and as it would be."""

    origin: ObjectOrigin
    """Whether the object is in a file, or made by the controller."""
    before: Object | None
    """None: it is created."""
    after: Object | None
    """None: it is deleted."""

    @property
    def action(self) -> Action:
        """What happens to the object."""
        if self.before is None:
            return "create"
        return "delete" if self.after is None else "update"

    @property
    def identity(self) -> Object:
        """The object itself, for its names."""
        return self.after or self.before or {}

    @property
    def file(self) -> str:
        """The name that `kubectl diff` gives to the file of an object."""
        metadata = mapping(self.identity.get("metadata"))
        group, _, version = text(self.identity.get("apiVersion")).rpartition("/")
        parts = (group, version, text(self.identity.get("kind")), text(metadata.get("namespace")))
        return printable(".".join([*(part for part in parts if part), text(metadata.get("name"))]))


def differs(change: ObjectDiff) -> bool:
    """Return whether anything but noise changes."""
    return cleaned(change.before) != cleaned(change.after)


def unified(change: ObjectDiff) -> str:
    """Return the unified diff of an object, as `kubectl diff` prints it."""
    before, after = (_lines(cleaned(one)) for one in (change.before, change.after))
    old, new = f"LIVE/{change.file}", f"MERGED/{change.file}"
    lines = unified_diff(before, after, old, new, n=CONTEXT)
    return "".join((f"diff -u -N {old} {new}\n", *lines))


def _lines(obj: Object | None) -> list[str]:
    return yaml.dump(obj).splitlines(keepends=True) if obj is not None else []


def cleaned(obj: Object | None) -> Object | None:
    """Return an object without what a server sets and what only records; keys are sorted."""
    if obj is None:
        return None
    metadata = {key: value for key, value in mapping(obj.get("metadata")).items() if key not in SET_BY_SERVER}
    notes = {key: value for key, value in mapping(metadata.get("annotations")).items() if key not in RECORDS}
    owners = [_without_uid(mapping(one)) for one in listed(metadata.get("ownerReferences"))]
    metadata = {**metadata, "annotations": notes, "ownerReferences": owners}
    kept = {key: value for key, value in metadata.items() if value not in ({}, [])}
    rest = {key: value for key, value in obj.items() if key not in {"status", "metadata"}}
    return dict(_sorted(rest | {"metadata": kept}))


def _without_uid(owner: Object) -> Object:
    """Return an owner without its uid: that of an object which does not exist yet is made up."""
    return {key: value for key, value in owner.items() if key != "uid"}


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(one) for one in value] if isinstance(value, list) else value


def like(value: Any, shape: Any) -> Any:
    """Return the part of a value that has the fields of a shape: defaults of the API server are left out."""
    if isinstance(shape, dict) and isinstance(value, dict):
        return {key: like(value[key], shape[key]) for key in shape if key in value}
    if isinstance(shape, list) and isinstance(value, list) and len(shape) == len(value):
        return [like(one, other) for one, other in zip(value, shape, strict=True)]
    return value


# --- what `kubectl apply` sends ----------------------------------------------------------------------


def applied_patch(last: Object, file: Object) -> Object:
    """Return the merge patch of a client-side apply: the file, with nulls for what only the last one had."""
    return {**dict(_removals(last, file)), **{key: _patched(last.get(key), file[key]) for key in file}}


def _patched(last: Any, value: Any) -> Any:
    return applied_patch(mapping(last), value) if isinstance(value, dict) else value


def _removals(last: Object, file: Object) -> Iterator[tuple[str, None]]:
    return ((key, None) for key in last if key not in file)
