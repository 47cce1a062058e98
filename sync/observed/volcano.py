"""Whether this Volcano keeps and understands `subGroupPolicy`: older ones bind halves, or nothing at all.

1.14.0 has the field and never schedules such a PodGroup (volcano#4871, fixed by volcano#5038 in 1.14.1);
before, the field is pruned or ignored without a word.
"""

import re
from collections.abc import Awaitable, Callable
from typing import Any, Final

from intent import Object
from intent.image import read_image

FLOOR: Final = (1, 14, 1)
SCHEDULER: Final = "/apis/apps/v1/namespaces/volcano-system/deployments/volcano-scheduler"
_VERSION: Final = re.compile(r"v?(\d+)\.(\d+)(?:\.(\d+))?(?![\d.])")


def too_old(version: str) -> str:
    """Say why a version cannot schedule a gang; empty if it can, or if it is no version at all."""
    match = _VERSION.match(version)
    if match is None or tuple(int(part or 0) for part in match.groups()) >= FLOOR:
        return ""
    return f"Volcano {version} is too old, 1.14.1 or later is needed; no PodGroup is made and the pods wait"


def refusal(asked: Object, answer: Object) -> str:
    """Say what the API server would not keep of a PodGroup."""
    kept = answer.get("spec", {}).get("subGroupPolicy")
    if contains(kept, asked["spec"]["subGroupPolicy"]):
        return ""
    return "this cluster's PodGroup does not keep spec.subGroupPolicy; Volcano 1.14.1 or later is needed"


def contains(value: Any, part: Any) -> bool:
    """Whether everything in `part` is in `value`; maps may hold more, lists may not."""
    if isinstance(part, dict):
        return isinstance(value, dict) and all(contains(value.get(key), part[key]) for key in part)
    if isinstance(part, list):
        same_length = isinstance(value, list) and len(value) == len(part)
        return same_length and all(contains(one, other) for one, other in zip(value, part, strict=True))
    return bool(value == part)


async def running(get: Callable[[str], Awaitable[Object]]) -> str:
    """Read the version of the scheduler from the image of its Deployment, e.g. `v1.14.1`."""
    deployment = await get(SCHEDULER)
    containers = deployment["spec"]["template"]["spec"]["containers"]
    images = [str(container.get("image", "")) for container in containers]
    return next((read_image(image).tag for image in images if "vc-scheduler" in image), "")
