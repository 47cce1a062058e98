"""What a pod asks of a node: its requests as Kubernetes counts them, and the nodes that it may use.

Sources: `k8s.io/component-helpers/resource/helpers.go` (`PodRequests`), the API's defaults (a request that is
absent is the limit).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from intent import Object
from intent.accelerators import DEVICE_CLASS
from intent.shapes import listed, mapping, strings, text
from plan.amounts import CPU, MEMORY, PODS, UNIT, Amounts, accelerators, amounts, largest, total
from plan.devices import Templates, devices

OF_PODS: Final = (CPU, MEMORY, "hugepages-")
"""The resources that `spec.resources` of a pod may set for all containers together."""
SYSTEM_PRIORITIES: Final = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
DEFAULT_SCHEDULER: Final = "default-scheduler"
BY_CLASS: Final = "is a claim, and only those of a ResourceClaimTemplate are counted; name one"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One requirement of a selector term; `field`: it is about a field of the node, not a label."""

    key: str
    operator: str
    values: tuple[str, ...] = ()
    field: bool = False


NodeSelectorTerm = tuple[Requirement, ...]
"""Requirements that must all hold; a term without any matches no node."""


@dataclass(frozen=True, slots=True)
class Toleration:
    """One toleration; an empty key or effect stands for all."""

    key: str = ""
    exists: bool = False
    value: str = ""
    effect: str = ""


@dataclass(frozen=True, slots=True)
class Demand:
    """What one pod asks for."""

    requests: tuple[tuple[str, int], ...]
    """Thousandths by resource and device class, sorted; one of `pods` among them."""
    selector: tuple[tuple[str, str], ...] = ()
    required: tuple[NodeSelectorTerm, ...] | None = None
    """Terms of which one must match; None: no such requirement."""
    tolerations: tuple[Toleration, ...] = ()
    priority: int = 0
    scheduler: str = DEFAULT_SCHEDULER
    unmodelled: tuple[str, ...] = ()
    """What it has that a plan does not model."""
    unknown: tuple[str, ...] = ()
    """Why it is not known which devices it claims."""


def demand(
    template: Object,
    priorities: Mapping[str, int] | None = None,
    claims: Templates | None = None,
    namespace: str = "",
) -> Demand:
    """Read a pod template. `priorities`: the values of PriorityClasses; `claims`: as `devices` takes them."""
    spec = mapping(template.get("spec"))
    node = mapping(mapping(spec.get("affinity")).get("nodeAffinity"))
    required = node.get("requiredDuringSchedulingIgnoredDuringExecution")
    known = SYSTEM_PRIORITIES | dict(priorities or {})
    claimed = devices(spec, claims, namespace)
    asked = requests(spec) | claimed.counted | {PODS: UNIT}
    by_class = [name for name in asked if name.startswith(DEVICE_CLASS)]
    unknown = (*claimed.unknown, *(f"{name}: {BY_CLASS}" for name in by_class if asked.pop(name)))
    has_others = bool(unknown and accelerators(asked)) and not claimed.partial
    return Demand(
        requests=tuple(sorted(asked.items())),
        selector=tuple(sorted((key, text(value)) for key, value in _items(spec.get("nodeSelector")))),
        required=tuple(_terms(mapping(required).get("nodeSelectorTerms"))) if required else None,
        tolerations=tuple(_toleration(mapping(one)) for one in listed(spec.get("tolerations"))),
        priority=known.get(text(spec.get("priorityClassName")), 0),
        scheduler=text(spec.get("schedulerName")) or DEFAULT_SCHEDULER,
        unmodelled=tuple(_unmodelled(template, known, selected=claimed.selected, has_others=has_others)),
        unknown=() if has_others else unknown,
    )


# --- requests ---------------------------------------------------------------------------------------


def requests(spec: Object) -> Amounts:
    """Return what a pod requests."""
    main = total(_of_container(one) for one in map(mapping, listed(spec.get("containers"))))
    sidecars: Amounts = {}
    most: Amounts = {}
    for one in map(mapping, listed(spec.get("initContainers"))):
        own = _of_container(one)
        if one.get("restartPolicy") == "Always":
            main, sidecars = total((main, own)), total((sidecars, own))
            own = sidecars
        else:
            own = total((own, sidecars))
        most = largest(most, own)
    found = largest(main, most) | _of_pod(spec)
    return total((found, amounts(spec.get("overhead"))))


def _of_container(container: Object) -> Amounts:
    resources = mapping(container.get("resources"))
    return amounts(resources.get("limits")) | amounts(resources.get("requests"))


def _of_pod(spec: Object) -> Amounts:
    resources = mapping(spec.get("resources"))
    named = amounts(resources.get("limits")) | amounts(resources.get("requests"))
    return {name: amount for name, amount in named.items() if name.startswith(OF_PODS)}


# --- nodes ------------------------------------------------------------------------------------------


def _items(table: object) -> list[tuple[str, object]]:
    return list(mapping(table).items())


def _terms(terms: object) -> Iterator[NodeSelectorTerm]:
    for term in map(mapping, listed(terms)):
        yield _term(term)


def _term(term: Object) -> NodeSelectorTerm:
    return tuple(
        Requirement(
            text(one.get("key")), text(one.get("operator")), strings(one.get("values")), field=is_field
        )
        for name, is_field in (("matchExpressions", False), ("matchFields", True))
        for one in map(mapping, listed(term.get(name)))
    )


def _toleration(one: Object) -> Toleration:
    return Toleration(
        key=text(one.get("key")),
        exists=one.get("operator") == "Exists",
        value=text(one.get("value")),
        effect=text(one.get("effect")),
    )


# --- what a plan leaves out -------------------------------------------------------------------------


def _unmodelled(
    template: Object, priorities: Mapping[str, int], *, selected: bool, has_others: bool
) -> Iterator[str]:
    """Yield what may keep a pod from nodes, or order it, and is not modelled."""
    spec = mapping(template.get("spec"))
    affinity = mapping(spec.get("affinity"))
    volumes = [mapping(one) for one in listed(spec.get("volumes"))]
    classes = text(spec.get("priorityClassName"))
    has = {
        "affinity between pods": affinity.get("podAffinity") or affinity.get("podAntiAffinity"),
        "topology spread constraints": spec.get("topologySpreadConstraints"),
        "selectors and constraints of resource claims (DRA)": selected,
        "claims (DRA) beside its accelerators, such as those of networks": has_others,
        "scheduling gates": spec.get("schedulingGates"),
        "volumes that are bound to some nodes": any(
            one.get("persistentVolumeClaim") or one.get("ephemeral") for one in volumes
        ),
        "ports of the node": any(_host_ports(spec)),
        "nodeName, which no scheduler sees": spec.get("nodeName"),
        "the overhead of a RuntimeClass": spec.get("runtimeClassName") and not spec.get("overhead"),
        f"PriorityClass {classes}, whose value is not known": classes and classes not in priorities,
    }
    yield from (what for what, present in has.items() if present)


def _host_ports(spec: Object) -> Iterator[object]:
    for container in map(mapping, listed(spec.get("containers"))):
        for port in map(mapping, listed(container.get("ports"))):
            yield port.get("hostPort") or spec.get("hostNetwork")
