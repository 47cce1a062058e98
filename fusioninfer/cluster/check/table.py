"""All checks: one table."""

from typing import Final

from fusioninfer.cluster.check import admission, components, controller, versions
from fusioninfer.cluster.check.row import Check

CHECKS: Final[tuple[Check, ...]] = tuple(
    sorted(
        (*components.CHECKS, *versions.CHECKS, *admission.CHECKS, *controller.CHECKS),
        key=lambda check: (
            "Kubernetes",
            "LeaderWorkerSet",
            "Volcano",
            "Routes",
            "Webhook",
            "Controller",
            "Rights",
        ).index(check.about),
    )
)
"""All checks, by the part of the cluster that they are about."""
