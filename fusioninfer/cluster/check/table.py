"""All checks: one table."""

from collections.abc import Mapping
from typing import Final

from fusioninfer.cluster.check import admission, components, controller, versions
from fusioninfer.cluster.check.row import Check

CHECKS: Final[Mapping[str, tuple[Check, ...]]] = {
    "Kubernetes": (versions.kubernetes,),
    "LeaderWorkerSet": (components.lws_served, *components.LWS_CHECKS, versions.lws),
    "Volcano": (components.volcano_served, *components.VOLCANO_CHECKS, versions.volcano),
    "Routes": (
        components.gateway_api,
        components.inference_extension,
        components.picker_images,
        versions.gateway_api,
        versions.extension,
        versions.priorities,
    ),
    "Webhook": (components.other_webhooks, *admission.CHECKS),
    "Controller": controller.CHECKS,
    "Rights": controller.RIGHTS,
}
"""All checks, by the part of the cluster that they are about."""
