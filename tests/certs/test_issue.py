"""Issued certificates: their fields, their verification, and their files."""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from certs import issue

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(days=30)
CA = issue.issue_ca("test", NOW, LATER)


def serving(*hosts: str) -> x509.Certificate:
    return x509.load_pem_x509_certificate(issue.issue_serving(CA, hosts, NOW, LATER).certificate)


def verify(certificate: x509.Certificate, host: str, when: datetime = NOW) -> None:
    store = Store([x509.load_pem_x509_certificate(CA.certificate)])
    PolicyBuilder().store(store).time(when).build_server_verifier(x509.DNSName(host)).verify(certificate, [])


def test_a_certificate_verifies_for_its_host_until_it_expires() -> None:
    made = serving("webhook.system.svc")

    verify(made, "webhook.system.svc")
    for host, when in (("other.system.svc", NOW), ("webhook.system.svc", LATER + timedelta(seconds=1))):
        with pytest.raises(VerificationError):
            verify(made, host, when)
    assert (made.not_valid_before_utc, made.not_valid_after_utc) == (NOW, LATER)


def test_addresses_and_names_are_distinguished() -> None:
    names = serving("127.0.0.1", "::1", "localhost").extensions.get_extension_for_class(
        x509.SubjectAlternativeName
    )

    assert [ip_address("127.0.0.1"), ip_address("::1")] == names.value.get_values_for_type(x509.IPAddress)
    assert names.value.get_values_for_type(x509.DNSName) == ["localhost"]


@pytest.mark.parametrize(
    "pair", [CA, issue.issue_serving(CA, ["a"], NOW, LATER)], ids=["CA", "serving certificate"]
)
def test_keys_are_p256(pair: issue.Pair) -> None:
    key = load_pem_private_key(pair.key, None)

    assert isinstance(key, ec.EllipticCurvePrivateKey)
    assert key.curve.name == "secp256r1"


def test_a_serving_certificate_cannot_sign() -> None:
    constraints = serving("a").extensions.get_extension_for_class(x509.BasicConstraints)

    assert (constraints.value.ca, constraints.critical) == (False, True)


def test_two_certificates_share_neither_key_nor_serial_number() -> None:
    one, other = serving("a"), serving("a")

    assert one.serial_number != other.serial_number
    assert one.public_key() != other.public_key()
