"""Findings about templates."""

from typing import Final

from catalog.codes.code import Code

ROWS: Final[dict[str, Code]] = {
    "FI950": Code(
        "error",
        "a variable of a template has no value",
        "correct its name, set the field that the message names, or write a default: `$(NAME|default)`",
        "a template is used by a service without a model or parallelism, or a name is misspelt",
    ),
    "FI951": Code(
        "error",
        "a template is not there, or cannot be read",
        "apply the InferenceTemplate that the message names, or correct `base-refs`; on a dry run this is a "
        "warning",
        "a template is misspelt, is in another namespace, or is applied after the service",
    ),
    "FI952": Code(
        "error",
        "templates are too large together",
        "name fewer templates in `base-refs`, or move long scripts and configuration into ConfigMaps",
        "services keep the content of their templates, and an object has room for a limited amount",
    ),
    "FI953": Code(
        "error",
        "no container has the name of a template's",
        "give the container of the engine the same name in the template and in the object",
        "the template's container is `vllm` and the object's is `main`: both would run in one pod",
    ),
    "FI954": Code(
        "error",
        "a template has a field that cannot be merged",
        "correct the field of the InferenceTemplate that the message names",
        "the template was stored before its rules, or comes from a file",
    ),
}
