"""Findings about the record, and about limits of the webhook."""

from typing import Final

from catalog.codes.code import Code, Error

ROWS: Final[dict[str, Code]] = {
    "FI901": Error(
        "the record of the expansion cannot be read",
        "remove fusioninfer.io/expansion; to expand the object again, kubectl replace it with your file",
        "the annotation was edited or truncated, or was written by a later release",
    ),
    "FI902": Error(
        "the mutating webhook did not run",
        "check MutatingWebhookConfiguration mutate.fusioninfer.io, then apply again",
        "the webhook was not installed when the object was written, or its configuration does not match",
    ),
    "FI903": Error(
        "the annotations leave no space for the record",
        "remove other annotations, or move long scripts into a ConfigMap; all have 256 KiB",
    ),
    "FI904": Error(
        "the object is larger than admission reads",
        "reduce what the message counts, or bypass the webhooks with fusioninfer.io/inject: disabled",
        "the object is over a limit of docs/webhook.md, which bounds the cost of one object for all tenants",
        event="ObjectOverBudget",
    ),
    "FI905": Error(
        "a file, or a document in it, cannot be read",
        "write it as YAML or JSON; for a Helm chart pass the output of helm template",
    ),
}
