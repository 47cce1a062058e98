"""Values at the bounds of a schema, beyond them, and of other types, for each of its fields."""

import copy
import re
from collections.abc import Iterator
from typing import Any, Final

from intent import Object

Step = int | str
Place = tuple[Step, ...]
SAMPLES: Final = ("a", "/a", "1s", "a.b", "HTTP", "https://a.b", "IPAddress")
"""Texts of which one has the pattern of a field."""
OTHERS: Final[tuple[Any, ...]] = (None, True, "x", "", 1, 1.5, [], {}, [None])
NUMBERS: Final = (-1, 0, 1.0, 65535, 65536, 2**31 - 1, 2**31, -(2**31), 2**63 - 1, 2**63, -(2**63))
QUANTITIES: Final = ("1e1.5", "1e400", "-1e400", "1Ei", "0.5", "1 ", "1\n", "50%", "101%", "9" * 41)
TEXTS: Final = ("A", "a..b", "a/b", " a", "a\n", "\u00e9", "a" * 63, "a" * 64, "a" * 253, "a" * 254)
LONGEST_LIST: Final = 128


def valid(schema: Object) -> Any:
    """Return a value with the required fields only."""
    if schema.get("x-kubernetes-int-or-string"):
        return 1
    match schema["type"]:
        case "object":
            return {name: valid(schema["properties"][name]) for name in schema.get("required", ())}
        case "array":
            return [valid(schema["items"]) for _ in range(schema.get("minItems", 0))]
        case "integer":
            return max(1, schema.get("minimum", 1))
        case "boolean":
            return True
    known = schema.get("enum") or [one for one in SAMPLES if re.search(schema.get("pattern", ""), one)]
    return (known or SAMPLES)[0]


def values(schema: Object) -> Iterator[Any]:
    """Yield values for a field."""
    yield from OTHERS
    number = schema.get("type") == "integer" or "x-kubernetes-int-or-string" in schema
    yield from NUMBERS if number else ()
    yield from (schema[key] + by for key in ("minimum", "maximum") if key in schema for by in (-1, 0, 1))
    if "x-kubernetes-int-or-string" in schema:
        yield from QUANTITIES
    elif schema.get("type") == "string":
        yield from TEXTS
        yield from ("a" * (schema["maxLength"] + by) for by in (0, 1) if "maxLength" in schema)
    elif schema.get("type") == "object":
        yield from (valid(schema) | {"unknown": one} for one in (1, None))
    elif schema.get("maxItems", LONGEST_LIST) < LONGEST_LIST:
        yield from ([valid(schema["items"])] * (schema["maxItems"] + by) for by in (0, 1))


def fields(schema: Object, place: Place = ()) -> Iterator[tuple[Place, Object]]:
    """Yield each field below a schema, with its path: 0 is an item, `k` a key of a map."""
    below: dict[Step, Object] = dict(schema.get("properties", {}))
    below |= {0: schema["items"]} if "items" in schema else {}
    below |= {"k": schema["additionalProperties"]} if "additionalProperties" in schema else {}
    for step, one in below.items():
        yield (*place, step), one
        yield from fields(one, (*place, step))


def with_field(obj: Any, schema: Object, place: Place, value: Any) -> Any:
    """Return a copy of an object with a value, and with what is required above it."""
    if not place:
        return copy.deepcopy(value)
    step, *rest = place
    if isinstance(step, int):
        inner, held = schema["items"], obj[0] if obj else valid(schema["items"])
        return [with_field(held, inner, tuple(rest), value), *obj[1:]]
    inner = schema.get("properties", {}).get(step) or schema["additionalProperties"]
    held = obj.get(step)
    return {**obj, step: with_field(valid(inner) if held is None else held, inner, tuple(rest), value)}
