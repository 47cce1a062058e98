"""What the API server requires of containers beyond the schema, and the nodes that a pod requires.

A LeaderWorkerSet may break these rules, and so may its StatefulSets, which then create no pods.

Source: Kubernetes v1.35.4 `pkg/apis/core/validation/validation.go`: `ValidateVolumeMounts`,
`ValidateVolumeDevices`, `validateContainerCommon`, `validateResourceClaimNames`.
"""

import re
from collections.abc import Collection, Iterator
from typing import Final

from intent import Object
from intent.shapes import containers_of, listed, mapping, text

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


def lacking(spec: Object, others: Collection[str] = ()) -> Iterator[tuple[str, str, str]]:
    """Yield what containers use and the pod lacks: the path below the spec, the name, and the code.

    Volumes (FI331; `others` are those that the pod gets from elsewhere), claims of DRA (FI338), and images
    (FI332), which have no name.
    """
    volumes = {*others, *(text(mapping(one).get("name")) for one in listed(spec.get("volumes")))}
    claims = {text(one.get("name")) for one in _claims(spec)}
    for path, container in containers_of(spec):
        for field in ("volumeMounts", "volumeDevices"):
            for at, mount in enumerate(listed(container.get(field))):
                name = text(mapping(mount).get("name"))
                if name and name not in volumes:
                    yield f"{path}.{field}[{at}].name", name, "FI331"
        for at, claim in enumerate(listed(mapping(container.get("resources")).get("claims"))):
            name = text(mapping(claim).get("name"))
            if name and name not in claims:
                yield f"{path}.resources.claims[{at}].name", name, "FI338"
        if container.get("image") in (None, ""):
            yield f"{path}.image", "", "FI332"
