"""What an issued certificate says, who trusts it, and how it lies on disk."""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from certs import issue

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(days=30)
CA = issue.issue_ca("test", NOW, LATER)


def leaf(*hosts: str) -> x509.Certificate:
    return x509.load_pem_x509_certificate(issue.issue_serving(CA, hosts, NOW, LATER).certificate)


def verify(certificate: x509.Certificate, host: str, when: datetime = NOW) -> None:
    store = Store([x509.load_pem_x509_certificate(CA.certificate)])
    PolicyBuilder().store(store).time(when).build_server_verifier(x509.DNSName(host)).verify(certificate, [])


def test_a_leaf_is_trusted_for_its_host() -> None:
    verify(leaf("webhook.system.svc"), "webhook.system.svc")


def test_a_leaf_is_not_trusted_for_another_host() -> None:
    with pytest.raises(VerificationError):
        verify(leaf("webhook.system.svc"), "other.system.svc")


def test_a_leaf_is_not_trusted_after_its_end() -> None:
    with pytest.raises(VerificationError):
        verify(leaf("webhook.system.svc"), "webhook.system.svc", LATER + timedelta(seconds=1))


def test_the_dates_are_those_that_were_asked_for() -> None:
    certificate = leaf("a")

    assert (certificate.not_valid_before_utc, certificate.not_valid_after_utc) == (NOW, LATER)


def test_addresses_and_names_are_told_apart() -> None:
    names = leaf("127.0.0.1", "::1", "localhost").extensions.get_extension_for_class(
        x509.SubjectAlternativeName
    )

    assert [ip_address("127.0.0.1"), ip_address("::1")] == names.value.get_values_for_type(x509.IPAddress)
    assert names.value.get_values_for_type(x509.DNSName) == ["localhost"]


@pytest.mark.parametrize("pair", [CA, issue.issue_serving(CA, ["a"], NOW, LATER)], ids=["authority", "leaf"])
def test_keys_are_p256(pair: issue.Pair) -> None:
    key = load_pem_private_key(pair.key, None)

    assert isinstance(key, ec.EllipticCurvePrivateKey)
    assert key.curve.name == "secp256r1"


def test_a_leaf_signs_nothing() -> None:
    constraints = leaf("a").extensions.get_extension_for_class(x509.BasicConstraints)

    assert (constraints.value.ca, constraints.critical) == (False, True)


def test_two_leaves_share_neither_key_nor_serial_number() -> None:
    one, other = leaf("a"), leaf("a")

    assert one.serial_number != other.serial_number
    assert one.public_key() != other.public_key()


def test_the_key_is_for_its_owner_only(tmp_path: Path) -> None:
    issue.write(CA, tmp_path)

    assert (tmp_path / "tls.key").stat().st_mode & 0o777 == 0o600


def test_the_certificate_may_be_read_by_all(tmp_path: Path) -> None:
    issue.write(CA, tmp_path)

    assert (tmp_path / "tls.crt").stat().st_mode & 0o777 == 0o644


def test_writing_leaves_the_two_files_and_nothing_else(tmp_path: Path) -> None:
    issue.write(CA, tmp_path)
    issue.write(CA, tmp_path)

    assert sorted(path.name for path in tmp_path.iterdir()) == ["tls.crt", "tls.key"]


def test_a_development_pair_is_trusted_by_the_bundle_that_is_returned(tmp_path: Path) -> None:
    bundle = issue.development(tmp_path / "new", ["localhost"])

    store = Store(x509.load_pem_x509_certificates(bundle))
    certificate = x509.load_pem_x509_certificate((tmp_path / "new" / "tls.crt").read_bytes())
    verifier = PolicyBuilder().store(store).build_server_verifier(x509.DNSName("localhost"))
    assert certificate == verifier.verify(certificate, [])[0]
