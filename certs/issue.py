"""Issue a CA and serving certificates, as PEM bytes.

Keys are P-256: a handshake takes half the CPU of one with RSA-2048, and every API server supports it.
Dates and names are arguments.
"""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

USES: Final = (
    *("digital_signature", "content_commitment", "key_encipherment", "data_encipherment"),
    *("key_agreement", "key_cert_sign", "crl_sign", "encipher_only", "decipher_only"),
)
"""The uses of a key (RFC 5280, 4.2.1.3): a CA signs certificates and CRLs, a server signs handshakes."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its private key, both PEM."""

    certificate: bytes
    key: bytes


def names_of(certificate: x509.Certificate) -> set[str]:
    """Return the alternative names of a certificate: Go checks these only."""
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return set()
    return {*found.get_values_for_type(x509.DNSName), *map(str, found.get_values_for_type(x509.IPAddress))}


def issue_ca(name: str, not_before: datetime, not_after: datetime) -> Pair:
    """Issue a self-signed CA that may sign certificates, but no further CA."""
    key = ec.generate_private_key(ec.SECP256R1())
    builder = (
        _builder(_name(name), _name(name), key, not_before, not_after)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage("key_cert_sign", "crl_sign"), critical=True)
    )
    return _pair(builder.sign(key, hashes.SHA256()), key)


def issue_serving(ca: Pair, hosts: Sequence[str], not_before: datetime, not_after: datetime) -> Pair:
    """Issue a serving certificate for `hosts`: DNS names and IP addresses, at least one."""
    signer, signer_key = _read(ca)
    key = ec.generate_private_key(ec.SECP256R1())
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer_key.public_key())
    names = x509.SubjectAlternativeName([_general_name(host) for host in hosts])
    builder = (
        _builder(_name("fusioninfer webhook"), signer.subject, key, not_before, not_after)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage("digital_signature"), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(names, critical=False)
        .add_extension(identifier, critical=False)
    )
    return _pair(builder.sign(signer_key, hashes.SHA256()), key)


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    not_before: datetime,
    not_after: datetime,
) -> x509.CertificateBuilder:
    """Return a builder with the fields that both kinds of certificate share."""
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(not_before)
        .not_valid_after(not_after)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _usage(*uses: str) -> x509.KeyUsage:
    """Return a key usage with these uses, and no other."""
    return x509.KeyUsage(**dict.fromkeys(USES, False) | dict.fromkeys(uses, True))


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _general_name(host: str) -> x509.GeneralName:
    """Return an IP address for `10.0.0.1` or `::1`, and a DNS name for everything else."""
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _read(ca: Pair) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    key = serialization.load_pem_private_key(ca.key, password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise TypeError("the CA's key is not an elliptic-curve key")
    return x509.load_pem_x509_certificate(ca.certificate), key


def _pair(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> Pair:
    pem = serialization.Encoding.PEM
    plain = serialization.NoEncryption()
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
    return Pair(certificate.public_bytes(pem), private)
