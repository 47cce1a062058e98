"""One object before and after: what is noise, and the unified diff. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import unified_diff
from typing import Any, Final, Literal

from fusioninfer.cluster.eject.manifests import SET_BY_CLIENTS
from fusioninfer.cluster.text import described
from intent import Object, yaml
from intent.annotations import EXPANSION
from intent.shapes import listed, mapping
from sync.observed.cached import SET_BY_SERVER

RECORDS: Final = SET_BY_CLIENTS | {EXPANSION}
"""Annotations that only record what the other fields have."""


@dataclass(frozen=True, slots=True)
class ObjectDiff:
    """One object, as it is stored and as it would be."""

    origin: Literal["file", "controller"]
    """Whether the object is in a file, or made by the controller."""
    before: Object | None
    """None: it is created."""
    after: Object | None
    """None: it is deleted."""


def differs(change: ObjectDiff) -> bool:
    """Return whether anything but noise changes."""
    return cleaned(change.before) != cleaned(change.after)


def unified(change: ObjectDiff) -> Iterator[str]:
    """Yield the lines of the unified diff of an object."""
    before, after = (_lines(cleaned(one)) for one in (change.before, change.after))
    name = described(change.after or change.before or {})
    return unified_diff(before, after, f"LIVE {name}", f"MERGED {name}", lineterm="")


def _lines(obj: Object | None) -> list[str]:
    return yaml.dump(obj).splitlines() if obj is not None else []


def cleaned(obj: Object | None) -> Object | None:
    """Return an object without what a server sets and what only records; keys are sorted."""
    if obj is None:
        return None
    metadata = {key: value for key, value in obj["metadata"].items() if key not in SET_BY_SERVER}
    notes = {key: value for key, value in mapping(metadata.get("annotations")).items() if key not in RECORDS}
    owners = [  # the uid of an object that does not exist yet is made up
        {key: value for key, value in mapping(one).items() if key != "uid"}
        for one in listed(metadata.get("ownerReferences"))
    ]
    metadata |= {"annotations": notes, "ownerReferences": owners}
    kept = {key: value for key, value in metadata.items() if value not in ({}, [])}
    rest = {key: value for key, value in obj.items() if key not in {"status", "metadata"}}
    return dict(_sorted(rest | {"metadata": kept}))


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(one) for one in value] if isinstance(value, list) else value
