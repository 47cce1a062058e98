"""Read and render the Secret that holds the certificates, and the `caBundle` of webhook configurations."""

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
    data = {name: b64decode(value) for name, value in secret["data"].items()}
    serving = _certificates(data.get("tls.crt", b""))
    pair = Pair(serving[0], data.get("tls.key", b"")) if serving else None
    return Kept(_certificates(data.get("ca.crt", b"")), data.get("ca.key", b""), pair)


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
        for certificate in _certificates(b64decode(webhook["clientConfig"].get("caBundle", "")))
    }


def injection(configuration: Object, bundle: bytes) -> list[Object]:
    """Render the JSON patch (RFC 6902) that writes a bundle into every webhook; empty if all have it.

    Not server-side apply: it would own the list entry of each webhook, so a later manifest without that
    webhook would be refused, since the field that remains is not a valid webhook.
    """
    encoded, webhooks = b64encode(bundle).decode(), configuration.get("webhooks", ())
    if all(webhook["clientConfig"].get("caBundle") == encoded for webhook in webhooks):
        return []
    return [
        operation
        for index, webhook in enumerate(webhooks)
        for operation in (  # the index alone may be another webhook's by now
            {"op": "test", "path": f"/webhooks/{index}/name", "value": webhook["name"]},
            {"op": "add", "path": f"/webhooks/{index}/clientConfig/caBundle", "value": encoded},
        )
    ]


def _host(client_config: Object) -> str:
    """Return a service's name for API servers (`k8s.io/apiserver` `pkg/util/webhook`), or a URL's host."""
    if service := client_config.get("service"):
        return f"{service['name']}.{service['namespace']}.svc"
    return urlsplit(client_config["url"]).hostname or ""


def _certificates(text: bytes) -> tuple[bytes, ...]:
    """Split a bundle (PEM) into its certificates; none if it cannot be read."""
    try:
        return tuple(one.public_bytes(Encoding.PEM) for one in x509.load_pem_x509_certificates(text))
    except ValueError:
        return ()
