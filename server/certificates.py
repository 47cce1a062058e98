"""Manage the webhook's certificates without cert-manager: `certs.keep` with the controller's client.

The leader of the controller runs it, so only one process does. A reconcile reads three objects and usually
writes none.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import structlog

from certs import rotation
from certs.keep import Cluster, Place, Reconciled, reconcile
from certs.objects import ForeignError
from certs.rotation import Terms
from intent import Object
from kube.client import NO_ANSWER, NOT_FOUND, ApiError, Client, logged
from kube.request import amend, apply, get
from sync.lease import LeadershipLostError
from sync.metrics import ControllerMetrics

log: Final = structlog.stdlib.get_logger(__name__)
API: Final = "/apis/admissionregistration.k8s.io/v1"
CONFIGURATIONS: Final = (
    f"{API}/mutatingwebhookconfigurations/mutate.fusioninfer.io",
    f"{API}/validatingwebhookconfigurations/validate.fusioninfer.io",
)
"""The webhook configurations that must trust the CA (`manifests/base/webhooks.yaml`)."""
FAILED: Final = (ApiError, ForeignError, *NO_ANSWER, ValueError)
"""The errors that a later reconcile may get past."""


@dataclass(frozen=True, slots=True)
class Certificates:
    """The Secret that holds the certificates, their validity, and the interval between reconciles."""

    secret: str
    terms: Terms = field(default_factory=Terms)
    interval_seconds: float = 10.0


async def keep(
    client: Client,
    namespace: str,
    certificates: Certificates,
    permit: Callable[[], float],
    measured: ControllerMetrics,
) -> None:
    """Reconcile the certificates every `interval_seconds`; never returns.

    By the time of the API server, which checks them: with the clock of this machine a year ahead, all CAs
    would count as expired, and new ones would not be valid yet anywhere else.

    `permit` returns the seconds in which a write must end. Raises `LeadershipLostError` if it does.
    """
    cluster, place = _cluster(client, permit), Place(namespace, certificates.secret, CONFIGURATIONS)
    told = ""
    while True:
        try:
            reconciled = await reconcile(cluster, place, certificates.terms, client.server_time.now())
        except LeadershipLostError:
            raise
        except FAILED as error:
            measured.certificate_reconciles.labels("failed").inc()
            message = f"{type(error).__name__}: {error}"
            if message != told:
                log.warning("certificates not reconciled", error=logged(error))
            told = message
        except Exception:  # a bug here must not end the controller beside it
            measured.certificate_reconciles.labels("bug").inc()
            log.exception("bug")
        else:
            _report(measured, reconciled)
            told = ""
        await asyncio.sleep(certificates.interval_seconds)


def _report(measured: ControllerMetrics, reconciled: Reconciled) -> None:
    """Count and log a reconcile that succeeded, and set the expiry of each certificate."""
    measured.certificate_reconciles.labels("changed" if reconciled.done else "unchanged").inc()
    if reconciled.done:
        log.info("certificates", done=reconciled.done)
    certificates = {"ca": reconciled.kept.ca_certificates[0]}
    if reconciled.kept.serving:
        certificates["serving"] = reconciled.kept.serving.certificate
    for name, certificate in certificates.items():
        measured.certificate_not_after.labels(name).set(rotation.not_after(certificate).timestamp())


def _cluster(client: Client, permit: Callable[[], float]) -> Cluster:
    """Return the calls that `certs.keep` makes; every write asks `permit` first."""

    async def read(path: str) -> Object | None:
        try:
            return await client.call(get(path))
        except ApiError as error:
            if error.code == NOT_FOUND:
                return None
            raise

    async def put(path: str, obj: Object) -> Object:
        return await client.write(apply(path, obj), permit())

    async def change(path: str, operations: list[Object]) -> Object:
        return await client.write(amend(path, operations), permit())

    return Cluster(read, put, change)
