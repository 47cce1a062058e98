"""Serve the certificate of a directory, and reload it when its files change.

Rules of this file:
- An SSL context in use is never modified. `load_cert_chain` on a live one, with a key that does not match,
  breaks every later handshake. Each pair gets a context of its own; a handshake chooses the newest one in
  `sni_callback`, which OpenSSL also calls for clients that send no server name.
- An invalid pair never replaces a valid one.
- An error is reported once, not on every poll.
"""

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal, NamedTuple

from cryptography import x509

from certs.issue import names_of

ReloadResult = Literal["loaded", "missing", "refused"]
RESULTS: Final[tuple[ReloadResult, ...]] = ("loaded", "missing", "refused")

_CIPHERS: Final = ":".join(
    f"ECDHE-{key}-{cipher}"
    for cipher in ("AES128-GCM-SHA256", "AES256-GCM-SHA384", "CHACHA20-POLY1305")
    for key in ("ECDSA", "RSA")
)
"""TLS 1.2 with forward secrecy and authenticated encryption only; TLS 1.3 has nothing else."""


class Reload(NamedTuple):
    """The result of a poll, and its reason; of a loaded pair, its expiry."""

    result: ReloadResult
    reason: str


@dataclass(frozen=True, slots=True)
class ServedCertificate:
    """A valid pair: the bytes of its files, its SSL context, and its expiry."""

    content: tuple[bytes, ...]
    context: ssl.SSLContext
    not_after: datetime


@dataclass(slots=True)
class CertificateDirectory:
    """A directory with `tls.crt` and `tls.key`, the pair that is served, and the last result reported."""

    directory: Path
    names: tuple[str, ...] = ()
    """The host names that callers use; a certificate that lacks one of them is not served."""
    client_ca: Path | None = None
    """The CA (PEM) of client certificates; None: no client certificate is requested."""
    served: ServedCertificate | None = None
    reported: Reload | None = None


def listener(source: CertificateDirectory) -> ssl.SSLContext:
    """Return the context to listen with; every handshake uses the pair that `source` serves at that moment.

    Handshakes fail while there is none.
    """

    def choose(handshake: ssl.SSLObject | ssl.SSLSocket, _name: str, _context: ssl.SSLContext) -> int | None:
        if source.served is None:
            return ssl.AlertDescription.ALERT_DESCRIPTION_INTERNAL_ERROR
        handshake.context = source.served.context
        return None

    context = _context()
    context.sni_callback = choose
    if source.client_ca:
        # OpenSSL takes the mode from this context, and the CA from the one that `choose` sets.
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def poll(source: CertificateDirectory, now: datetime) -> Reload | None:
    """Read the directory and serve a new, valid pair; return the result unless it was reported before."""
    try:
        change = _follow(source, now)
    except FileNotFoundError as error:
        change = Reload("missing", f"{Path(error.filename or 'a file').name} does not exist")
    except ssl.SSLError as error:
        reason = (error.reason or "tls.crt or tls.key is not PEM").replace("_", " ")
        change = Reload("refused", reason)
    except OSError as error:
        change = Reload("refused", error.strerror or type(error).__name__)
    except Exception as error:  # noqa: BLE001 - whatever the error, the previous pair stays served
        change = Reload("refused", str(error))
    if change is None or change == source.reported:
        return None
    source.reported = change
    return change


def valid(source: CertificateDirectory, now: datetime) -> bool:
    """Return whether there is a pair to serve that has not expired."""
    return source.served is not None and now < source.served.not_after


async def watch(source: CertificateDirectory, report: Callable[[Reload], None], every: float = 10.0) -> None:
    """Poll the directory every `every` seconds and report changes; never returns."""
    while True:
        change = poll(source, datetime.now(UTC))
        if change is not None:
            report(change)
        await asyncio.sleep(every)


def _follow(source: CertificateDirectory, now: datetime) -> Reload | None:
    """Serve the pair in the directory if it is new; return None if it is served already."""
    data = source.directory / "..data"  # a symbolic link that the kubelet swaps when a Secret changes
    where = data.resolve() if data.exists() else source.directory
    files = (where / "tls.crt", where / "tls.key", *([source.client_ca] if source.client_ca else ()))
    content = tuple(file.read_bytes() for file in files)
    if source.served is None or source.served.content != content:
        source.served = _checked(where, content, source.names, now)
        return Reload("loaded", f"valid until {source.served.not_after.isoformat()}")
    source.reported = None  # an error that was reported is over: the next one like it is another one
    return None


def _checked(
    where: Path, content: tuple[bytes, ...], names: tuple[str, ...], now: datetime
) -> ServedCertificate:
    """Build an SSL context for the pair. Raises ssl.SSLError or ValueError, with the reason.

    OpenSSL reads the files again, as it accepts only paths. If they changed in between, it either reports
    that they do not match, or the next poll finds that `content` differs from the files.
    """
    certificate = x509.load_pem_x509_certificates(content[0])[0]
    since, until = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    if now >= until:
        raise ValueError(f"expired at {until.isoformat()}")
    if now < since:
        raise ValueError(f"not valid before {since.isoformat()}")
    _check_names(certificate, names)
    context = _context()
    context.load_cert_chain(where / "tls.crt", where / "tls.key", password=_no_password)
    for bundle in content[2:]:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=bundle.decode("ascii"))
    return ServedCertificate(content, context, until)


def _check_names(certificate: x509.Certificate, names: tuple[str, ...]) -> None:
    """Refuse a certificate that callers would refuse."""
    has = {name.lower() for name in names_of(certificate)}
    missing = [name for name in names if not {name.lower(), f"*.{name.lower().partition('.')[2]}"} & has]
    if missing:
        raise ValueError(f"does not name {', '.join(missing)}")


def _context() -> ssl.SSLContext:
    """Return a server context: ALPN http/1.1 only, as API servers ask; no resumption, which they never use.

    The context to listen with and the ones of the pairs are the same, because OpenSSL takes some settings
    from the first and others from the second.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(_CIPHERS)
    context.set_alpn_protocols(["http/1.1"])
    context.options |= ssl.OP_NO_TICKET | ssl.OP_NO_RENEGOTIATION
    context.num_tickets = 0
    return context


def _no_password() -> str:
    """Refuse an encrypted key; without this callback OpenSSL would prompt on the terminal."""
    raise ValueError("the private key is encrypted")
