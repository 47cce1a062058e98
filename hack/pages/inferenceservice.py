"""The fields of an InferenceService, and stories as they are expanded."""

from collections.abc import Iterator, Mapping
from typing import Final

from fusioninfer.files import documents, offline
from hack.manifests.objects import DOCS
from hack.markdown import table
from intent import Object
from intent.annotations import EXPANSION
from intent.inferenceservice.crd import schema
from intent.inferenceservice.embedded import EMBEDDED
from intent.settings import Settings

STORIES: Final = tuple(f"isvc-story-{number}" for number in (1, 2, 3, 4))


def blocks() -> Mapping[str, str]:
    """Return the blocks of the page."""
    whole = schema()
    rows = [
        {"field (bold: required)": field, "type": kind, "": text}
        for part in ("spec", "status")
        for field, kind, text in _described(
            part, whole["properties"][part], required=part in whole["required"]
        )
    ]
    return {"fields": table(rows), **{name: _story(name) for name in STORIES}}


def _described(path: str, node: Object, *, required: bool) -> Iterator[tuple[str, str, str]]:
    """Return a field and all below it: path, type, description; what must be there is bold.

    The fields of other APIs' specs are upstream's, and are left out.
    """
    items, values = node.get("items", {}), node.get("additionalProperties", {})
    kind = node.get("format") or ("list" if items else "map" if values else node.get("type", "int or string"))
    allowed = [", ".join(f"`{value}`" for value in node["enum"]) + "."] if "enum" in node else []
    text = " ".join((node["description"], *allowed))
    yield f"**`{path}`**" if required else f"`{path}`", kind, text
    inner = {} if path.removeprefix("spec.roles[].") in EMBEDDED else items or values or node
    below = path + ("[]" if items else ".*" if values else "")
    for name, field in inner.get("properties", {}).items():
        yield from _described(f"{below}.{name}", field, required=name in inner.get("required", ()))


def _story(name: str) -> str:
    """Return a story as its author writes it, and what it becomes; the record is only counted."""
    file = DOCS.parent / "tests" / "golden" / name / "input.yaml"
    made = offline.compose(documents.read([str(file)]), Settings())
    becomes = documents.write_yaml(_shortened(one) for one in made.objects)
    names = ", ".join(f"{one['kind']} `{one['metadata']['name']}`" for one in made.objects)
    return (
        f"```yaml\n{file.read_text(encoding='utf-8').partition(chr(10))[2]}```\n\n"
        f"becomes {names}:\n\n"
        f"<details>\n<summary>fusioninfer expand</summary>\n\n```yaml\n{becomes}```\n\n</details>\n"
    )


def _shortened(made: Object) -> Object:
    """Replace the record by its length."""
    annotations = dict(made["metadata"].get("annotations", {}))
    if EXPANSION in annotations:
        annotations[EXPANSION] = f"<the record, {len(annotations[EXPANSION])} bytes>"
        return made | {"metadata": made["metadata"] | {"annotations": annotations}}
    return made
