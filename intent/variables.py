"""Variables of InferenceTemplates: `$(model.name)` in a text becomes the value of the service.

    $(model.name)           a name with a dot is ours
    $(model.name|default)   the text to take where the service sets no value
    $$(model.name)          the text $(model.name) itself
    $(NAME), $$(NAME)       without a dot: left to the kubelet

A text that is one variable takes the type that its field has in PodTemplateSpec: `"$(role.port)"` becomes
the number of a `containerPort`, and stays a text in `args`. Values are put into the parsed tree in one pass:
a value never adds a field, and is not searched for variables. In the names of fields, texts stay.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from intent import Object
from intent.errors import FieldError, nearest, suggested

ROLE_PORT: Final = "role.port"
NAMES: Final[Mapping[str, str]] = {
    "model.name": "the name under which the model is served",
    "model.path": "the model argument of the engine: a name or a path",
    "service.name": "the name of the service",
    "service.namespace": "its namespace",
    "role.name": "the name of the role",
    ROLE_PORT: "the port on which the role's engine serves",
    "parallelism.tensor": "the tensor-parallel size",
    "parallelism.pipeline": "the pipeline-parallel size",
    "parallelism.data": "the data-parallel size",
    "parallelism.dataLocal": "data-parallel ranks of one node",
    "group.size": "pods of a group",
}
"""The variables, with their meaning for the documentation."""
CODE: Final = "FI950"
_VARIABLE: Final = re.compile(
    r"\$(?P<escaped>\$)?\((?P<name>[a-zA-Z][\w-]*(?:\.[\w-]+)+)(?:\|(?P<default>[^()]{0,1024}))?\)"
)
LONGEST: Final = 64 * 1024
"""Bytes of all values that are put into one template."""


class VariableError(NamedTuple):
    """An error about a variable."""

    name: str
    """The variable; empty if the error is about all of them."""
    error: FieldError


@dataclass(slots=True)
class _Substitution:
    """One pass over a template: the values, what is left of the budget, and the errors."""

    values: Mapping[str, str]
    left: int
    errors: list[VariableError]

    def text(self, path: str, text: str) -> str:
        """Return a text with its variables replaced; one without a value stays, and is reported."""

        def value(match: re.Match[str]) -> str:
            if match["escaped"]:
                return match[0][1:]
            known = self.values.get(match["name"], match["default"])
            if known is None:
                self.errors.append(VariableError(match["name"], unknown(path, match["name"])))
                return match[0]
            self.left -= len(known)
            return known if self.left >= 0 else ""

        return _VARIABLE.sub(value, text)


def unknown(path: str, name: str) -> FieldError:
    """Report a variable that does not exist, or for which this service has no value."""
    if name in NAMES:
        message = f"$({name}) is {NAMES[name]}, which is not set: set it, or write $({name}|…)"
    else:
        hint = suggested(nearest(name, NAMES), f"known are {', '.join(NAMES)}")
        message = f"$({name}) is no variable{hint}; for this text itself write $$({name})"
    return FieldError(path, None, message, CODE)


def substituted(
    template: Object, values: Mapping[str, str], schema: Object, path: str = ""
) -> tuple[Object, list[VariableError]]:
    """Return a template with its variables replaced, and an error for each that has no value.

    `schema` is that of the template, as in a CustomResourceDefinition; `path` is the template's own path, for
    errors. The template is not changed.
    """
    work = _Substitution(values, LONGEST, [])
    tree = _walk(template, schema, path, work)
    if work.left < 0:
        message = f"its variables have more than {LONGEST} characters together: shorten the values"
        work.errors.append(VariableError("", FieldError(path, None, message, CODE)))
    return tree, work.errors


def _walk(node: Any, schema: Object, path: str, work: _Substitution) -> Any:
    if isinstance(node, dict):
        return {
            key: _walk(value, _property(schema, key), f"{path}.{key}" if path else key, work)
            for key, value in node.items()
        }
    if isinstance(node, list):
        below = schema.get("items") or {}
        return [_walk(item, below, f"{path}[{index}]", work) for index, item in enumerate(node)]
    if not isinstance(node, str) or "$(" not in node:
        return node
    text = work.text(path, node)
    return _typed(text, schema) if _VARIABLE.fullmatch(node) and text != node else text


def _property(schema: Object, key: str) -> Object:
    below = schema.get("properties", {}).get(key) or schema.get("additionalProperties")
    return below if isinstance(below, dict) else {}


def _typed(text: str, schema: Object) -> Any:
    """Return the value of a text that is one variable, in the type of its field."""
    kind = "integer" if schema.get("x-kubernetes-int-or-string") else schema.get("type", "string")
    return TYPES[kind](text) if kind in TYPES else text


def _integer(text: str) -> int | str:
    return int(text) if re.fullmatch(r"-?\d{1,18}", text) else text


def _boolean(text: str) -> bool | str:
    return {"true": True, "false": False}.get(text, text)


TYPES: Final[Mapping[str, Callable[[str], Any]]] = {"integer": _integer, "boolean": _boolean}
"""By the type in the schema. A text of another form stays a text, which the API server denies."""


def variables(template: Any) -> Iterator[str]:
    """Yield the names of the variables of a template, keys included, each as often as it stands there."""
    if isinstance(template, dict):
        for key, value in template.items():
            yield from variables(key)
            yield from variables(value)
    elif isinstance(template, list):
        for item in template:
            yield from variables(item)
    elif isinstance(template, str):
        yield from (match["name"] for match in _VARIABLE.finditer(template) if not match["escaped"])
