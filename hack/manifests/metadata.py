"""Metadata of templates: the recommended labels, common labels and annotations of every object.

The helpers are those of `only_in_chart/_helpers.tpl`.
"""

import re
from typing import Final

from hack.manifests.rules import value

METADATA: Final = re.compile(r"^(?P<indent> *)metadata:\n(?P<block>(?:(?P=indent)  .*\n)+)", re.MULTILINE)
NAME: Final = "app.kubernetes.io/name: fusioninfer"
COMPONENT: Final = re.compile(r"^ *app\.kubernetes\.io/component: (\S+)\n", re.MULTILINE)
SEPARATOR: Final = "---\n"
NONE: Final = "dict"
"""The template of no annotations."""


def with_metadata(text: str, annotations: str) -> str:
    """Return manifests with the metadata of templates; `annotations` is a template of a dictionary."""
    return SEPARATOR.join(_object(each, annotations) for each in text.split(SEPARATOR))


def _object(text: str, annotations: str) -> str:
    """Rewrite the metadata of one object, and of the pods of a Deployment."""
    component = COMPONENT.search(text)
    if component is None:
        raise ValueError(f"an object has no label app.kubernetes.io/component: {text[:200]}")
    if annotations == NONE and "\nkind: ServiceAccount\n" in text:
        annotations = value(f"{component[1]}.serviceAccount.annotations")
    first, *pods = METADATA.finditer(text)
    parts = [text[: first.start()], _of_object(first["block"], component[1], annotations)]
    place = first.end()
    for found in pods if "\nkind: Deployment\n" in text else ():
        parts += [text[place : found.start()], _of_pods(found["indent"], component[1])]
        place = found.end()
    return "".join((*parts, text[place:]))


def _of_object(block: str, component: str, annotations: str) -> str:
    lines = [
        line for line in block.splitlines(keepends=True) if NAME not in line and not COMPONENT.match(line)
    ]
    at = lines.index("  labels:\n")
    own = f'    {{{{- include "fusioninfer.labels" (list $ "{component}") | nindent 4 }}}}\n'
    common = f'  {{{{- include "fusioninfer.annotations" (list $ {annotations}) }}}}\n'
    return "".join(("metadata:\n", *lines[: at + 1], own, *lines[at + 1 :], common))


def _of_pods(indent: str, component: str) -> str:
    labels = f'{{{{- include "fusioninfer.podLabels" (list $ "{component}") | nindent {len(indent) + 4} }}}}'
    annotations = f'{{{{- include "fusioninfer.podAnnotations" $ | nindent {len(indent) + 4} }}}}'
    return (
        f"{indent}metadata:\n{indent}  labels:\n{indent}    {labels}\n"
        f"{indent}  annotations:\n{indent}    {annotations}\n"
    )
