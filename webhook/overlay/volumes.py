"""The volumes of a pod template: volume and mount are one unit. No volume is removed while it is mounted."""

from collections.abc import Collection

from intent import Object
from intent.shapes import listed, mapping, text
from webhook.overlay.fields import is_edited
from webhook.overlay.keyed import by_identity
from webhook.overlay.overlay import Overlay


def without_edited_volumes(put_on: Overlay, template: Object, file: Object) -> Overlay:
    """Return the overlay without mounts of volumes that were edited: volume and mount are one unit."""
    spec = mapping(put_on.get("spec"))
    volumes = by_identity("volumes", mapping(template.get("spec")).get("volumes"))
    held = by_identity("volumes", mapping(file.get("spec")).get("volumes"))
    ours = by_identity("volumes", spec.get("volumes"))
    edited = {name for name in ours if name in volumes and is_edited(volumes[name], ours[name])} - held.keys()
    if not edited:
        return put_on
    containers = [
        {**item, "volumeMounts": [one for one in mounts if text(mapping(one).get("name")) not in edited]}
        if (mounts := item.get("volumeMounts"))
        else item
        for item in listed(spec.get("containers"))
    ]
    return {**put_on, "spec": {**spec, "containers": containers}}


def with_volumes(template: Object, volumes: list[Object]) -> Object:
    """Return the template with more volumes."""
    if not volumes:
        return template
    spec = mapping(template.get("spec"))
    return {**template, "spec": {**spec, "volumes": [*listed(spec.get("volumes")), *volumes]}}


def mounted_volumes(template: Object, live: Object) -> list[Object]:
    """Return the volumes of the live template that the containers of this one mount, and that it lacks."""
    spec = mapping(template.get("spec"))
    known = by_identity("volumes", spec.get("volumes"))
    found = by_identity("volumes", mapping(live.get("spec")).get("volumes"))
    mounts = (
        mount.get("name")
        for items in ("containers", "initContainers")
        for container in listed(spec.get(items))
        for mount in listed(mapping(container).get("volumeMounts"))
        if isinstance(mount, dict) and isinstance(mount.get("name"), str)
    )
    return [found[name] for name in dict.fromkeys(mounts) if name not in known and name in found]


def names_of(items: list[Object]) -> frozenset[str]:
    """Return the names of volumes."""
    return frozenset(item["name"] for item in items)


def without_volumes(template: Object, names: Collection[str]) -> Object:
    """Return the template without these volumes."""
    spec = mapping(template.get("spec"))
    volumes = [one for one in listed(spec.get("volumes")) if text(mapping(one).get("name")) not in names]
    rest = {key: value for key, value in spec.items() if key != "volumes"}
    return {**template, "spec": {**rest, "volumes": volumes} if volumes else rest}
