"""The files of docs/examples, by the services that they define. No list is kept: a new file is tested too."""

from functools import cache
from pathlib import Path
from typing import Final

import yaml

from intent import Object
from intent.annotations import SERVICE

EXAMPLES: Final = Path(__file__).parents[2] / "docs" / "examples"
FILES: Final = tuple(sorted(EXAMPLES.glob("*.yaml")))


@cache
def services() -> dict[str, tuple[Path, ...]]:
    """Return the files of each service; prefill and decode of one service may be in two files."""
    found: dict[str, tuple[Path, ...]] = {}
    for file in FILES:
        for name in sorted({name for obj in objects(file) for name in _services(obj)}):
            found[name] = (*found.get(name, ()), file)
    return found


def objects(file: Path) -> list[Object]:
    """Return the objects of a file."""
    return list(yaml.safe_load_all(file.read_text(encoding="utf-8")))


def _services(obj: Object) -> set[str]:
    """Return the services that an object defines, or of which it is a member."""
    if obj["kind"] == "InferenceService":
        return {obj["metadata"]["name"]}
    owners = [obj, *obj["spec"]["roles"]] if obj["kind"] == "DisaggregatedSet" else [obj]
    return {
        one["metadata"]["annotations"][SERVICE]
        for one in owners
        if SERVICE in one["metadata"].get("annotations", {})
    }
