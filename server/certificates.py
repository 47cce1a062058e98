"""Manage the webhook's certificates without cert-manager: a Secret, and the `caBundle` of its configurations.

Rules of this file:
- A new CA is stored and then trusted by every webhook configuration; only the next reconcile signs a serving
  certificate with it. By then every API server has seen the new `caBundle`.
- If no API server trusts the certificate that is served now, there is no reason to wait.
- If the Secret is lost, the CAs that the configurations trust stay trusted: a serving certificate of theirs
  is still mounted in running pods.
- All state is in the cluster: a process that starts continues where another one stopped.

The leader of the controller runs it, so only one process does. A reconcile reads three objects and usually
writes none.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

import structlog

from certs import objects, rotation
from certs.rotation import Kept, Terms
from intent import Object
from intent.names import api_path
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
FAILED: Final = (ApiError, objects.ForeignError, *NO_ANSWER, ValueError)
"""The errors that a later reconcile may get past."""


async def keep(keeper: "Keeper", measured: ControllerMetrics) -> None:
    """Reconcile certificates at their intervals; never returns. Raises `LeadershipLostError`."""
    told = ""
    while True:
        outcome, message = "unchanged", ""
        try:
            if done := await keeper.reconcile(datetime.now(UTC)):
                outcome = "changed"
                log.info("certificates", done=done)
        except LeadershipLostError:
            raise
        except FAILED as error:
            outcome, message = "failed", f"{type(error).__name__}: {error}"
            if message != told:
                log.warning("certificates not reconciled", error=logged(error))
        except Exception:  # a bug here must not end the controller beside it
            outcome = "bug"
            log.exception("bug")
        told = message
        measured.certificate_reconciles.labels(outcome).inc()
        await asyncio.sleep(keeper.settled_seconds if outcome == "unchanged" else keeper.interval_seconds)


@dataclass(frozen=True, slots=True)
class Keeper:
    """The Secret of the certificates, their validity, and the intervals between reconciles."""

    client: Client
    namespace: str
    secret: str
    permit: Callable[[], float]
    """Every write asks it for the seconds in which it must end; it raises `LeadershipLostError`."""
    terms: Terms = field(default_factory=Terms)
    interval_seconds: float = 10.0
    """After a change and after an error."""
    settled_seconds: float = 60.0
    """After a reconcile that changed nothing."""

    @property
    def path(self) -> str:
        """The path of the Secret."""
        return api_path("/api/v1/namespaces", self.namespace, "secrets", self.secret)

    async def reconcile(self, now: datetime) -> tuple[str, ...]:
        """Make the next change, if one is due; return the changes, for the log.

        Raises `LeadershipLostError`, or one of `FAILED`.
        """
        stored, terms = await self._read(self.path), self.terms
        found = {path: each for path in CONFIGURATIONS if (each := await self._read(path))}
        known = objects.read(stored)
        before = known
        if not known.ca_certificates:
            before = rotation.adopted(objects.trusted(found.values()), now, terms)
        kept = rotation.with_ca(before, now, terms)
        if kept != known:
            stored = await self._store(kept, stored)
        trusting = await self._trust(kept, found)
        done = ("CA", *trusting) if kept.key != before.key else trusting
        if not found or (trusting and _may_be_trusted(kept, before, now)):
            return done
        serving = rotation.with_serving(kept, objects.hosts(found.values()), now, terms)
        if serving == kept:
            return done
        await self._store(serving, stored)
        return (*done, "serving certificate")

    async def _read(self, path: str) -> Object | None:
        """Read an object; None if it does not exist."""
        try:
            return await self.client.call(get(path))
        except ApiError as error:
            if error.code == NOT_FOUND:
                return None
            raise

    async def _store(self, kept: Kept, before: Object | None) -> Object:
        secret = objects.secret(kept, self.namespace, self.secret, before)
        return await self.client.write(apply(self.path, secret), self.permit())

    async def _trust(self, kept: Kept, found: dict[str, Object]) -> tuple[str, ...]:
        """Write the CA bundle into every webhook configuration that lacks it; return the log entries."""
        changes = {path: objects.injection(each, kept.bundle) for path, each in found.items()}
        due = {path: operations for path, operations in changes.items() if operations}
        for path, operations in due.items():
            await self.client.write(amend(path, operations), self.permit())
        return tuple(f"trust by {path.rpartition('/')[2]}" for path in due)


def _may_be_trusted(kept: Kept, before: Kept, now: datetime) -> bool:
    """Return whether clients may trust the served certificate; one that is not in the Secret is unknown."""
    return rotation.is_trusted(kept, now) if kept.serving else bool(before.ca_certificates)
