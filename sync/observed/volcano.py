"""Which versions of Volcano support `subGroupPolicy`, and whether an API server keeps the field.

1.14.0 has the field and never schedules such a PodGroup (volcano#4871, fixed by volcano#5038 in 1.14.1).
Earlier versions prune or ignore the field silently.
"""

import re
from typing import Final

from catalog.versions import VOLCANO
from intent import Object
from intent.image import read_image
from sync.observed.pod_group import pod_group

SCHEDULER: Final = "/apis/apps/v1/namespaces/volcano-system/deployments/volcano-scheduler"
_VERSION: Final = re.compile(r"v?(\d+)\.(\d+)(?:\.(\d+))?(?![\d.])")


def too_old(version: str) -> str:
    """Return why a version cannot schedule a gang; empty if it can, or if the text is no version."""
    match = _VERSION.match(version)
    if match is None or tuple(int(part or 0) for part in match.groups()) >= VOLCANO.oldest:
        return ""
    return (
        f"Volcano {version} is too old, 1.14.1 or later is needed; no PodGroup is created and the pods wait"
    )


def pruned_fields(desired: Object, answer: Object) -> str:
    """Return why the API server's answer to a dry run is not the desired PodGroup; empty if it is."""
    if pod_group(answer).policies == pod_group(desired).policies:
        return ""
    return "this cluster's PodGroup does not keep spec.subGroupPolicy; Volcano 1.14.1 or later is needed"


def scheduler_version(deployment: Object) -> str:
    """Read the version from the scheduler's Deployment: the tag of its image, e.g. `v1.14.1`.

    Raises LookupError if the Deployment has no pod template.
    """
    containers = deployment["spec"]["template"]["spec"]["containers"]
    images = [str(container.get("image", "")) for container in containers]
    return next((read_image(image).tag for image in images if "vc-scheduler" in image), "")
