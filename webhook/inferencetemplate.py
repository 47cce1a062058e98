"""Check an InferenceTemplate as it is written. What it does to a service is checked with the service."""

from intent import Object
from intent.annotations import INJECT
from intent.errors import FieldError, ratcheted
from intent.inferencetemplate.rules import findings
from intent.settings import Settings
from intent.shapes import annotations, metadata
from webhook.expand import DEFAULTS


def check(live: Object, old: Object | None = None, _settings: Settings = DEFAULTS) -> list[FieldError]:
    """Return the findings, errors first; an error that the old object had too becomes a warning."""
    if annotations(live).get(INJECT) == "disabled" or metadata(live).get("deletionTimestamp"):
        return []
    errors = ratcheted(list(findings(live)), lambda: () if old is None else findings(old))
    return sorted(errors, key=lambda finding: finding.severity != "error")
