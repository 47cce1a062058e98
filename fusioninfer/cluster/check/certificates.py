"""Read the certificates of the webhook: its serving certificate, and the CA bundles that must trust it."""

import binascii
from base64 import b64decode
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature

from intent import Object
from intent.shapes import mapping, text

DEPTH: Final = 4
"""The most intermediate certificates that are followed."""


@dataclass(frozen=True, slots=True)
class Chain:
    """The serving certificate with its intermediates, or why they cannot be read."""

    certificates: tuple[x509.Certificate, ...] = ()
    problem: str = ""

    @property
    def leaf(self) -> x509.Certificate:
        """The serving certificate."""
        return self.certificates[0]


def chain_of(secret: Object) -> Chain:
    """Read `tls.crt` of a Secret."""
    encoded = text(mapping(secret.get("data")).get("tls.crt"))
    return Chain(problem="tls.crt is missing") if not encoded else _chain(encoded, "tls.crt")


def bundle_of(webhook: Object) -> Chain:
    """Read `caBundle` of a webhook."""
    encoded = text(mapping(webhook.get("clientConfig")).get("caBundle"))
    return Chain(problem="caBundle is empty") if not encoded else _chain(encoded, "caBundle")


def _chain(encoded: str, field: str) -> Chain:
    try:
        return Chain(tuple(x509.load_pem_x509_certificates(b64decode(encoded))))
    except (ValueError, binascii.Error):
        return Chain(problem=f"{field} is not a PEM certificate")


def is_trusted(chain: Chain, roots: Chain) -> bool:
    """Return whether a certificate of the roots has signed the leaf, directly or by intermediates."""
    current = chain.leaf
    for _ in range(DEPTH):
        if any(current == root or _signed(current, root) for root in roots.certificates):
            return True
        issuer = next((one for one in chain.certificates[1:] if _signed(current, one)), None)
        if issuer is None or issuer == current:
            return False
        current = issuer
    return False


def _signed(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(issuer)
    except (InvalidSignature, ValueError, TypeError):
        return False
    return True


def days_left(certificate: x509.Certificate, now: datetime) -> float:
    """Return the days until a certificate expires; negative if it has."""
    return (certificate.not_valid_after_utc - now).total_seconds() / 86400


def has_name(certificate: x509.Certificate, name: str) -> bool:
    """Return whether a certificate is valid for a DNS name."""
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return False
    return name in names.get_values_for_type(x509.DNSName)
