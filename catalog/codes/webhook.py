"""The webhook itself."""

from typing import Final

from catalog.codes.code import Code

ROWS: Final[dict[str, Code]] = {
    "FI901": Code(
        "error",
        "the record of what was added cannot be read",
        "remove the annotation fusioninfer.io/expansion: all stays as it is, and nothing restarts; "
        "then kubectl replace it with your own file to have it expanded by this release",
        "the annotation was edited or cut off, or is of a later release",
    ),
    "FI902": Code(
        "error",
        "the mutating webhook did not run",
        "check MutatingWebhookConfiguration mutate.fusioninfer.io, then apply again",
        "the webhook was not there when the object was written, or its configuration does not match it",
    ),
    "FI903": Code(
        "error",
        "the annotations have no room for the record",
        "remove other annotations, or move long scripts into a ConfigMap; together they may hold 256 KiB",
        "Kubernetes allows 256 KiB of annotations on one object; other annotations take most of it, "
        "or command and args, which the record holds, are that long",
    ),
    "FI904": Code(
        "error",
        "the object is larger than admission reads",
        "have fewer of what the message counts, for example a script in a ConfigMap;"
        " or have the object left alone with fusioninfer.io/inject: disabled",
        "a limit of docs/edge.md: one process answers for all, so what one object may cost is bounded",
    ),
    "FI905": Code(
        "error",
        "a file, or a document in it, cannot be read",
        "write it as YAML or JSON, as the message says; of a Helm chart pass the output of helm template",
        "the file is not there or not readable, is a template that was not rendered, or holds no object",
    ),
}
