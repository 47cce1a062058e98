"""What the operator allows InferenceServices to bring: the controller creates it with its own rights.

Gateways and Ingresses take ports, addresses and hostnames of the cluster, so operators may keep them to
themselves. Admission reports what is not allowed, and the controller does not create it.
"""

from collections.abc import Iterator

from intent import Object
from intent.errors import FieldError
from intent.inferenceservice.read import InferenceServiceIntent, Router
from intent.settings import Settings
from intent.shapes import text

NO_GATEWAYS = "the operator allows no Gateways of InferenceServices; name a shared one in parentRefs"
NO_INGRESSES = "the operator allows no Ingresses of InferenceServices"


def brought(service: InferenceServiceIntent) -> Object:
    """Return what an InferenceService brings and an operator may restrict."""
    router = service.router
    return {"gateway": router.gateway, "ingress": router.ingress} if router else {}


def not_allowed(service: InferenceServiceIntent, settings: Settings) -> Iterator[FieldError]:
    """Report what the operator does not allow (FI833)."""
    if service.router:
        yield from forbidden_gateway(service.router, settings)
        yield from forbidden_ingress(service.router, settings)


def forbidden_gateway(router: Router, settings: Settings) -> Iterator[FieldError]:
    """Report the Gateway of a router if it is not allowed."""
    if router.gateway:
        field = f"spec.roles[{router.index}].gateway"
        yield from _unless(settings.gateways, router.gateway, field, "gatewayClassName", NO_GATEWAYS)


def forbidden_ingress(router: Router, settings: Settings) -> Iterator[FieldError]:
    """Report the Ingress of a router if it is not allowed."""
    if router.ingress is not None:
        field = f"spec.roles[{router.index}].ingress"
        yield from _unless(settings.ingresses, router.ingress, field, "ingressClassName", NO_INGRESSES)


def _unless(
    allowed: bool | tuple[str, ...],  # noqa: FBT001 - a value of the settings
    spec: Object,
    where: str,
    field: str,
    none: str,
) -> Iterator[FieldError]:
    """Report a spec unless its class is allowed; an absent one, which the cluster chooses, is not."""
    name = text(spec.get(field))
    if allowed is True or (allowed and name in allowed):
        return
    if allowed:
        yield FieldError(f"{where}.{field}", name, f"the operator allows {', '.join(allowed)}", "FI833")
    else:
        yield FieldError(where, None, none, "FI833")
