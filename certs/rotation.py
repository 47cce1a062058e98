"""Rotate the CA and the serving certificate, given the stored ones and the time. Pure but for key generation.

Rules of this file:
- A new CA is issued long before the previous one expires, and the previous one stays trusted until it does,
  so clients accept webhooks that still serve an older certificate.
- Only the newest CA's key is kept. Without that key a new CA is issued, so deleting the key requests a new
  CA.
- Nothing here reads the clock. The order of trusting and serving is up to `server.certificates`.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from certs.issue import Pair, issue_ca, issue_serving, names_of


@dataclass(frozen=True, slots=True)
class Terms:
    """Validity of the CA and of serving certificates; each is replaced when a third of it is left."""

    ca: timedelta = timedelta(days=365)
    serving: timedelta = timedelta(days=30)
    backdate: timedelta = timedelta(hours=1)
    """How long before its issue a certificate becomes valid, as clocks differ."""


@dataclass(frozen=True, slots=True)
class Kept:
    """The trusted CA certificates (PEM), the first one's key, and the serving certificate.

    The first is the newest.
    """

    ca_certificates: tuple[bytes, ...] = ()
    key: bytes = b""
    serving: Pair | None = None

    @property
    def bundle(self) -> bytes:
        """All trusted CA certificates as one PEM text."""
        return b"".join(self.ca_certificates)


def with_ca(kept: Kept, now: datetime, terms: Terms) -> Kept:
    """Drop expired CAs, and issue a new one if the newest cannot sign, or must soon be replaced."""
    valid = tuple(one for one in kept.ca_certificates if _is_valid(one, now))
    if valid and kept.ca_certificates[0] == valid[0] and _may_sign(kept, now, terms):
        return replace(kept, ca_certificates=valid)
    new = issue_ca("fusioninfer", now - terms.backdate, now + terms.ca)
    return replace(kept, ca_certificates=(new.certificate, *valid), key=new.key)


def adopted(trusted: Iterable[bytes], now: datetime, terms: Terms) -> Kept:
    """Adopt the CAs that webhook configurations trust, where the Secret was lost.

    Running webhooks may still serve a certificate of theirs. A CA that lasts longer than `terms.ca` was not
    issued here, and is left out.
    """
    ours = [one for one in trusted if _is_valid(one, now) and not_after(one) <= now + terms.ca]
    return Kept(tuple(sorted(ours, key=not_after, reverse=True)))


def with_serving(kept: Kept, hosts: Collection[str], now: datetime, terms: Terms) -> Kept:
    """Issue a serving certificate unless there is one of the newest CA for `hosts` that lasts long enough."""
    if kept.serving and _is_fresh(kept.serving, kept.ca_certificates[0], hosts, now + terms.serving / 3):
        return kept
    signer = Pair(kept.ca_certificates[0], kept.key)
    return replace(
        kept, serving=issue_serving(signer, sorted(hosts), now - terms.backdate, now + terms.serving)
    )


def is_trusted(kept: Kept, now: datetime) -> bool:
    """Return whether the serving certificate is valid and signed by a valid CA of the bundle."""
    if kept.serving is None or not _is_valid(kept.serving.certificate, now):
        return False
    return any(
        _is_signed(kept.serving.certificate, one) for one in kept.ca_certificates if _is_valid(one, now)
    )


def not_after(certificate: bytes) -> datetime:
    """Return the expiry of a certificate (PEM)."""
    return x509.load_pem_x509_certificate(certificate).not_valid_after_utc


def _may_sign(kept: Kept, now: datetime, terms: Terms) -> bool:
    newest = x509.load_pem_x509_certificate(kept.ca_certificates[0])
    lasts = now + terms.ca / 3 < newest.not_valid_after_utc
    return lasts and _is_key_of(kept.key, newest)


def _is_fresh(pair: Pair, signer: bytes, hosts: Collection[str], until: datetime) -> bool:
    """Return whether a serving certificate is of this CA and for these hosts, and valid beyond `until`."""
    certificate = x509.load_pem_x509_certificate(pair.certificate)
    return (
        until < certificate.not_valid_after_utc
        and _is_signed(pair.certificate, signer)
        and _is_key_of(pair.key, certificate)
        and set(hosts) == names_of(certificate)
    )


def _is_valid(certificate: bytes, now: datetime) -> bool:
    read = x509.load_pem_x509_certificate(certificate)
    return read.not_valid_before_utc <= now < read.not_valid_after_utc


def _is_signed(certificate: bytes, signer: bytes) -> bool:
    try:
        x509.load_pem_x509_certificate(certificate).verify_directly_issued_by(
            x509.load_pem_x509_certificate(signer)
        )
    except Exception:  # noqa: BLE001 - every cause has an exception type of its own
        return False
    return True


def _is_key_of(key: bytes, certificate: x509.Certificate) -> bool:
    """Return whether a private key (PEM) is the certificate's, and of the kind issued here."""
    try:
        read = load_pem_private_key(key, None)
    except (ValueError, TypeError, UnsupportedAlgorithm):  # no key, an encrypted one, one of an unknown kind
        return False
    return isinstance(read, EllipticCurvePrivateKey) and read.public_key() == certificate.public_key()
