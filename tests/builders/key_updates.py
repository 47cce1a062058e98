"""KeyUpdates of TLS 1.3 (RFC 8446, 4.6.3), which no library sends: a record each, with the next keys."""

import socket
import ssl
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA384
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

MESSAGE: Final = bytes([24, 0, 0, 1, 0]) + b"\x16"
"""A KeyUpdate that asks for none in return, and the type of its record."""
HEAD: Final = b"\x17\x03\x03" + (len(MESSAGE) + 16).to_bytes(2)


def send(port: int, number: int, keys: Path) -> bool:
    """Send them after a handshake; return whether the server ends the connection."""
    tls = ssl.create_default_context()
    tls.check_hostname, tls.verify_mode, tls.keylog_filename = False, ssl.CERT_NONE, str(keys)
    shaken = tls.wrap_socket(socket.create_connection(("127.0.0.1", port)))
    assert shaken.cipher() == ("TLS_AES_256_GCM_SHA384", "TLSv1.3", 256)
    lines = keys.read_text().splitlines()
    secret = next(line.split()[2] for line in lines if line.startswith("CLIENT_TRAFFIC_SECRET_0"))
    with socket.socket(fileno=shaken.detach()) as plain:
        plain.settimeout(2)
        try:
            plain.sendall(_records(bytes.fromhex(secret), number))
            return not plain.recv(1)
        except TimeoutError:
            return False
        except ConnectionError:
            return True


def _records(secret: bytes, number: int) -> bytes:
    records = b""
    for _ in range(number):
        key, nonce = _derived(secret, b"key", 32), _derived(secret, b"iv", 12)
        records += HEAD + AESGCM(key).encrypt(nonce, MESSAGE, HEAD)
        secret = _derived(secret, b"traffic upd", 48)
    return records


def _derived(secret: bytes, label: bytes, size: int) -> bytes:
    """Derive with HKDF-Expand-Label (RFC 8446, 7.1)."""
    name = b"tls13 " + label
    return HKDFExpand(SHA384(), size, size.to_bytes(2) + bytes([len(name)]) + name + b"\0").derive(secret)
