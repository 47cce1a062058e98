"""Metrics with TLS: of the controller for tokens that may read them, of the webhook for certificates of a CA.

The controller asks the API server about each token, as controller-runtime's `pkg/metrics/filters` does: a
TokenReview says whose it is, and a SubjectAccessReview whether that user may `get` the path `/metrics`. The
webhook has neither a token nor egress, so it asks for a client certificate. The controller's certificate is
made when it starts and kept in memory. Nobody can verify it: an attacker that takes the address of the pod
gets the token of a scrape.
"""

import asyncio
import ssl
import tempfile
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from aiohttp import web

from certs.issue import issue_ca, issue_serving
from intent import Object
from kube.client import NO_ANSWER, ApiError, Client
from kube.request import create

TOKENS: Final = "/apis/authentication.k8s.io/v1/tokenreviews"
ACCESS: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
SECONDS: Final = 5.0
"""How long the API server may take for a review."""
MADE_FOR: Final = timedelta(days=3650)
"""A process does not live as long."""


def made_context(host: str) -> ssl.SSLContext:
    """Return a context to listen with, and a certificate of its own for a host."""
    now = datetime.now(UTC)
    ends = now - timedelta(minutes=5), now + MADE_FOR
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    with tempfile.TemporaryDirectory() as folder:  # ssl reads files alone
        made, both = issue_serving(issue_ca("fusioninfer metrics", *ends), [host], *ends), Path(folder, "pem")
        both.write_bytes(made.certificate + made.key)
        context.load_cert_chain(both)
    return context


def by_token(client: Client) -> Callable[[web.BaseRequest], Awaitable[str]]:
    """Return a function that returns why the token of a request gives no metrics; empty if it does.

    It may be called in another thread: the requests are those of `client` in the event loop of this call. One
    token is reviewed at a time, so that strangers with tokens take neither the API server's time nor the
    connections that renew the Lease.
    """
    loop, alone = asyncio.get_running_loop(), asyncio.Lock()

    async def refusal(request: web.BaseRequest) -> str:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token:
            return "send a token that may get the path /metrics: Authorization: Bearer TOKEN"
        async with alone:
            asked = asyncio.run_coroutine_threadsafe(_refused(client, token.strip()), loop)
            return await asyncio.wrap_future(asked)

    return refusal


async def _refused(client: Client, token: str) -> str:
    """Return why a token gives no metrics; whatever is not answered, it gives none."""
    try:
        who = (await _reviewed(client, TOKENS, "TokenReview", {"token": token})).get("status", {})
        if not who.get("authenticated"):
            return "the API server does not know this token"
        user: Any = who["user"]
        spec = {
            "user": user.get("username", ""),
            "uid": user.get("uid", ""),
            "groups": user.get("groups", []),
            "extra": user.get("extra", {}),
            "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
        }
        access = await _reviewed(client, ACCESS, "SubjectAccessReview", spec)
    except (ApiError, KeyError, ValueError, *NO_ANSWER):
        return "the API server did not say whether this token may get the path /metrics"
    if access.get("status", {}).get("allowed"):
        return ""
    return f"{spec['user']} may not get the path /metrics: bind it to fusioninfer-metrics-reader"


async def _reviewed(client: Client, path: str, kind: str, spec: Object) -> Object:
    group = path.split("/")[2]
    review = create(path, {"apiVersion": f"{group}/v1", "kind": kind, "spec": spec})
    return await client.call(review, SECONDS)
