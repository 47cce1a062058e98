"""Rotation of the CA and of the serving certificate, over years of simulated time."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from certs import issue
from certs.rotation import Kept, Terms, is_trusted, not_after, with_ca, with_serving

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
TERMS = Terms()
HOSTS = {"webhook.system.svc", "127.0.0.1"}


def kept_at(now: datetime, before: Kept | None = None) -> Kept:
    """Return the certificates after a reconcile whose CA was trusted at once."""
    return with_serving(with_ca(before or Kept(), now, TERMS), HOSTS, now, TERMS)


def verifies(serving: issue.Pair, bundle: bytes, now: datetime) -> bool:
    """Return whether a bundle verifies a serving certificate."""
    store = Store(x509.load_pem_x509_certificates(bundle))
    verifier = (
        PolicyBuilder().store(store).time(now).build_server_verifier(x509.DNSName("webhook.system.svc"))
    )
    try:
        verifier.verify(x509.load_pem_x509_certificate(serving.certificate), [])
    except VerificationError:
        return False
    return True


def serving_of(kept: Kept) -> issue.Pair:
    assert kept.serving is not None
    return kept.serving


# The CA


def test_a_ca_lasts_a_year_and_verifies_the_serving_certificate_by_a_clock_an_hour_late() -> None:
    kept = kept_at(NOW)

    assert not_after(kept.ca_certificates[0]) == NOW + 365 * DAY
    assert verifies(serving_of(kept), kept.bundle, NOW)
    assert verifies(serving_of(kept), kept.bundle, NOW - timedelta(minutes=59))


@pytest.mark.parametrize(("days", "count"), [(0, 1), (243, 1), (244, 2), (364, 2), (365, 1)])
def test_two_cas_overlap_in_the_last_third_of_the_older_one(days: int, count: int) -> None:
    kept = kept_at(NOW)
    if days >= 244:
        kept = kept_at(NOW + 244 * DAY, kept)

    kept = with_ca(kept, NOW + days * DAY, TERMS)

    assert len(kept.ca_certificates) == count


def test_a_certificate_of_the_older_ca_verifies_until_it_expires() -> None:
    before = kept_at(NOW + 240 * DAY, kept_at(NOW))

    after = kept_at(NOW + 244 * DAY, before)

    assert before.ca_certificates[0] != after.ca_certificates[0]
    assert verifies(serving_of(before), after.bundle, NOW + 269 * DAY)
    assert verifies(serving_of(after), after.ca_certificates[0], NOW + 244 * DAY)
    assert not verifies(serving_of(after), before.bundle, NOW + 244 * DAY)


def test_a_key_of_another_ca_is_not_used() -> None:
    kept, other = kept_at(NOW), kept_at(NOW)

    after = with_ca(replace(kept, key=other.key), NOW, TERMS)

    assert after.key not in {kept.key, other.key}


def test_a_ca_that_is_not_valid_yet_is_replaced() -> None:
    kept = with_ca(kept_at(NOW + DAY), NOW, TERMS)

    assert NOW + TERMS.ca == not_after(kept.ca_certificates[0])


# The serving certificate


@pytest.mark.parametrize(("days", "stays"), [(1, True), (19, True), (20, False), (40, False)])
def test_a_certificate_is_replaced_when_a_third_of_its_month_is_left(*, days: int, stays: bool) -> None:
    kept = kept_at(NOW)

    after = kept_at(NOW + days * DAY, kept)

    assert (after.serving == kept.serving) == stays


def test_a_certificate_never_outlives_its_ca() -> None:
    kept = Kept()
    for day in range(0, 800, 5):
        kept = kept_at(NOW + day * DAY, kept)

        assert not_after(serving_of(kept).certificate) <= not_after(kept.ca_certificates[0])


@pytest.mark.parametrize("hosts", [{"webhook.system.svc"}, {*HOSTS, "another.system.svc"}])
def test_a_certificate_with_other_names_is_replaced(hosts: set[str]) -> None:
    kept = kept_at(NOW)

    after = with_serving(kept, hosts, NOW, TERMS)

    assert kept.serving != after.serving


def test_a_certificate_without_its_key_is_replaced() -> None:
    kept = kept_at(NOW)

    after = kept_at(NOW, replace(kept, serving=issue.Pair(serving_of(kept).certificate, b"")))

    assert is_trusted(after, NOW)
    assert serving_of(after).key


def test_nothing_changes_while_nothing_is_due() -> None:
    kept = kept_at(NOW)

    assert kept == kept_at(NOW + DAY, kept)


# Foreign certificates


def rsa_pair() -> issue.Pair:
    """Return a self-signed RSA certificate without alternative names, and its key."""
    key, name = rsa.generate_private_key(65537, 2048), x509.Name([])
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), 1, NOW - DAY, NOW + 365 * DAY)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, SHA256())
    )
    return issue.Pair(certificate.public_bytes(Encoding.PEM), pem(key))


def pem(key: rsa.RSAPrivateKey, lock: KeySerializationEncryption | None = None) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, lock or NoEncryption())


KEPT: Final = kept_at(NOW)
RSA: Final = rsa_pair()
LOCKED: Final = pem(rsa.generate_private_key(65537, 2048), BestAvailableEncryption(b"secret"))


@pytest.mark.parametrize(
    "stored",
    [replace(KEPT, key=b""), replace(KEPT, key=LOCKED), Kept((RSA.certificate,), RSA.key)],
    ids=["no key", "an encrypted key", "RSA"],
)
def test_a_ca_that_cannot_sign_is_replaced_and_stays_trusted(stored: Kept) -> None:
    assert with_ca(stored, NOW + DAY, TERMS).ca_certificates[1:] == stored.ca_certificates


def test_a_certificate_without_names_is_replaced() -> None:
    kept = kept_at(NOW, replace(kept_at(NOW), serving=rsa_pair()))

    assert verifies(serving_of(kept), kept.bundle, NOW)


# Whether it is trusted


@pytest.mark.parametrize(
    ("kept", "days", "trusted"),
    [
        (KEPT, 29, True),
        (KEPT, 30, False),
        (with_ca(Kept(), NOW, TERMS), 0, False),
        (replace(kept_at(NOW), serving=KEPT.serving), 0, False),
    ],
    ids=["in time", "expired", "no certificate", "of an unknown CA"],
)
def test_a_certificate_of_the_ca_is_trusted_until_it_expires(kept: Kept, days: int, *, trusted: bool) -> None:
    assert is_trusted(kept, NOW + days * DAY) == trusted
