"""What the API server requires of containers beyond the schema, and the nodes that a pod requires.

A LeaderWorkerSet may break these rules, and so may its StatefulSets, which then create no pods.

Source: Kubernetes v1.35.4 `pkg/apis/core/validation/validation.go`: `ValidateVolumeMounts`,
`ValidateVolumeDevices`, `validateContainerCommon`, `validateResourceClaimNames`.
"""

import re
from collections.abc import Collection
from typing import Final

from intent import Object
from intent.shapes import containers_of, listed, mapping, text

NEEDS_VOLUME: Final = "must be the name of a volume: add {} to spec.volumes of this template"
NEEDS_CLAIM: Final = "must be the name of a claim: add {} to spec.resourceClaims of this template"


_FABRIC: Final = re.compile(r"(?i)gb[23]00|nvl\d\d|nvidia\.com/gpu\.clique")
"""Labels of nodes that NVLink joins (NVIDIA GPU feature discovery: `gpu.product`, `gpu.clique`)."""
_CHANNEL: Final = re.compile(r"(?i)imex|channel|compute-?domain")
"""Names of claims by which NVLink joins the nodes of a group (NVIDIA's DRA driver: ComputeDomain)."""
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"


def on_fabric(spec: Object) -> bool:
    """Return whether claims, node selector or required affinity of a pod name nodes that NVLink joins."""
    affinity = mapping(mapping(spec.get("affinity")).get("nodeAffinity"))
    nodes = (spec.get("nodeSelector"), affinity.get(_REQUIRED))
    claims = [f"{one.get('name')} {one.get('resourceClaimTemplateName')}" for one in _claims(spec)]
    return any(map(_CHANNEL.search, claims)) or any(_FABRIC.search(str(one)) for one in nodes if one)


def _claims(spec: Object) -> list[Object]:
    return [mapping(one) for one in listed(spec.get("resourceClaims"))]


def without_volume(spec: Object, others: Collection[str] = ()) -> tuple[tuple[str, str], ...]:
    """Return the mounts of volumes that the pod lacks: the path of each below the spec, and the name.

    `others` are volumes that the pod gets from elsewhere.
    """
    mounted = [
        (f"{path}.{field}[{at}].name", name)
        for path, container in containers_of(spec)
        for field in ("volumeMounts", "volumeDevices")
        if container.get(field)
        for at, mount in enumerate(listed(container[field]))
        if (name := text(mapping(mount).get("name")))
    ]
    if not mounted:
        return ()
    known = {*others, *(text(mapping(one).get("name")) for one in listed(spec.get("volumes")))}
    return tuple([(path, name) for path, name in mounted if name not in known])


def without_claim(spec: Object) -> tuple[tuple[str, str], ...]:
    """Return the uses of claims (DRA) that the pod lacks: the path of each below the spec, and the name."""
    used = [
        (f"{path}.resources.claims[{at}].name", name)
        for path, container in containers_of(spec)
        for at, one in enumerate(listed(mapping(container.get("resources")).get("claims")))
        if (name := text(mapping(one).get("name")))
    ]
    known = {text(one.get("name")) for one in _claims(spec)} if used else ()
    return tuple([(path, name) for path, name in used if name not in known])


def without_image(spec: Object) -> tuple[str, ...]:
    """Return the paths below the spec of containers that name no image."""
    return tuple([path for path, container in containers_of(spec) if container.get("image") in (None, "")])
