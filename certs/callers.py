"""Who calls: the names in a client certificate, as `ssl` reads it."""

from collections.abc import Mapping
from typing import Any


def is_one_of(names: frozenset[str], certificate: Mapping[str, Any] | None) -> bool:
    """Whether a certificate carries one of these names: its common name, or a DNS name.

    No names: whoever could shake hands. A certificate that nobody verified is None, or empty.
    """
    return not names or not names.isdisjoint(_names(certificate or {}))


def _names(certificate: Mapping[str, Any]) -> set[str]:
    common = {value for part in certificate.get("subject", ()) for key, value in part if key == "commonName"}
    return common | {value for kind, value in certificate.get("subjectAltName", ()) if kind == "DNS"}
