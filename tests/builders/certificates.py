"""Certificates in files, as a kubelet mounts a Secret of type kubernetes.io/tls."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from certs.issue import Pair, issue_ca, issue_serving


def write(pair: Pair, directory: Path) -> None:
    """Write `tls.key`, then `tls.crt`."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "tls.key").write_bytes(pair.key)
    (directory / "tls.crt").write_bytes(pair.certificate)


def development(directory: Path, hosts: Sequence[str]) -> bytes:
    """Write a pair for hosts that is valid now, and return the CA bundle (PEM) that trusts it."""
    now = datetime.now(UTC)
    ends = now - timedelta(minutes=5), now + timedelta(days=30)
    ca = issue_ca("fusioninfer development", *ends)
    write(issue_serving(ca, hosts, *ends), directory)
    return ca.certificate
