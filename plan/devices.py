"""The devices that a pod claims (DRA): how many of which class, or why that is not known.

Source: Kubernetes `staging/src/k8s.io/api/resource/{v1,v1beta1}/types.go`. A pod gets a claim of its own of
each template that it names, whichever of its containers use it. A request has its fields in `exactly`; before
v1beta2, in itself.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from intent import Object
from intent.shapes import listed, mapping, text, whole
from plan.amounts import CLASSES, UNIT, Amounts

Templates = Mapping[tuple[str, str], Object]
"""ResourceClaimTemplates by namespace, which may be empty, and name."""


class Devices(NamedTuple):
    """What a pod or a request claims."""

    counted: Amounts
    """By class; empty if others are not known."""
    unknown: tuple[str, ...] = ()
    """Why the number of its accelerators is not known."""
    others: tuple[str, ...] = ()
    """Why claims are not counted that may be of anything, such as a network."""


def devices(spec: Object, templates: Templates | None, namespace: str) -> Devices:
    """Read the claims of a pod. `templates`: None if the nodes do not say which devices they have."""
    claims = map(mapping, listed(spec.get("resourceClaims")))
    parts = [part for claim in claims for part in _claim(claim, templates, namespace)]
    unknown, others = (tuple(dict.fromkeys(why for part in parts for why in part[at])) for at in (1, 2))
    return Devices(
        Amounts() if unknown else sum((part.counted for part in parts), Amounts()), unknown, others
    )


def _claim(claim: Object, templates: Templates | None, namespace: str) -> Iterator[Devices]:
    """Yield what each request of a claim asks for."""
    name, known = text(claim.get("resourceClaimTemplateName")), templates or {}
    template = mapping(known.get((namespace, name)) or known.get(("", name)))
    asked = mapping(mapping(mapping(template.get("spec")).get("spec")).get("devices"))
    requests = [mapping(request) for request in listed(asked.get("requests"))]
    if not name:
        why = "the pod names no ResourceClaimTemplate for it, so pods may share it; name one"
    elif templates is None:
        why = "Node objects do not say which devices there are; fusioninfer plan --nodes counts them"
    elif not requests:
        why = f"the files have no ResourceClaimTemplate {name} with requests in its namespace; add it"
    else:
        yield from (_request(f"claim {text(claim.get('name'))}", request) for request in requests)
        return
    yield Devices(Amounts(), others=(f"claim {text(claim.get('name'))}: {why}",))


def _request(claim: str, request: Object) -> Devices:
    exact = mapping(request.get("exactly")) or request
    name, count = text(exact.get("deviceClassName")), whole(exact.get("count") or 1)
    is_number = exact.get("allocationMode") in {None, "ExactCount"}
    is_shared = exact.get("adminAccess") or exact.get("capacity")
    if name in CLASSES and count is not None and is_number and not is_shared:
        return Devices(Amounts({name: count * UNIT}))
    classes = {
        name,
        *(text(mapping(each).get("deviceClassName")) for each in listed(request.get("firstAvailable"))),
    }
    why = f"{claim}: request {text(request.get('name'))} is for no number of whole devices of a known class"
    return Devices(Amounts(), (why,)) if classes & {*CLASSES} else Devices(Amounts(), others=(why,))
