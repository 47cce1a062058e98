"""Which authorities are trusted and which leaf is served, through years that pass in no time."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

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
from certs.rotation import Kept, Terms, ends, is_served, with_ca, with_serving

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
TERMS = Terms()
HOSTS = {"webhook.system.svc", "127.0.0.1"}


def kept_at(now: datetime, before: Kept | None = None) -> Kept:
    """Return what is kept after a look whose authority was trusted at once."""
    return with_serving(with_ca(before or Kept(), now, TERMS), HOSTS, now, TERMS)


def is_believed(leaf: issue.Pair, bundle: bytes, now: datetime) -> bool:
    """Whether somebody who trusts a bundle believes a leaf."""
    store = Store(x509.load_pem_x509_certificates(bundle))
    verifier = (
        PolicyBuilder().store(store).time(now).build_server_verifier(x509.DNSName("webhook.system.svc"))
    )
    try:
        verifier.verify(x509.load_pem_x509_certificate(leaf.certificate), [])
    except VerificationError:
        return False
    return True


def leaf_of(kept: Kept) -> issue.Pair:
    assert kept.serving is not None
    return kept.serving


# The authority


def test_the_first_look_makes_an_authority_and_a_leaf_that_it_vouches_for() -> None:
    kept = kept_at(NOW)

    assert is_believed(leaf_of(kept), kept.bundle, NOW)


def test_a_year_is_what_an_authority_lasts() -> None:
    assert ends(kept_at(NOW).ca_certificates[0]) == NOW + 365 * DAY


def test_a_clock_that_is_an_hour_late_believes_the_leaf() -> None:
    kept = kept_at(NOW)

    assert is_believed(leaf_of(kept), kept.bundle, NOW - timedelta(minutes=59))


@pytest.mark.parametrize(("days", "count"), [(0, 1), (243, 1), (244, 2), (364, 2), (365, 1)])
def test_authorities_overlap_from_the_last_third_to_the_end(days: int, count: int) -> None:
    kept = kept_at(NOW)
    if days >= 244:
        kept = kept_at(NOW + 244 * DAY, kept)

    kept = with_ca(kept, NOW + days * DAY, TERMS)

    assert len(kept.ca_certificates) == count


def test_a_leaf_of_the_older_authority_is_believed_while_it_lasts() -> None:
    before = kept_at(NOW + 240 * DAY, kept_at(NOW))

    after = kept_at(NOW + 244 * DAY, before)

    assert before.ca_certificates[0] != after.ca_certificates[0]
    assert is_believed(leaf_of(before), after.bundle, NOW + 269 * DAY)


def test_whoever_trusts_only_the_older_authority_believes_no_new_leaf() -> None:
    before = kept_at(NOW)

    after = kept_at(NOW + 244 * DAY, before)

    assert not is_believed(leaf_of(after), before.bundle, NOW + 244 * DAY)


def test_without_its_key_an_authority_gets_a_successor_and_stays_trusted() -> None:
    kept = kept_at(NOW)

    after = with_ca(replace(kept, key=b""), NOW + DAY, TERMS)

    assert after.ca_certificates[1:] == kept.ca_certificates


def test_the_key_of_another_is_no_key() -> None:
    kept, other = kept_at(NOW), kept_at(NOW)

    after = with_ca(replace(kept, key=other.key), NOW, TERMS)

    assert after.key not in {kept.key, other.key}


def test_an_authority_of_the_future_is_replaced() -> None:
    kept = with_ca(kept_at(NOW + DAY), NOW, TERMS)

    assert NOW + TERMS.ca == ends(kept.ca_certificates[0])


# The leaf


@pytest.mark.parametrize(("days", "stays"), [(1, True), (19, True), (20, False), (40, False)])
def test_a_leaf_is_replaced_when_a_third_of_its_month_is_left(*, days: int, stays: bool) -> None:
    kept = kept_at(NOW)

    after = kept_at(NOW + days * DAY, kept)

    assert (after.serving == kept.serving) == stays


def test_a_leaf_never_outlives_its_authority() -> None:
    kept = Kept()
    for day in range(0, 800, 5):
        kept = kept_at(NOW + day * DAY, kept)

        assert ends(leaf_of(kept).certificate) <= ends(kept.ca_certificates[0])


@pytest.mark.parametrize("hosts", [{"webhook.system.svc"}, {*HOSTS, "another.system.svc"}])
def test_a_leaf_with_other_names_is_replaced(hosts: set[str]) -> None:
    kept = kept_at(NOW)

    after = with_serving(kept, hosts, NOW, TERMS)

    assert kept.serving != after.serving


def test_a_leaf_without_its_key_is_replaced() -> None:
    kept = kept_at(NOW)

    after = kept_at(NOW, replace(kept, serving=issue.Pair(leaf_of(kept).certificate, b"")))

    assert is_served(after, NOW)
    assert leaf_of(after).key


def test_a_leaf_of_the_older_authority_is_replaced() -> None:
    kept = kept_at(NOW + 240 * DAY, kept_at(NOW))

    after = kept_at(NOW + 244 * DAY, kept)

    assert is_believed(leaf_of(after), after.ca_certificates[0], NOW + 244 * DAY)


def test_nothing_changes_while_nothing_is_due() -> None:
    kept = kept_at(NOW)

    assert kept == kept_at(NOW + DAY, kept)


# What somebody else put there


def rsa_pair() -> issue.Pair:
    """Make a certificate without alternative names, which signs itself, and its key."""
    key, name = rsa.generate_private_key(65537, 2048), x509.Name([])
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), 1, NOW - DAY, NOW + 365 * DAY)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, SHA256())
    )
    return issue.Pair(certificate.public_bytes(Encoding.PEM), pem(key))


def pem(key: rsa.RSAPrivateKey, lock: KeySerializationEncryption | None = None) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, lock or NoEncryption())


def test_an_authority_of_another_kind_signs_nothing() -> None:
    other = rsa_pair()

    kept = with_ca(Kept((other.certificate,), other.key), NOW, TERMS)

    assert kept.ca_certificates[1:] == (other.certificate,)


def test_a_leaf_without_names_is_replaced() -> None:
    kept = kept_at(NOW, replace(kept_at(NOW), serving=rsa_pair()))

    assert is_believed(leaf_of(kept), kept.bundle, NOW)


def test_a_locked_key_signs_nothing() -> None:
    locked = pem(rsa.generate_private_key(65537, 2048), BestAvailableEncryption(b"secret"))
    kept = replace(kept_at(NOW), key=locked)

    assert with_ca(kept, NOW, TERMS).ca_certificates[1:] == kept.ca_certificates


# What is believed


def test_without_a_leaf_nothing_is_served() -> None:
    assert not is_served(with_ca(Kept(), NOW, TERMS), NOW)


@pytest.mark.parametrize(("days", "served"), [(29, True), (30, False)])
def test_a_leaf_is_served_until_its_end(*, days: int, served: bool) -> None:
    assert is_served(kept_at(NOW), NOW + days * DAY) == served


def test_a_leaf_of_an_authority_that_nobody_trusts_is_not_served() -> None:
    kept = replace(kept_at(NOW), serving=kept_at(NOW).serving)

    assert not is_served(kept, NOW)
