"""The served certificate, seen through real handshakes while its files change."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from certs import issue, reload
from tests.builders.certificates import write
from tests.builders.patience import PATIENCE
from tests.builders.wire import connected

NOW = datetime.now(UTC)
DAY = timedelta(days=1)
REFUSED = (ssl.SSLError, ConnectionResetError)
"""The errors of a failed handshake at the client: asyncio does not always send the alert."""
CA = issue.issue_ca("test", NOW - DAY, NOW + 9 * DAY)


def pair(not_before: datetime = NOW - DAY, not_after: datetime = NOW + 2 * DAY) -> issue.Pair:
    return issue.issue_serving(CA, ["localhost"], not_before, not_after)


def put(source: reload.CertificateDirectory, made: issue.Pair) -> None:
    """Write a pair, and have the source look at it."""
    write(made, source.directory)
    reload.poll(source, NOW)


def polled(source: reload.CertificateDirectory, now: datetime = NOW) -> str:
    """Have the source look at its files; return what became of a change, or nothing."""
    change = reload.poll(source, now)
    return change.result if change else ""


def serial(certificate: bytes) -> int:
    return x509.load_pem_x509_certificate(certificate).serial_number


@pytest.fixture
def source(tmp_path: Path) -> reload.CertificateDirectory:
    return reload.CertificateDirectory(tmp_path, ("localhost",))


@dataclass(frozen=True, slots=True)
class Handshake:
    serial: int
    version: str | None
    cipher: str
    protocol: str | None


def client(**versions: ssl.TLSVersion) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=CA.certificate.decode())
    context.set_alpn_protocols(["h2", "http/1.1"])
    for name, version in versions.items():
        setattr(context, name, version)
    return context


@asynccontextmanager
async def serving(source: reload.CertificateDirectory) -> AsyncIterator[int]:
    """Run an echo server over TLS with the source's listener; yield its port."""

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            writer.write(line)
        writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0, ssl=reload.listener(source))
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        await asyncio.sleep(0.01)


async def shake_hands(port: int, tls: ssl.SSLContext) -> Handshake:
    async with connected(port, tls) as (_reader, writer):
        tls_object: ssl.SSLObject = writer.get_extra_info("ssl_object")
        certificate = tls_object.getpeercert(binary_form=True) or b""
        cipher = tls_object.cipher() or ("", "", 0)
        return Handshake(
            x509.load_der_x509_certificate(certificate).serial_number,
            tls_object.version(),
            cipher[0],
            tls_object.selected_alpn_protocol(),
        )


async def served(source: reload.CertificateDirectory) -> int:
    async with serving(source) as port:
        return (await shake_hands(port, client())).serial


# The pair that is served


async def test_a_new_pair_needs_no_new_listener_and_connections_survive_it(
    source: reload.CertificateDirectory,
) -> None:
    put(source, pair())
    newer = pair()
    async with serving(source) as port, connected(port, client()) as (reader, writer):
        put(source, newer)

        handshake = await shake_hands(port, client())
        writer.write(b"still here\n")

        assert (handshake.serial, await reader.readline()) == (serial(newer.certificate), b"still here\n")


async def test_the_kubelets_swap_of_the_link_is_followed(source: reload.CertificateDirectory) -> None:
    older, newer = pair(), pair()
    write(older, source.directory / "..1")
    write(newer, source.directory / "..2")
    data = source.directory / "..data"
    data.symlink_to("..1")
    for name in ("tls.crt", "tls.key"):
        (source.directory / name).symlink_to(f"..data/{name}")
    reload.poll(source, NOW)
    (source.directory / "..data_tmp").symlink_to("..2")
    (source.directory / "..data_tmp").replace(data)

    reload.poll(source, NOW)

    assert serial(newer.certificate) == await served(source)


def test_both_files_are_read_through_one_link(source: reload.CertificateDirectory) -> None:
    write(pair(), source.directory / "..1")
    (source.directory / "..data").symlink_to("..1")

    assert polled(source) == "loaded"


