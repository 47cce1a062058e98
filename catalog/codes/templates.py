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
}
