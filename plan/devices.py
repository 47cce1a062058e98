"""The devices that a pod claims (DRA): how many of which class, or why that is not known.

Source: Kubernetes `staging/src/k8s.io/api/resource/{v1,v1beta1}/types.go`. A pod gets a claim of its own of
each template that it names, whichever of its containers use it. A request has its fields in `exactly`; before
v1beta2, in itself.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from intent import Object
from intent.quantity import whole
from intent.shapes import listed, mapping, text
from plan.amounts import CLASSES, UNIT, Amounts, total

Templates = Mapping[tuple[str, str], Object]
"""ResourceClaimTemplates by namespace, which may be empty, and name."""


class Devices(NamedTuple):
    """What a pod or a request claims: thousandths by class, and why it is not known what else."""

    counted: Amounts
    unknown: tuple[str, ...] = ()
    selected: bool = False
    """Whether not every device of a class will do."""
    partial: bool = False
    """Whether it also has accelerators of a number that is not known."""


def devices(spec: Object, templates: Templates | None, namespace: str) -> Devices:
    """Read the claims of a pod. `templates`: None if the nodes do not say which devices they have."""
    claims = {text(one.get("name")): one for one in map(mapping, listed(spec.get("resourceClaims")))}
    for one in (*listed(spec.get("containers")), *listed(spec.get("initContainers"))):
        for used in listed(mapping(mapping(one).get("resources")).get("claims")):
            claims.setdefault(text(mapping(used).get("name")), {})
    each = (_claim(f"claim {name}", claim, templates, namespace) for name, claim in claims.items())
    found = [one for its in each for one in its]
    unknown = tuple(dict.fromkeys(why for one in found for why in one.unknown))
    if any(one.partial for one in found):
        return Devices({}, unknown, partial=True)
    return Devices(total(one.counted for one in found), unknown, any(one.selected for one in found))


def _claim(place: str, claim: Object, templates: Templates | None, namespace: str) -> Iterator[Devices]:
    name, known = text(claim.get("resourceClaimTemplateName")), templates or {}
    template = mapping(known.get((namespace, name)) or known.get(("", name)))
    asked = mapping(mapping(mapping(template.get("spec")).get("spec")).get("devices"))
    requests = [mapping(one) for one in listed(asked.get("requests"))]
    if not name:
        why = "the pod names no ResourceClaimTemplate for it, so pods may share it; name one"
    elif templates is None:
        why = "Node objects do not say which devices there are; fusioninfer plan --nodes counts them"
    elif not requests:
        why = f"the files have no ResourceClaimTemplate {name} with requests in its namespace; add it"
    else:
        yield from (_request(place, one, selected=bool(asked.get("constraints"))) for one in requests)
        return
    yield Devices({}, (f"{place}: {why}",))


def _request(place: str, request: Object, *, selected: bool) -> Devices:
    exact = mapping(request.get("exactly")) or request
    name, mode = text(exact.get("deviceClassName")), exact.get("allocationMode") or "ExactCount"
    count = whole(exact.get("count") or 1)
    if request.get("firstAvailable"):
        why = "has alternatives (firstAvailable); write one, as exactly"
    elif exact.get("adminAccess") or exact.get("capacity"):
        why = "shares devices with other claims (adminAccess, capacity), and only whole ones are counted"
    elif mode != "ExactCount" or count is None:
        why = "is for no number of devices; write allocationMode: ExactCount, and count"
    elif name not in CLASSES:
        why = f"is of class {name}, and the known classes of accelerators are {', '.join(CLASSES)}"
    else:
        return Devices({name: count * UNIT}, selected=selected or bool(exact.get("selectors")))
    choices = (exact, *map(mapping, listed(request.get("firstAvailable"))))
    known = any(text(one.get("deviceClassName")) in CLASSES for one in choices)
    partial = known and not exact.get("adminAccess")  # an administrator takes none
    return Devices({}, (f"{place}: request {text(request.get('name'))} {why}",), partial=partial)
