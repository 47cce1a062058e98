"""Findings about annotations, and about fields of the wrong type."""

from typing import Final

from catalog.codes.code import Code, Error

ROWS: Final[dict[str, Code]] = {
    "FI102": Error(
        "unknown annotation under fusioninfer.io/",
        "use one of the documented keys; the message names the nearest",
    ),
    "FI103": Error(
        "annotations under fusioninfer.io/ without a service",
        "add fusioninfer.io/service, or remove the other keys",
    ),
    "FI104": Error(
        "an annotation, or the field in its place, has a value that is not valid",
        "write it as the message says; docs/annotations.md and docs/model.md have the values",
    ),
    "FI107": Error(
        "a reserved label has an unexpected value",
        "remove the label, or change the annotation from which it is derived",
    ),
    "FI108": Error(
        "a field has the wrong type",
        "write the type that the LeaderWorkerSet API defines for the field",
    ),
    "FI109": Error(
        "a name is too long for the names derived from it",
        "shorten the name to the limit in the message",
    ),
    "FI112": Error(
        "an annotation about the model has no effect",
        "remove it, or change the URI of the model",
    ),
    "FI116": Error(
        "an annotation that configures the engine has no effect",
        "write a plain command of vLLM or SGLang, or the engine's own flags in place of the annotation",
    ),
    "FI117": Error(
        "an argument contradicts the annotation parallelism",
        "remove the argument, or its size from the annotation",
    ),
    "FI124": Error(
        "an argument contradicts the annotation lora",
        "remove the argument, or write in it what the annotation says",
    ),
    "FI125": Error(
        "an adapter has the name of the model",
        "rename the adapter, or serve the model under another name",
    ),
}
