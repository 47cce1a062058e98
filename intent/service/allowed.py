"""What the operator allows InferenceServices to bring: the controller creates it with its own rights.

Gateways and Ingresses take ports, addresses and hostnames of the cluster, so operators may keep them to
themselves. Admission reports what is not allowed, and the controller does not create it.
"""

from collections.abc import Container, Iterator
from typing import Final

from intent import Object
from intent.errors import FieldError
from intent.inferenceservice.read import Router
from intent.settings import Settings
from intent.shapes import text

FIELDS: Final = {
    "gateway": (
        "gatewayClassName",
        "the operator allows no Gateways of InferenceServices; name a shared one in parentRefs",
    ),
    "ingress": ("ingressClassName", "the operator allows no Ingresses of InferenceServices"),
}
"""The fields of a router that an operator may restrict: the field of the class, and what to say of none."""


def brought(router: Router | None) -> Object:
    """Return what a router brings and an operator may restrict, by its field."""
    specs = {"gateway": router.gateway or None, "ingress": router.ingress} if router else {}
    return {field: spec for field, spec in specs.items() if spec is not None}


def not_allowed(router: Router, settings: Settings, fields: Container[str] = FIELDS) -> Iterator[FieldError]:
    """Report what the operator does not allow (FI833); an absent class, which the cluster chooses, is not."""
    classes = {"gateway": settings.gateways, "ingress": settings.ingresses}
    for field, spec in brought(router).items():
        allowed, (key, none) = classes[field], FIELDS[field]
        name = text(spec.get(key))
        if field not in fields or allowed is True or (allowed and name in allowed):
            continue
        where = f"spec.roles[{router.index}].{field}"
        if allowed:
            yield FieldError(f"{where}.{key}", name, f"the operator allows {', '.join(allowed)}", "FI833")
        else:
            yield FieldError(where, None, none, "FI833")
