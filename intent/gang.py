"""Which pods start together: whether a gang is needed, who schedules it, and its fixed words."""

from typing import Final

from intent.lws import Intent
from intent.settings import Settings

NO_GANG: Final = "default-scheduler"
"""The scheduler name that asks for no gang: kube-scheduler's default profile."""
DISAGGREGATED: Final = ("prefiller", "decoder")
"""Component types that are of no use without each other."""


def needs_gang(size: int, component_type: str, scheduler: str = "") -> bool:
    """Whether pods of such a group must not start one by one.

    `scheduler` is what the author named, empty if nobody did: the default scheduler is a "no",
    any other one is a "yes", whatever the size.
    """
    if scheduler:
        return scheduler != NO_GANG
    return size >= 2 or component_type in DISAGGREGATED


def gang_scheduler(intent: Intent, settings: Settings) -> str:
    """Name the scheduler of the gang, or nothing where there is no gang."""
    if not needs_gang(intent.size, intent.component_type, intent.scheduler_name):
        return ""
    name = intent.scheduler_name or settings.scheduler_name
    return "" if name == NO_GANG else name
