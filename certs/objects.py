"""Read and render the Secret that holds the certificates, and the `caBundle` of webhook configurations."""

import binascii
from base64 import b64decode, b64encode
from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from certs.issue import Pair
from certs.rotation import Kept
from intent import Object

MANAGED_BY: Final = "app.kubernetes.io/managed-by"
OURS: Final = "fusioninfer"


class ForeignError(Exception):
    """The Secret has data, but not the label of this controller."""


def read(secret: Object | None) -> Kept:
    """Read the certificates of a Secret; unreadable ones are left out. Raises `ForeignError`."""
    if not secret or not secret.get("data"):
        return Kept()
    if secret["metadata"].get("labels", {}).get(MANAGED_BY) != OURS:
        raise ForeignError(
            f"the Secret has data, but not the label {MANAGED_BY}={OURS}; it is left unchanged"
        )
    data = {name: _decoded(value) for name, value in secret["data"].items()}
    return Kept(_certificates(data.get("ca.crt", b"")), data.get("ca.key", b""), _pair(data))


def secret(kept: Kept, namespace: str, name: str, before: Object | None) -> Object:
    """Render the Secret. The webhook mounts its `tls.crt` and `tls.key`, and never `ca.key`."""
    serving = {"tls.crt": kept.serving.certificate, "tls.key": kept.serving.key} if kept.serving else {}
    data = {"ca.crt": kept.bundle, "ca.key": kept.key, **serving}
    version = {"resourceVersion": before["metadata"]["resourceVersion"]} if before else {}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": namespace, "labels": {MANAGED_BY: OURS}, **version},
        "data": {key: b64encode(value).decode() for key, value in data.items()},
    }


def hosts(configurations: Iterable[Object]) -> set[str]:
    """Return the host names that API servers call; the serving certificate must contain each of them."""
    return {
        _host(webhook["clientConfig"])
        for configuration in configurations
        for webhook in configuration.get("webhooks", ())
    }


def trusted(configurations: Iterable[Object]) -> set[bytes]:
    """Return the CA certificates (PEM) in the bundle of any webhook."""
    return {
        certificate
        for configuration in configurations
        for webhook in configuration.get("webhooks", ())
        for certificate in _certificates(_decoded(webhook["clientConfig"].get("caBundle", "")))
    }


def injection(configuration: Object, bundle: bytes) -> list[Object]:
    """Render the JSON patch (RFC 6902) that writes a bundle into every webhook; empty if all have it.

    Not server-side apply: it would own the list entry of each webhook, so a later manifest without that
    webhook would be refused, since the field that remains is not a valid webhook.
    """
    encoded = b64encode(bundle).decode()
    webhooks = list(enumerate(configuration.get("webhooks", ())))
    if all(webhook["clientConfig"].get("caBundle") == encoded for _, webhook in webhooks):
        return []
    return [operation for index, webhook in webhooks for operation in _trusting(index, webhook, encoded)]


def _trusting(index: int, webhook: Object, encoded: str) -> tuple[Object, Object]:
    """Set the bundle of one webhook, provided that it is still at this index."""
    at = f"/webhooks/{index}"
    return (
        {"op": "test", "path": f"{at}/name", "value": webhook["name"]},
        {"op": "add", "path": f"{at}/clientConfig/caBundle", "value": encoded},
    )


def _host(client_config: Object) -> str:
    """Return a service's name for API servers (`k8s.io/apiserver` `pkg/util/webhook`), or a URL's host."""
    if service := client_config.get("service"):
        return f"{service['name']}.{service['namespace']}.svc"
    return urlsplit(client_config["url"]).hostname or ""


def _pair(data: dict[str, bytes]) -> Pair | None:
    """Read the serving certificate; None if it is absent or unreadable."""
    certificates = _certificates(data.get("tls.crt", b""))
    return Pair(certificates[0], data.get("tls.key", b"")) if certificates else None


def _certificates(text: bytes) -> tuple[bytes, ...]:
    try:
        return tuple(one.public_bytes(Encoding.PEM) for one in x509.load_pem_x509_certificates(text))
    except ValueError:
        return ()


def _decoded(value: str) -> bytes:
    try:
        return b64decode(value)
    except binascii.Error:  # the API server stores valid base64 only; other callers may not
        return b""
