"""What the operator allows InferenceServices to bring: the controller creates it with its own rights.

Gateways take ports and addresses of the cluster, so operators may keep them to themselves. Admission reports
what is not allowed, and the controller does not create it.
"""

from collections.abc import Iterator

from intent import Object
from intent.errors import FieldError
from intent.inferenceservice.read import InferenceServiceIntent, Router
from intent.settings import Settings
from intent.shapes import text

NO_GATEWAYS = "the operator allows no Gateways of InferenceServices; name a shared one in parentRefs"


def brought(service: InferenceServiceIntent | None) -> Object:
    """Return what an InferenceService brings and an operator may restrict."""
    router = service.router if service else None
    return {"gateway": router.gateway} if router else {}


def not_allowed(service: InferenceServiceIntent, settings: Settings) -> Iterator[FieldError]:
    """Report what the operator does not allow (FI833)."""
    if service.router:
        yield from _gateway(service.router, settings)


def _gateway(router: Router, settings: Settings) -> Iterator[FieldError]:
    allowed, name = settings.gateways, text(router.gateway.get("gatewayClassName"))
    if not router.gateway or allowed is True or (allowed and name in allowed):
        return
    where = f"spec.roles[{router.index}].gateway"
    if allowed:
        message = f"the operator allows {', '.join(allowed)}"
        yield FieldError(f"{where}.gatewayClassName", name, message, "FI833")
    else:
        yield FieldError(where, None, NO_GATEWAYS, "FI833")