async def test_a_client_without_sni_is_served_too(source: reload.CertificateDirectory) -> None:
    expected = pair()
    put(source, expected)
    nameless = client()
    nameless.check_hostname = False
    async with serving(source) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=nameless, server_hostname="")

        got = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)

        writer.close()
        await writer.wait_closed()
        assert x509.load_pem_x509_certificate(expected.certificate) == x509.load_der_x509_certificate(got)
        assert reader.at_eof()


async def test_handshakes_fail_until_there_is_a_pair(source: reload.CertificateDirectory) -> None:
    async with serving(source) as port:
        with pytest.raises(REFUSED):
            await shake_hands(port, client())
        put(source, pair())

        assert (await shake_hands(port, client())).version == "TLSv1.3"


# Pairs that are not served


def mismatched(directory: Path) -> None:
    (directory / "tls.crt").write_bytes(pair().certificate)


def garbage(directory: Path) -> None:
    (directory / "tls.crt").write_bytes(b"garbage")


def emptied(directory: Path) -> None:
    (directory / "tls.key").write_bytes(b"")


def expired(directory: Path) -> None:
    write(pair(not_after=NOW - timedelta(seconds=1)), directory)


def premature(directory: Path) -> None:
    write(pair(not_before=NOW + DAY), directory)


def locked(directory: Path) -> None:
    new = pair()
    encrypted = load_pem_private_key(new.key, None).private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret")
    )
    write(issue.Pair(new.certificate, encrypted), directory)


def removed(directory: Path) -> None:
    (directory / "tls.key").unlink()


def replaced_by_a_directory(directory: Path) -> None:
    (directory / "tls.key").unlink()
    (directory / "tls.key").mkdir()


def unnamed(directory: Path) -> None:
    write(self_signed(ec.generate_private_key(ec.SECP256R1())), directory)


BROKEN: list[tuple[Callable[[Path], None], str]] = [
    (mismatched, "KEY VALUES MISMATCH"),
    (garbage, "PEM"),
    (emptied, "not PEM"),
    (expired, "expired at"),
    (premature, "not valid before"),
    (locked, "encrypted"),
    (unnamed, "does not name localhost"),
    (removed, "tls.key does not exist"),
    (replaced_by_a_directory, "directory"),
]


@pytest.mark.parametrize(("harm", "text"), BROKEN, ids=[harm.__name__ for harm, _ in BROKEN])
async def test_an_invalid_pair_does_not_replace_a_valid_one(
    source: reload.CertificateDirectory, harm: Callable[[Path], None], text: str
) -> None:
    valid = pair()
    put(source, valid)
    harm(source.directory)

    change = reload.poll(source, NOW)

    assert change is not None
    assert text in change.reason
    assert serial(valid.certificate) == await served(source)
    assert reload.poll(source, NOW) is None, "an error is reported once"


@pytest.mark.parametrize("harm", [mismatched, removed])
def test_an_error_that_comes_again_after_the_served_pair_is_reported_again(
    source: reload.CertificateDirectory, harm: Callable[[Path], None]
) -> None:
    """Alerts count the reports of refused pairs."""
    valid = pair()
    put(source, valid)
    harm(source.directory)
    before = polled(source)
    put(source, valid)
    harm(source.directory)

    assert (bool(before), polled(source)) == (True, before)


def test_a_pair_is_served_once_it_is_valid(source: reload.CertificateDirectory) -> None:
    premature(source.directory)
    reload.poll(source, NOW)

    assert polled(source, NOW + DAY + DAY / 2) == "loaded"


def test_a_missing_directory_is_reported(tmp_path: Path) -> None:
    change = reload.poll(reload.CertificateDirectory(tmp_path / "none"), NOW)

    assert reload.Reload("missing", "tls.crt does not exist") == change


