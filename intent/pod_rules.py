"""What the API server requires of the containers of a pod beyond the schema.

A LeaderWorkerSet may break these rules, and so may its StatefulSets, which then create no pods.

Source: Kubernetes v1.35.4 `pkg/apis/core/validation/validation.go`: `ValidateVolumeMounts`,
`ValidateVolumeDevices`, `validateContainerCommon`.
"""

from collections.abc import Collection, Iterator
from typing import Final

from intent import Object
from intent.shapes import listed, mapping, text

NEEDS_VOLUME: Final = "must be the name of a volume: add {} to spec.volumes of this template"


def containers_of(spec: Object) -> Iterator[tuple[str, Object]]:
    """Yield all containers, with their paths below the spec of the pod."""
    for field in ("containers", "initContainers"):
        for at, container in enumerate(listed(spec.get(field))):
            yield f"{field}[{at}]", mapping(container)


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


def without_image(spec: Object) -> tuple[str, ...]:
    """Return the paths below the spec of containers that name no image."""
    return tuple([path for path, container in containers_of(spec) if container.get("image") in (None, "")])
