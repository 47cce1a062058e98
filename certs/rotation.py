"""Which authorities are trusted and which leaf is served, given what there is and the time.

Rules of this file:
- An authority comes long before the one before it ends, and is trusted until its own end: whoever still
  serves a leaf of the older one is believed.
- Only the newest authority has its key kept. Without that key, a new authority comes: to take the key
  away is to ask for one.
- Nothing here reads the clock; who trusts first and serves then is `certs.keep`.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509.oid import ExtensionOID

from certs.issue import Pair, issue_ca, issue_serving


@dataclass(frozen=True, slots=True)
class Terms:
    """How long things last. Each is replaced when a third of its time is left."""

    ca: timedelta = timedelta(days=365)
    serving: timedelta = timedelta(days=30)
    backdate: timedelta = timedelta(hours=1)
    """How long before now a certificate begins: not every clock is right."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept: the trusted authorities (PEM, newest first), the key of the newest, and the leaf."""

    ca_certificates: tuple[bytes, ...] = ()
    key: bytes = b""
    serving: Pair | None = None

    @property
    def bundle(self) -> bytes:
        """Every authority that is trusted, as one PEM text."""
        return b"".join(self.ca_certificates)


def with_ca(kept: Kept, now: datetime, terms: Terms) -> Kept:
    """Keep what is still valid, with an authority that may sign now: a new one if the newest may not."""
    valid = tuple(one for one in kept.ca_certificates if _is_valid(one, now))
    if valid and kept.ca_certificates[0] == valid[0] and _may_sign(kept, now, terms):
        return replace(kept, ca_certificates=valid)
    new = issue_ca("fusioninfer", now - terms.backdate, now + terms.ca)
    return replace(kept, ca_certificates=(new.certificate, *valid), key=new.key)


def found(trusted: Iterable[bytes], now: datetime, terms: Terms) -> Kept:
    """Keep what was trusted though nothing is kept: whoever serves a leaf of before is still believed.

    What lasts longer than an authority of ours was put there by somebody else, and goes.
    """
    ours = [one for one in trusted if _is_valid(one, now) and ends(one) <= now + terms.ca]
    return Kept(tuple(sorted(ours, key=ends, reverse=True)))


def with_serving(kept: Kept, hosts: Collection[str], now: datetime, terms: Terms) -> Kept:
    """Keep the leaf if it is the newest authority's, names `hosts` and lasts; else issue one."""
    if kept.serving and _is_fresh(kept.serving, kept.ca_certificates[0], hosts, now + terms.serving / 3):
        return kept
    signer = Pair(kept.ca_certificates[0], kept.key)
    return replace(
        kept, serving=issue_serving(signer, sorted(hosts), now - terms.backdate, now + terms.serving)
    )


def is_served(kept: Kept, now: datetime) -> bool:
    """Whether there is a leaf that those who trust the authorities believe."""
    if kept.serving is None or not _is_valid(kept.serving.certificate, now):
        return False
    return any(
        _is_signed(kept.serving.certificate, one) for one in kept.ca_certificates if _is_valid(one, now)
    )


def ends(certificate: bytes) -> datetime:
    """Tell when a certificate ends."""
    return x509.load_pem_x509_certificate(certificate).not_valid_after_utc


def _may_sign(kept: Kept, now: datetime, terms: Terms) -> bool:
    newest = x509.load_pem_x509_certificate(kept.ca_certificates[0])
    lasts = now + terms.ca / 3 < newest.not_valid_after_utc
    return lasts and _is_key_of(kept.key, newest)


def _is_fresh(pair: Pair, signer: bytes, hosts: Collection[str], until: datetime) -> bool:
    """Whether a leaf needs no successor until then, nor for another reason."""
    certificate = x509.load_pem_x509_certificate(pair.certificate)
    return (
        until < certificate.not_valid_after_utc
        and _is_signed(pair.certificate, signer)
        and _is_key_of(pair.key, certificate)
        and set(hosts) == _names(certificate)
    )


def _is_valid(certificate: bytes, now: datetime) -> bool:
    read = x509.load_pem_x509_certificate(certificate)
    return read.not_valid_before_utc <= now < read.not_valid_after_utc


def _is_signed(certificate: bytes, signer: bytes) -> bool:
    try:
        x509.load_pem_x509_certificate(certificate).verify_directly_issued_by(
            x509.load_pem_x509_certificate(signer)
        )
    except Exception:  # noqa: BLE001 - each way in which it is not so has a type of its own
        return False
    return True


def _is_key_of(key: bytes, certificate: x509.Certificate) -> bool:
    """Whether it is, and of the kind that we issue."""
    try:
        read = load_pem_private_key(key, None)
    except (ValueError, TypeError, UnsupportedAlgorithm):  # no key, a locked one, one of a kind unheard of
        return False
    return isinstance(read, EllipticCurvePrivateKey) and read.public_key() == certificate.public_key()


def _names(certificate: x509.Certificate) -> set[str]:
    """Read the names of a certificate that we issued: those have some."""
    names = certificate.extensions.get_extension_for_oid(ExtensionOID.SUBJECT_ALTERNATIVE_NAME).value
    if not isinstance(names, x509.SubjectAlternativeName):
        raise TypeError("subjectAltName was not read as one")
    addresses = names.get_values_for_type(x509.IPAddress)
    return {*names.get_values_for_type(x509.DNSName), *map(str, addresses)}