@pytest.mark.parametrize(
    ("hosts", "names"),
    [
        ((), ()),
        (("webhook.system.svc",), ("webhook.system.svc",)),
        (("*.system.svc",), ("webhook.system.svc",)),
        (("WEBHOOK.system.svc",), ("webhook.system.svc",)),
        (("localhost", "127.0.0.1"), ("localhost", "127.0.0.1")),
    ],
)
def test_a_pair_that_names_the_hosts_is_served(
    source: reload.CertificateDirectory, hosts: tuple[str, ...], names: tuple[str, ...]
) -> None:
    """One without names has an RSA key."""
    rsa_pair = self_signed(rsa.generate_private_key(65537, 2048))
    write(issue.issue_serving(CA, hosts, NOW - DAY, NOW + DAY) if hosts else rsa_pair, source.directory)

    assert polled(replace(source, names=names)) == "loaded"


@pytest.mark.parametrize("host", ["*.svc", "system.svc", "xwebhook.system.svc", "10.0.0.1"])
def test_a_pair_for_another_host_is_not_served(source: reload.CertificateDirectory, host: str) -> None:
    write(issue.issue_serving(CA, [host], NOW - DAY, NOW + DAY), source.directory)

    change = reload.poll(replace(source, names=("webhook.system.svc",)), NOW)

    assert reload.Reload("refused", "does not name webhook.system.svc") == change


# Client certificates

CALLERS = trustme.CA()


def verified(source: reload.CertificateDirectory) -> reload.CertificateDirectory:
    """Return a source with a valid pair that requires client certificates of `CALLERS`."""
    write(pair(), source.directory)
    CALLERS.cert_pem.write_to_path(source.directory / "callers.pem")
    asking = replace(source, client_ca=source.directory / "callers.pem")
    reload.poll(asking, NOW)
    return asking


def caller(ca: trustme.CA) -> ssl.SSLContext:
    known = client()
    ca.issue_cert("apiserver").configure_cert(known)
    return known


async def echoed(port: int, tls: ssl.SSLContext) -> bytes:
    """Send a line and return the answer; a TLS 1.3 client learns of a refusal only then."""
    try:
        async with connected(port, tls) as (reader, writer):
            writer.write(b"hello\n")
            return await reader.readline()
    except REFUSED:
        return b""


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize("tls", [client(), caller(trustme.CA())], ids=["none", "of another"])
async def test_other_callers_are_refused(
    source: reload.CertificateDirectory, tls: ssl.SSLContext, version: ssl.TLSVersion
) -> None:
    tls.minimum_version = ssl.TLSVersion.TLSv1_2
    tls.maximum_version = version
    async with serving(verified(source)) as port:
        assert await echoed(port, tls) == b""


async def test_a_new_client_ca_is_loaded(source: reload.CertificateDirectory) -> None:
    newer = trustme.CA()
    asking = verified(source)
    async with serving(asking) as port:
        newer.cert_pem.write_to_path(source.directory / "callers.pem")
        reload.poll(asking, NOW)

        assert await echoed(port, caller(newer)) == b"hello\n"
        assert await echoed(port, caller(CALLERS)) == b""


@pytest.mark.parametrize("content", [b"", b"garbage", b"\xff"])
async def test_an_invalid_client_ca_does_not_replace_a_valid_one(
    source: reload.CertificateDirectory, content: bytes
) -> None:
    asking = verified(source)
    async with serving(asking) as port:
        (source.directory / "callers.pem").write_bytes(content)

        assert polled(asking) == "refused"
        assert await echoed(port, caller(CALLERS)) == b"hello\n"


def test_a_missing_client_ca_is_reported_and_not_ready(source: reload.CertificateDirectory) -> None:
    write(pair(), source.directory)
    asking = replace(source, client_ca=source.directory / "callers.pem")

    assert reload.poll(asking, NOW) == reload.Reload("missing", "callers.pem does not exist")
    assert not reload.valid(asking, NOW)


# Validity


def test_a_pair_is_valid_from_when_it_is_there_until_it_expires(source: reload.CertificateDirectory) -> None:
    assert not reload.valid(source, NOW)
    put(source, pair(not_after=NOW + DAY))

    assert (reload.valid(source, NOW), reload.valid(source, NOW + DAY)) == (True, False)


