"""The sizes of engines against the devices that their pods claim (DRA), where the template is in the files.

Admission reads no template of a claim, so it compares nothing and denies nothing: these are warnings.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from fusioninfer.lint.checked import Checked
from fusioninfer.lint.documents import Document
from fusioninfer.lint.library import Library, seen_by
from intent import Object
from intent.errors import FieldError
from intent.lws import KIND as LWS
from intent.settings import Settings
from intent.shapes import listed, mapping, metadata, text
from plan.amounts import UNIT, is_device
from plan.devices import Templates, devices
from plan.services import claim_templates
from webhook.check import check

RESOURCES: Final[Mapping[str, str]] = {
    "gpu.nvidia.com": "nvidia.com/gpu",
    "gpu.amd.com": "amd.com/gpu",
    "gpu.intel.com": "gpu.intel.com/xe",
    "gaudi.intel.com": "habana.ai/gaudi",
    "tpu.google.com": "google.com/tpu",
}
"""What a pod requests of a device plugin in place of a device of a class."""


def claimed_sizes(
    each: list[Checked], settings: Settings, library: Library
) -> Iterator[tuple[Document, FieldError]]:
    """Yield what admission would find if the pods requested the devices that they claim."""
    templates = claim_templates(one.document.object for one in each)
    for one in each if templates else ():
        for part in one.parts:
            is_first = part.object.get("kind") == LWS and not (part.is_copy or one.is_denied)
            if is_first and (asked := _requesting(part.object, templates)):
                found = check(asked, None, settings, mutated=False, templates=seen_by(library, asked))
                new = (error for error in map(part.written, found) if error not in one.errors)
                yield from ((one.document, replace(error, softened=True)) for error in new)


def _requesting(lws: Object, templates: Templates) -> Object | None:
    """Return an object whose pods request devices in place of claiming them; None if none can be counted."""
    spec, namespace = mapping(lws.get("spec")), text(metadata(lws).get("namespace"))
    group = mapping(spec.get("leaderWorkerTemplate"))
    pods = {
        name: {**group[name], "spec": pod}
        for name in ("leaderTemplate", "workerTemplate")
        if (pod := _counted(mapping(mapping(group.get(name)).get("spec")), templates, namespace))
    }
    return {**lws, "spec": {**spec, "leaderWorkerTemplate": {**group, **pods}}} if pods else None


def _counted(pod: Object, templates: Templates, namespace: str) -> Object | None:
    """Return a pod of which one container alone has all claims, with devices of one class; or None."""
    counted = devices(pod, templates, namespace).counted
    containers = [mapping(one) for one in listed(pod.get("containers"))]
    every = [*containers, *map(mapping, listed(pod.get("initContainers")))]
    users = [at for at, one in enumerate(every) if mapping(one.get("resources")).get("claims")]
    if len(counted) != 1 or len(users) != 1 or users[0] >= len(containers):
        return None
    ((name, amount),) = counted.items()
    resources = mapping(containers[users[0]].get("resources"))
    used = [mapping(one) for one in listed(resources.get("claims"))]
    whole = {text(one.get("name")) for one in used if not one.get("request")}
    owned = {text(mapping(one).get("name")) for one in listed(pod.get("resourceClaims"))}
    if not owned <= whole or any(map(is_device, mapping(resources.get("limits")))):
        return None
    limits = mapping(resources.get("limits")) | {RESOURCES[name]: str(amount // UNIT)}
    containers[users[0]] = containers[users[0]] | {"resources": resources | {"limits": limits}}
    return pod | {"containers": containers}
