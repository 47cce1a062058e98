"""Gang scheduling: whether pods need a gang, and its scheduler."""

import re
from typing import Final

from intent.lws import HASH, LATER_SLICE, Intent
from intent.settings import Settings

NO_GANG: Final = "default-scheduler"
"""The scheduler name that opts out of a gang: kube-scheduler's default profile."""
DISAGGREGATED: Final = ("prefiller", "decoder")
"""Component types that need each other."""
ENCODER: Final = "encoder"
"""The component type of pods that encode images for the others: nothing waits for them, or calls them."""


ENDINGS: Final = rf"(?:-{HASH.pattern}|\.{LATER_SLICE.pattern}\.{HASH.pattern})?"
"""What follows the service's name in the names of its PodGroups: a regular expression."""


def pod_group_name(service: str, revision: str = "") -> str:
    """Return the PodGroup of a service, or of one slice and revision of its DisaggregatedSet.

    No service has a dot in its name: `a.1.<hash>` is none of service `a-1`.
    """
    return f"{service}{'.' if '.' in revision else '-'}{revision}" if revision else service


def revision_of(service: str, group: str) -> str | None:
    """Return the revision in the name of a PodGroup; empty for that of the service, None for another's."""
    ending = group.removeprefix(service)
    is_named = bool(service) and group.startswith(service) and re.fullmatch(ENDINGS, ending)
    return ending[1:] if is_named else None


def needs_gang(size: int, component_type: str, scheduler: str = "") -> bool:
    """Return whether the pods of a group must be scheduled together.

    A `scheduler` that the author names decides, whatever the size: the default scheduler means no gang, any
    other one a gang. Empty: the author names none.
    """
    if scheduler:
        return scheduler != NO_GANG
    return size >= 2 or component_type in DISAGGREGATED


def gang_scheduler(intent: Intent, settings: Settings) -> str:
    """Return the scheduler of the gang; empty if there is no gang."""
    if not needs_gang(intent.size, intent.component_type, intent.scheduler_name):
        return ""
    name = intent.scheduler_name or settings.scheduler_name
    return "" if name == NO_GANG else name
