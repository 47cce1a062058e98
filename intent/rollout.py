"""The rules of LeaderWorkerSet about replicas and a rollout strategy, for values of the right types.

Its webhook applies them, and the schema has none of them.

Source: `sigs.k8s.io/lws` v0.9.0 `pkg/webhooks/leaderworkerset_webhook.go`.
"""

import re
from typing import Any, Final

from intent import Object
from intent.schema import FieldCheck, Rules
from intent.shapes import mapping

MOST_PODS: Final = 2**31 - 1
"""The highest product of replicas and size."""
_PERCENT: Final = re.compile(r"([0-9]{1,9})%").fullmatch
HUNDRED: Final = 100


def _amount(field: str) -> FieldCheck:
    """Return the check of a number of groups, or of their share; an absent one is accepted."""
    message = f"{field} must be a whole number from 0, or a percentage from 0% to 100%"
    return lambda configuration: "" if _fits(configuration.get(field, 0)) else message


def _fits(value: Any) -> bool:
    if not isinstance(value, str):
        return bool(value >= 0)
    share = _PERCENT(value)
    return share is not None and int(share[1]) <= HUNDRED


def _progresses(configuration: Object) -> str:
    """Require that groups may be removed, or added: otherwise no group is ever replaced."""
    unavailable, surge = configuration.get("maxUnavailable", 1), configuration.get("maxSurge", 0)
    stuck = unavailable in _NONE and surge in _NONE
    return "maxUnavailable and maxSurge must not both be 0: no replica could be replaced" if stuck else ""


_NONE: Final = (0, "0%")


def least_unavailable(strategy: Object, replicas: int) -> int | None:
    """Return how many of some replicas may be unavailable, where none may be added.

    None if another rule of this file reports it, or if replicas may be added. A share is rounded down
    (`pkg/webhooks/leaderworkerset_webhook.go`: `generalValidate`).
    """
    configuration = mapping(strategy.get("rollingUpdateConfiguration"))
    share = configuration.get("maxUnavailable")
    percent = _PERCENT(share) if isinstance(share, str) and share not in _NONE else None
    if percent is None or configuration.get("maxSurge", 0) not in _NONE:
        return None
    return int(percent[1]) * replicas // HUNDRED


def _partition(configuration: Object) -> str:
    return "" if configuration.get("partition", 0) >= 0 else "partition must be at least 0"


OF_ROLLOUT: Final[Rules] = {
    ".rollingUpdateConfiguration": (
        _amount("maxUnavailable"),
        _amount("maxSurge"),
        _progresses,
        _partition,
    ),
}
"""The rules about a rollout strategy, by path."""
