"""Keep the webhook's certificates in a cluster without cert-manager: `certs.keep`, by the loop's client.

The leader of the loop does it, so one process does. A look reads three objects, and mostly writes none.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

import structlog

from certs import rotation
from certs.keep import Cluster, Place, Reconciled, reconcile
from certs.objects import ForeignError
from certs.rotation import Terms
from intent import Object
from kube.client import NO_ANSWER, NOT_FOUND, ApiError, Client
from kube.request import amend, apply, get
from sync.runtime.lease import LeadershipLostError
from sync.runtime.metrics import ControllerMetrics

log: Final = structlog.stdlib.get_logger(__name__)
API: Final = "/apis/admissionregistration.k8s.io/v1"
CONFIGURATIONS: Final = (
    f"{API}/mutatingwebhookconfigurations/mutate.fusioninfer.io",
    f"{API}/validatingwebhookconfigurations/validate.fusioninfer.io",
)
"""What trusts the webhook (`manifests/base/webhooks.yaml`)."""
FAILED: Final = (ApiError, ForeignError, *NO_ANSWER, ValueError)
"""What a look may run into; the next one tries again."""


@dataclass(frozen=True, slots=True)
class Certificates:
    """Which Secret holds them, how long they last, and how often to look."""

    secret: str
    terms: Terms = field(default_factory=Terms)
    look_seconds: float = 10.0


async def keep(
    client: Client,
    namespace: str,
    certificates: Certificates,
    permit: Callable[[], float],
    measured: ControllerMetrics,
) -> None:
    """Look again and again, for ever. `permit` gives the seconds for a write; raises if there are none."""
    cluster, place = _cluster(client, permit), Place(namespace, certificates.secret, CONFIGURATIONS)
    said = ""
    while True:
        try:
            said = _tell(measured, await reconcile(cluster, place, certificates.terms, datetime.now(UTC)))
        except LeadershipLostError:
            raise
        except FAILED as error:
            said = _complain(measured, error, said)
        except Exception:  # a door of the process: the loop beside it goes on
            measured.certificate_checks.labels("bug").inc()
            log.exception("bug")
        await asyncio.sleep(certificates.look_seconds)


def _tell(measured: ControllerMetrics, looked: Reconciled) -> str:
    """Say and count what was done, and show when what is kept ends; nothing is left to complain of."""
    measured.certificate_checks.labels("changed" if looked.done else "unchanged").inc()
    if looked.done:
        log.info("certificates", done=looked.done)
    ends = {"authority": looked.kept.ca_certificates[0]}
    if looked.kept.serving:
        ends["leaf"] = looked.kept.serving.certificate
    for name, certificate in ends.items():
        measured.certificate_not_after.labels(name).set(rotation.ends(certificate).timestamp())
    return ""


def _complain(measured: ControllerMetrics, error: Exception, said: str) -> str:
    """Count what went wrong, and say it once."""
    measured.certificate_checks.labels("failed").inc()
    words = f"{type(error).__name__}: {error}"
    if words != said:
        log.warning("certificates not kept", error=words)
    return words


def _cluster(client: Client, permit: Callable[[], float]) -> Cluster:
    """Hand over how to read and write; every write asks for leave first."""

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
