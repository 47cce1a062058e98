"""Serve the certificate that lies in a directory, and follow it when it is replaced.

Rules of this file:
- A context that serves is never touched. `load_cert_chain` on a live one, with a key that does not
  match, breaks every handshake after it. Each pair gets a fresh context; a handshake picks the newest
  by `sni_callback`, which OpenSSL also calls for clients that name no server.
- A pair that is not sound never replaces one that is.
- Whatever is wrong is said once, not at each look.
"""

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal, NamedTuple

from cryptography import x509

Result = Literal["loaded", "missing", "refused"]
RESULTS: Final[tuple[Result, ...]] = ("loaded", "missing", "refused")

_CIPHERS: Final = ":".join(
    f"ECDHE-{key}-{cipher}"
    for cipher in ("AES128-GCM-SHA256", "AES256-GCM-SHA384", "CHACHA20-POLY1305")
    for key in ("ECDSA", "RSA")
)
"""TLS 1.2 with forward secrecy and authenticated encryption only; TLS 1.3 has nothing else."""


class Reload(NamedTuple):
    """What a look at the directory found: how it went, and why (of a loaded pair: until when it is valid)."""

    result: Result
    reason: str


@dataclass(frozen=True, slots=True)
class Served:
    """A sound pair: the bytes it was read from, its own context, and when it ends."""

    content: tuple[bytes, ...]
    context: ssl.SSLContext
    not_after: datetime


@dataclass(slots=True)
class Source:
    """A directory with `tls.crt` and `tls.key`, the pair served from it, and what was last said of it."""

    directory: Path
    names: tuple[str, ...] = ()
    """What callers call us: a certificate that does not name each of them is not served."""
    client_ca: Path | None = None
    """Whom callers must be certified by (PEM); None: nobody is asked for a certificate."""
    served: Served | None = None
    said: Reload | None = None


class _RefusedError(Exception):
    """The pair cannot be served; the text says why."""


def listener(source: Source) -> ssl.SSLContext:
    """Make the context to listen with; every handshake takes the pair that `source` serves then.

    While there is none, handshakes fail.
    """

    def choose(handshake: ssl.SSLObject | ssl.SSLSocket, _name: str, _context: ssl.SSLContext) -> int | None:
        if source.served is None:
            return ssl.AlertDescription.ALERT_DESCRIPTION_INTERNAL_ERROR
        handshake.context = source.served.context
        return None

    context = _context()
    context.sni_callback = choose
    if source.client_ca:
        context.verify_mode = (
            ssl.CERT_REQUIRED
        )  # OpenSSL takes this from the first context, whom from the next
    return context


def poll(source: Source, now: datetime) -> Reload | None:
    """Look at the directory; serve a new, sound pair; return what is worth saying, if it was not said."""
    try:
        change = _follow(source, now)
    except FileNotFoundError as error:
        change = Reload("missing", f"{Path(error.filename or 'a file').name} is not there")
    except Exception as error:  # noqa: BLE001 - whatever is wrong with a pair, the one before it goes on
        change = Reload("refused", _words(error))
    if change is None or change == source.said:
        return None
    source.said = change
    return change


def valid(source: Source, now: datetime) -> bool:
    """Whether there is a pair to serve, and it has not ended."""
    return source.served is not None and now < source.served.not_after


async def watch(source: Source, report: Callable[[Reload], None], every: float = 10.0) -> None:
    """Look at the directory every so many seconds, for ever, and report what changed."""
    while True:
        change = poll(source, datetime.now(UTC))
        if change is not None:
            report(change)
        await asyncio.sleep(every)


def _follow(source: Source, now: datetime) -> Reload | None:
    """Serve what lies there if it is new; None while it is what is already served."""
    where = _resolved(source.directory)
    content = _read(where, source.client_ca)
    if source.served is None or source.served.content != content:
        source.served = _checked(where, content, source.names, now)
        return Reload("loaded", f"valid until {source.served.not_after.isoformat()}")
    if source.said is not None and source.said.result != "loaded":
        return Reload("loaded", "the pair that is served is back")
    return None


def _resolved(directory: Path) -> Path:
    """Find the directory the two files stand in: a Secret's mount swaps the symbolic link `..data`."""
    data = directory / "..data"
    return data.resolve() if data.exists() else directory


def _read(where: Path, client_ca: Path | None) -> tuple[bytes, ...]:
    pair = (where / "tls.crt").read_bytes(), (where / "tls.key").read_bytes()
    return (*pair, client_ca.read_bytes()) if client_ca else pair


def _checked(where: Path, content: tuple[bytes, ...], names: tuple[str, ...], now: datetime) -> Served:
    """Build a context of its own for the pair and prove that it can serve.

    OpenSSL reads the files again, as it takes nothing else. Should they have changed since, it sees that
    they do not match, or the next look sees that `content` is not what lies there.
    """
    certificate = x509.load_pem_x509_certificates(content[0])[0]
    _check_dates(certificate, now)
    _check_names(certificate, names)
    context = _context()
    context.load_cert_chain(where / "tls.crt", where / "tls.key", password=_no_password)
    _shake_hands(context)
    for bundle in content[2:]:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=bundle.decode("ascii"))
    return Served(content, context, certificate.not_valid_after_utc)


def _check_dates(certificate: x509.Certificate, now: datetime) -> None:
    if now >= certificate.not_valid_after_utc:
        raise _RefusedError(f"expired at {certificate.not_valid_after_utc.isoformat()}")
    if now < certificate.not_valid_before_utc:
        raise _RefusedError(f"not valid before {certificate.not_valid_before_utc.isoformat()}")


def _check_names(certificate: x509.Certificate, names: tuple[str, ...]) -> None:
    """Refuse a certificate that callers would refuse: they look at its alternative names only."""
    has = _names(certificate)
    missing = [name for name in names if not {name.lower(), f"*.{name.lower().partition('.')[2]}"} & has]
    if missing:
        raise _RefusedError(f"does not name {', '.join(missing)}")


def _names(certificate: x509.Certificate) -> set[str]:
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return set()
    addresses = found.get_values_for_type(x509.IPAddress)
    return {name.lower() for name in found.get_values_for_type(x509.DNSName)} | set(map(str, addresses))


def _context() -> ssl.SSLContext:
    """Make a server's context: ALPN http/1.1 only, as API servers ask; no resumption, which they never use.

    The one to listen with and the ones chosen later are made alike, because OpenSSL takes some settings
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
    """Refuse an encrypted key: without this OpenSSL would ask at the terminal, and wait."""
    raise _RefusedError("the private key is encrypted")


def _shake_hands(context: ssl.SSLContext) -> None:
    """Complete a handshake in memory, with a client that trusts anybody; `ssl.SSLError` if it fails."""
    trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    client, server = trusting.wrap_bio(down, up), context.wrap_bio(up, down, server_side=True)
    for side in (client, server, client, server):
        _step(side)
    if server.version() is None:
        raise _RefusedError("a handshake with it does not complete")


def _step(side: ssl.SSLObject) -> None:
    """Go on with a handshake as far as the bytes that came allow."""
    try:
        side.do_handshake()
    except ssl.SSLWantReadError:
        return


def _words(error: Exception) -> str:
    """Say what is wrong with a pair, without a path and never with a piece of a key."""
    if isinstance(error, ssl.SSLError):
        return (error.reason or "tls.crt or tls.key is not PEM").replace("_", " ")
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    if isinstance(error, _RefusedError):
        return str(error)
    return f"tls.crt does not begin with a certificate in PEM ({type(error).__name__})"
