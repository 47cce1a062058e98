"""Read the certificates of the webhook: its serving certificate, and the CA bundles that must trust it."""

import binascii
from base64 import b64decode
from datetime import datetime
from itertools import pairwise

from cryptography import x509
from cryptography.exceptions import InvalidSignature

Certificates = tuple[x509.Certificate, ...]


def read(encoded: str) -> Certificates:
    """Read certificates as `caBundle` and Secrets have them; none if they cannot be read."""
    try:
        return tuple(x509.load_pem_x509_certificates(b64decode(encoded)))
    except (ValueError, binascii.Error):
        return ()


def is_trusted(chain: Certificates, roots: Certificates) -> bool:
    """Return whether the roots trust a serving certificate, directly or by the intermediates behind it."""
    for position, certificate in enumerate(chain):
        if any(certificate == root or _signed(certificate, root) for root in roots):
            return all(_signed(*pair) for pair in pairwise(chain[: position + 1]))
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
