"""All checks: one table."""

from collections.abc import Mapping
from typing import Final

from fusioninfer.cluster.check import admission, components, controller
from fusioninfer.cluster.check.row import Check

NEEDED: Final[Mapping[str, tuple[Check, ...]]] = {
    "Kubernetes": (components.kubernetes,),
    "LeaderWorkerSet": (components.lws_served, components.lws_manager, components.lws_gang_scheduling),
    "Volcano": (components.volcano_served, components.volcano_scheduler),
    "Routes": (components.gateway_api, components.inference_extension),
}
"""What an installation needs, by the part of the cluster."""
CHECKS: Final[Mapping[str, tuple[Check, ...]]] = {
    **NEEDED,
    "Webhook": admission.CHECKS,
    "Controller": controller.CHECKS,
}
"""All checks, by the part of the cluster that they are about."""
