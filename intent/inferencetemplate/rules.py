"""Rules for an InferenceTemplate that its schema cannot express.

The values that variables get are known only where a service uses the template: `intent.variables` reports
those that are missing.
"""

import json
from collections.abc import Iterator
from typing import Any, Final

from intent import Object, budget
from intent.errors import FieldError, nearest, suggested
from intent.inferencetemplate.crd import pod_template
from intent.lora import LIMITS
from intent.merge import BadPathError, are_items, steps
from intent.priority import ACCEPTED, as_text
from intent.shapes import listed, mapping
from intent.template import LARGEST, MALFORMED, TOO_LARGE
from intent.tree import MERGE_KEYS, identity
from intent.variables import NAMES, unknown, variables

UNUSED: Final = "FI330"


def too_large(template: Object) -> FieldError | None:
    """FI952, FI904: the spec is over a limit. They are counted before anything else is read."""
    spec = template.get("spec")
    size = len(
        json.dumps(spec, separators=(",", ":"), ensure_ascii=False, default=str).encode(errors="replace")
    )
    if size > LARGEST:
        message = (
            f"has {size} bytes as JSON, and the limit is {LARGEST}: split it, and name both in base-refs"
        )
        return FieldError("spec", None, message, TOO_LARGE)
    pods = [mapping(entry).get("template") for entry in listed(mapping(spec).get("pods"))]
    return budget.of_template(template, pods)


def findings(template: Object) -> Iterator[FieldError]:
    """Report what is wrong with a template, whatever its fields contain."""
    over = too_large(template)
    if over is not None:
        yield over
        return
    spec = mapping(template.get("spec"))
    for index, entry in enumerate(listed(spec.get("pods"))):
        path, pods = f"spec.pods[{index}]", mapping(entry)
        yield from _removals(listed(pods.get("remove")), f"{path}.remove")
        yield from _repeated(pods.get("template"), f"{path}.template")
        yield from _variables(pods.get("template"), f"{path}.template")
    if spec.get("priority") is not None and not as_text(spec["priority"]):
        yield FieldError("spec.priority", _scalar(spec["priority"]), ACCEPTED, MALFORMED)
    yield from _unused(mapping(spec.get("lora")))


def _unused(lora: Object) -> Iterator[FieldError]:
    """FI330: a field about LoRA adapters reaches no service."""
    adapters = listed(lora.get("adapters"))
    for name in LIMITS if not adapters else ():
        if lora.get(name) is not None:
            message = (
                "reaches no service without adapters: add adapters, or set it in the service, beside its own"
            )
            yield FieldError(f"spec.lora.{name}", _scalar(lora[name]), message, UNUSED)
    for index, adapter in enumerate(map(mapping, adapters)):
        if adapter.get("priority") is not None:
            message = "reaches no service: set it in spec.lora.adapters of the InferenceService"
            yield FieldError(
                f"spec.lora.adapters[{index}].priority", _scalar(adapter["priority"]), message, UNUSED
            )


# --- variables ---------------------------------------------------------------------------------------


def _variables(template: Any, path: str) -> Iterator[FieldError]:
    """FI950: each variable exists."""
    for where, node in _nodes(template, path):
        if isinstance(node, str):
            yield from (unknown(where, name) for name in variables(node) if name not in NAMES)


def _nodes(node: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield all values of a template, with their paths."""
    yield path, node
    if isinstance(node, dict):
        for key, value in node.items():
            yield from _nodes(value, f"{path}.{key}")
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from _nodes(value, f"{path}[{index}]")


# --- items -------------------------------------------------------------------------------------------


def _repeated(template: Any, path: str) -> Iterator[FieldError]:
    """FI954: the items of a list that merges differ in their keys."""
    for where, node in _nodes(template, path):
        for key, value in mapping(node).items():
            if key in MERGE_KEYS and isinstance(value, list) and not are_items(key, value):
                yield from _twice(key, value, f"{where}.{key}")


def _twice(field: str, items: list[Any], path: str) -> Iterator[FieldError]:
    first: dict[str, int] = {}
    for index, item in enumerate(items):
        if not isinstance(item, dict):
            continue
        key = repr(identity(field, item))
        if first.setdefault(key, index) != index:
            keys = " and ".join(MERGE_KEYS[field])
            message = f"must differ from [{first[key]}]: it has the same {keys}"
            yield FieldError(f"{path}[{index}]", None, message, MALFORMED)


# --- removals ----------------------------------------------------------------------------------------


def _removals(paths: list[Any], path: str) -> Iterator[FieldError]:
    """FI954: each path names something that a pod template may have."""
    for index, removal in enumerate(paths):
        if isinstance(removal, str) and (fault := removal_fault(removal)):
            yield FieldError(f"{path}[{index}]", removal, fault, MALFORMED)


def removal_fault(path: str) -> str:
    """Return what is wrong with a path of `remove`; empty for nothing."""
    try:
        names = steps(path)
    except BadPathError:
        return "is no path: write it as containers/vllm/env/DEBUG, and a name that has a slash in brackets"
    node, done = pod_template(), "a pod template"
    index = 0
    while index < len(names):
        name = names[index]
        fields = node.get("properties")
        if fields is not None and name not in fields:
            return f"{done} has no field {name}{suggested(nearest(name, fields))}"
        node = fields[name] if fields is not None else node.get("additionalProperties") or {}
        done, index = name, index + 1
        if node.get("type") == "array" and index < len(names):
            if name not in MERGE_KEYS and node["items"].get("type") != "string":
                return f"the items of {name} have no names: remove {name} as a whole"
            node, done, index = node["items"], f"an item of {name}", index + 1
    return ""


def _scalar(value: Any) -> Any:
    return None if isinstance(value, dict | list) else value
