"""Certificates for servers on loopback, from an authority that lives as long as the cluster."""

from pathlib import Path

import trustme


def issue(authority: trustme.CA, directory: Path, *names: str) -> None:
    """Write `tls.crt` and `tls.key` for 127.0.0.1 into a folder, as a Secret of that type is mounted.

    `names` are other names of the server.
    """
    directory.mkdir(parents=True, exist_ok=True)
    leaf = authority.issue_cert("127.0.0.1", "localhost", *names)
    (directory / "tls.crt").write_bytes(b"".join(pem.bytes() for pem in leaf.cert_chain_pems))
    (directory / "tls.key").write_bytes(leaf.private_key_pem.bytes())
