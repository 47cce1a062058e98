"""What a pod asks of a node: its requests as Kubernetes counts them, its claims (DRA), and where it may be.

Sources: `k8s.io/component-helpers/resource/helpers.go` (`PodRequests`), the API's defaults (a request that is
absent is the limit), `staging/src/k8s.io/api/resource/{v1,v1beta1}/types.go`.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from intent import Object
from intent.accelerators import DEVICE_CLASS
from intent.shapes import listed, mapping, text, whole
from plan.amounts import CLASSES, PODS, UNIT, Amounts, accelerators, amounts

DEFAULT_SCHEDULER: Final = "default-scheduler"
SCHEDULERS: Final = frozenset({"", "volcano", DEFAULT_SCHEDULER})
"""Those that are modelled; a pod that names none has the default one."""
COUNTED: Final = "only whole devices of a template in the files count, and with --nodes (docs/plan.md)"
"""Which claims count."""
Templates = Mapping[tuple[str, str], Object]
"""ResourceClaimTemplates by namespace, which may be empty, and name."""


@dataclass(frozen=True, slots=True)
class Demand:
    """What decides on which nodes a pod has room."""

    requests: tuple[tuple[str, int], ...]
    """Thousandths by resource and device class, sorted; one of `pods` among them."""
    where: tuple[str, ...]
    """Selectors that must all admit the node, for `supply.obstacle`: JSON, so that equal ones are equal."""


@dataclass(frozen=True, slots=True)
class PodShape:
    """A pod template, as a plan reads it."""

    demand: Demand
    unmodelled: tuple[str, ...] = ()
    """What it has that a plan does not model."""
    unknown: tuple[str, ...] = ()
    """Why it is not known which devices it claims."""


def pod_shape(template: Object, templates: Templates | None = None, namespace: str = "") -> PodShape:
    """Read a pod template. `templates`: none if the nodes do not say which devices they have."""
    spec = mapping(template.get("spec"))
    devices, others = _claims(spec, templates or {}, namespace)
    asked = requests(spec) + devices
    needed = [title for title, is_accelerator in others if is_accelerator or not accelerators(asked)]
    return PodShape(
        Demand(tuple(sorted(asked.items())), (_where(spec),)),
        tuple(_unmodelled(spec, is_counted=bool(devices), is_beside=len(needed) < len(others))),
        (
            *(f"claim {title}: {COUNTED}" for title in dict.fromkeys(needed)),
            *(f"{name}: {COUNTED}" for name in asked if name.startswith(DEVICE_CLASS)),
        ),
    )


def _where(spec: Object) -> str:
    """Return what a pod says about its node: lists of rules, of which one must hold, and tolerations.

    A term of an affinity without rules holds nowhere.
    """
    selected = sorted(mapping(spec.get("nodeSelector")).items())
    labels = [{"key": key, "operator": "In", "values": [value]} for key, value in selected]
    affinity = mapping(mapping(spec.get("affinity")).get("nodeAffinity"))
    required = mapping(affinity.get("requiredDuringSchedulingIgnoredDuringExecution"))
    terms = [
        [*map(mapping, listed(term.get("matchExpressions"))), *map(mapping, listed(term.get("matchFields")))]
        for term in map(mapping, listed(required.get("nodeSelectorTerms")))
    ]
    rules = [[*labels, *term] for term in terms if term] if required else [labels]
    tolerations = [*map(mapping, listed(spec.get("tolerations")))]
    return json.dumps({"rules": rules, "tolerations": tolerations}, sort_keys=True)


# --- requests ---------------------------------------------------------------------------------------


def requests(spec: Object) -> Amounts:
    """Return what a pod requests, itself among it."""
    main = sum(map(_of_container, listed(spec.get("containers"))), Amounts())
    sidecars, most = Amounts(), Amounts()
    for container in map(mapping, listed(spec.get("initContainers"))):
        own = _of_container(container)
        if container.get("restartPolicy") == "Always":
            main, sidecars = main + own, sidecars + own
            own = Amounts()
        most |= own + sidecars
    return (main | most) + amounts(spec.get("overhead")) + Amounts({PODS: UNIT})


def _of_container(container: object) -> Amounts:
    resources = mapping(mapping(container).get("resources"))
    return Amounts({**amounts(resources.get("limits")), **amounts(resources.get("requests"))})


# --- claims (DRA) -----------------------------------------------------------------------------------


def _claims(spec: Object, templates: Templates, namespace: str) -> tuple[Amounts, list[tuple[str, bool]]]:
    """Read the claims of a pod: one of its own of each template, whichever of its containers use it.

    Returns the devices that count, by class. Of each other request the name of its claim, and whether it is
    for accelerators: others may be anything, such as a network. A request has its fields in `exactly`; before
    v1beta2, in itself.
    """
    devices, others = Amounts(), list[tuple[str, bool]]()
    for claim in map(mapping, listed(spec.get("resourceClaims"))):
        name, title = text(claim.get("resourceClaimTemplateName")), text(claim.get("name"))
        template = mapping(templates.get((namespace, name)) or templates.get(("", name)))
        asked = mapping(mapping(mapping(template.get("spec")).get("spec")).get("devices"))
        for request in map(mapping, listed(asked.get("requests")) or [{}]):
            exact = mapping(request.get("exactly")) or request
            either = map(mapping, listed(request.get("firstAvailable")))
            classes = [text(each.get("deviceClassName")) for each in (exact, *either)]
            count = whole(exact.get("count") or 1)
            is_number = count is not None and exact.get("allocationMode") in {None, "ExactCount"}
            is_part = exact.get("adminAccess") or exact.get("capacity")
            if classes[0] in CLASSES and is_number and not is_part:
                devices[classes[0]] += (count or 0) * UNIT
            else:
                others.append((title, not set(CLASSES).isdisjoint(classes)))
    return devices, others


# --- what a plan leaves out -------------------------------------------------------------------------


def _unmodelled(spec: Object, *, is_counted: bool, is_beside: bool) -> Iterator[str]:
    """Yield what may keep a pod from nodes, and is not modelled."""
    affinity, scheduler = mapping(spec.get("affinity")), text(spec.get("schedulerName"))
    volumes = map(mapping, listed(spec.get("volumes")))
    has = {
        "affinity between pods": affinity.get("podAffinity") or affinity.get("podAntiAffinity"),
        "topology spread constraints": spec.get("topologySpreadConstraints"),
        "selectors and constraints of resource claims (DRA)": is_counted,
        "claims (DRA) beside its accelerators, such as those of networks": is_beside,
        "volumes that are bound to some nodes": any(each.get("persistentVolumeClaim") for each in volumes),
        "requests of the pod in place of its containers'": spec.get("resources"),
        f"scheduler {scheduler}": scheduler not in SCHEDULERS,
    }
    yield from (what for what, present in has.items() if present)