async def test_the_watcher_reports_a_later_pair(source: reload.CertificateDirectory) -> None:
    changes: asyncio.Queue[reload.Reload] = asyncio.Queue()
    watching = asyncio.create_task(reload.watch(source, changes.put_nowait, every=0.01))
    await changes.get()
    write(pair(), source.directory)

    results = [(await asyncio.wait_for(changes.get(), PATIENCE)).result]

    while results[-1] != "loaded":  # the key was there before the certificate
        results.append((await asyncio.wait_for(changes.get(), PATIENCE)).result)
    watching.cancel()
    assert results[-1] == "loaded"


# The handshake


@pytest.fixture
async def port(source: reload.CertificateDirectory) -> AsyncIterator[int]:
    put(source, pair())
    async with serving(source) as number:
        yield number


async def test_tls_1_2_uses_forward_secrecy_and_authenticated_encryption_for_http_1_1(port: int) -> None:
    handshake = await shake_hands(port, client(maximum_version=ssl.TLSVersion.TLSv1_2))

    assert handshake.protocol == "http/1.1"
    assert handshake.cipher in {"ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES256-GCM-SHA384"}


@pytest.mark.parametrize(
    "ciphers",
    ["ECDHE+AES:!AESGCM:!AESCCM", "DHE+AESGCM", "kRSA+AESGCM", "ECDHE+AESCCM", "ECDHE+SHA1:@SECLEVEL=0"],
)
async def test_old_ciphers_are_refused(port: int, ciphers: str) -> None:
    old = client(maximum_version=ssl.TLSVersion.TLSv1_2)
    old.set_ciphers(ciphers)
    with pytest.raises(REFUSED):
        await shake_hands(port, old)


HELLO = b"\xc0\x2b\xc0\x09" + b"\x01\x00" + b"\x00\x12" + b"\x00\x0d\x00\x06\x00\x04\x04\x03\x02\x03"
"""Ciphers of TLS 1.2 and 1.1, no compression, signatures with SHA-256 and SHA-1, the curve P-256."""


async def hello_answered(port: int, minor: int) -> bytes:
    """Send a ClientHello of TLS 1.`minor - 1`, which OpenSSL's client cannot; return the first byte back."""
    body = bytes([3, minor]) + bytes(32) + b"\x00\x00\x04" + HELLO + b"\x00\x0a\x00\x04\x00\x02\x00\x17"
    hello = b"\x01" + len(body).to_bytes(3, "big") + body
    async with connected(port) as (reader, writer):
        writer.write(b"\x16\x03\x01" + len(hello).to_bytes(2, "big") + hello)
        return await reader.read(1)


async def test_old_protocols_are_refused(port: int) -> None:
    assert [await hello_answered(port, minor) for minor in (3, 2, 1)] == [b"\x16", b"", b""]


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_no_session_is_resumed(port: int, version: ssl.TLSVersion) -> None:
    tls = client(maximum_version=version)

    assert await asyncio.to_thread(resumed, port, tls) == [False, False]


def resumed(port: int, tls: ssl.SSLContext) -> list[bool | None]:
    """Connect twice, the second time with the session of the first, which asyncio cannot do."""
    found: list[bool | None] = []
    session = None
    for _ in range(2):
        plain = socket.create_connection(("127.0.0.1", port))
        with tls.wrap_socket(plain, server_hostname="localhost", session=session) as wrapped:
            wrapped.sendall(b"hello\n")
            wrapped.recv(10)
            found.append(wrapped.session_reused)
            session = wrapped.session
    return found


def self_signed(key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey) -> issue.Pair:
    name = x509.Name([])
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(NOW - DAY)
        .not_valid_after(NOW + DAY)
    )
    certificate = builder.sign(key, SHA256())
    plain = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return issue.Pair(certificate.public_bytes(Encoding.PEM), plain)
