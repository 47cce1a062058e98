"""What a pod asks of a node: its requests as Kubernetes counts them, and the nodes that it may use.

Sources: `k8s.io/component-helpers/resource/helpers.go` (`PodRequests`), the API's defaults (a request that is
absent is the limit).
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from intent import Object
from intent.accelerators import DEVICE_CLASS
from intent.shapes import listed, mapping, text
from plan.amounts import PODS, UNIT, Amounts, accelerators, amounts
from plan.devices import Templates, devices

DEFAULT_SCHEDULER: Final = "default-scheduler"


@dataclass(frozen=True, slots=True)
class Demand:
    """What decides on which nodes a pod has room."""

    requests: tuple[tuple[str, int], ...]
    """Thousandths by resource and device class, sorted; one of `pods` among them."""
    where: tuple[str, ...]
    """Selectors that must all admit the node, for `plan.placing`: JSON, so that equal ones are equal."""


@dataclass(frozen=True, slots=True)
class PodShape:
    """A pod template, as a plan reads it."""

    demand: Demand
    scheduler: str
    unmodelled: tuple[str, ...] = ()
    """What it has that a plan does not model."""
    unknown: tuple[str, ...] = ()
    """Why it is not known which devices it claims."""


def pod_shape(template: Object, claims: Templates | None = None, namespace: str = "") -> PodShape:
    """Read a pod template. `claims`: as `devices` takes them."""
    spec = mapping(template.get("spec"))
    claimed = devices(spec, claims, namespace)
    asked = requests(spec) + claimed.counted + Amounts({PODS: UNIT})
    by_class = [name for name in asked if name.startswith(DEVICE_CLASS)]
    unknown = [
        *claimed.unknown,
        *(f"{name}: only claims of a ResourceClaimTemplate count" for name in by_class),
    ]
    for name in by_class:
        del asked[name]
    is_beside = bool(claimed.others and accelerators(asked))
    return PodShape(
        Demand(tuple(sorted(asked.items())), (_where(spec),)),
        text(spec.get("schedulerName")) or DEFAULT_SCHEDULER,
        tuple(_unmodelled(spec, is_counted=bool(claimed.counted), is_beside=is_beside)),
        tuple(unknown if is_beside else (*unknown, *claimed.others)),
    )


def _where(spec: Object) -> str:
    """Return what a pod says about its node."""
    affinity = mapping(mapping(spec.get("affinity")).get("nodeAffinity"))
    required = mapping(affinity.get("requiredDuringSchedulingIgnoredDuringExecution"))
    terms = [
        [*map(mapping, listed(term.get("matchExpressions"))), *map(mapping, listed(term.get("matchFields")))]
        for term in map(mapping, listed(required.get("nodeSelectorTerms")))
    ]
    selector = {
        "labels": mapping(spec.get("nodeSelector")),
        "terms": terms if required else None,
        "tolerations": [*map(mapping, listed(spec.get("tolerations")))],
    }
    return json.dumps(selector, sort_keys=True)


# --- requests ---------------------------------------------------------------------------------------


def requests(spec: Object) -> Amounts:
    """Return what a pod requests."""
    main = sum(map(_of_container, listed(spec.get("containers"))), Amounts())
    sidecars, most = Amounts(), Amounts()
    for container in map(mapping, listed(spec.get("initContainers"))):
        own = _of_container(container)
        if container.get("restartPolicy") == "Always":
            main, sidecars = main + own, sidecars + own
            own = Amounts()
        most |= own + sidecars
    return (main | most) + amounts(spec.get("overhead"))


def _of_container(container: object) -> Amounts:
    resources = mapping(mapping(container).get("resources"))
    return Amounts({**amounts(resources.get("limits")), **amounts(resources.get("requests"))})


# --- what a plan leaves out -------------------------------------------------------------------------


def _unmodelled(spec: Object, *, is_counted: bool, is_beside: bool) -> Iterator[str]:
    """Yield what may keep a pod from nodes, and is not modelled."""
    affinity = mapping(spec.get("affinity"))
    volumes = map(mapping, listed(spec.get("volumes")))
    has = {
        "affinity between pods": affinity.get("podAffinity") or affinity.get("podAntiAffinity"),
        "topology spread constraints": spec.get("topologySpreadConstraints"),
        "selectors and constraints of resource claims (DRA)": is_counted,
        "claims (DRA) beside its accelerators, such as those of networks": is_beside,
        "volumes that are bound to some nodes": any(each.get("persistentVolumeClaim") for each in volumes),
        "requests of the pod in place of its containers'": spec.get("resources"),
    }
    yield from (what for what, present in has.items() if present)
