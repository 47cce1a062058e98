"""Findings about templates."""

from typing import Final

from catalog.codes.code import Code, Error, Warn

ROWS: Final[dict[str, Code]] = {
    "FI950": Error(
        "a variable of a template has no value",
        "correct its name, set the field that the message names, or write a default: `$(NAME|default)`",
    ),
    "FI951": Error(
        "a template is not there, or cannot be read",
        "apply the InferenceTemplate that the message names, or correct `base-refs`",
    ),
    "FI952": Error(
        "a template, or the templates of an object together, are too large",
        "name fewer in `base-refs`, split them, or move scripts and configuration into ConfigMaps",
        "services keep the content of their templates, and an object has room for a limited amount",
    ),
    "FI953": Error(
        "no container has the name of a template's",
        "give the container of the engine the same name in the template and in the object",
        "the template's container is `vllm` and the object's is `main`: both would run in one pod",
    ),
    "FI954": Error(
        "a template has a field that is not valid",
        "correct the field of the InferenceTemplate that the message names",
    ),
    "FI977": Warn(
        "routes wait for templates",
        "create the InferenceTemplate, correct `baseRefs`, or switch templates on; existing routes stay",
        event="TemplatesNotKnown",
    ),
}
