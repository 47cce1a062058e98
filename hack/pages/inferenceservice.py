"""The fields of an InferenceService."""

from collections.abc import Iterator, Mapping

from hack.markdown import table
from intent import Object
from intent.inferenceservice.crd import EMBEDDED, schema


def blocks() -> Mapping[str, str]:
    """Return the table."""
    whole = schema()
    rows = [
        {"field (bold: required)": field, "type": kind, "": text}
        for part in ("spec", "status")
        for field, kind, text in _described(
            part, whole["properties"][part], required=part in whole["required"]
        )
    ]
    return {"fields": table(rows)}


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
